"""The options by which a command finds its deployment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from bellwren.cloud import Cloud, connect

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def stage_option(command: Decorated) -> Decorated:
    """Adds ``--stage`` and ``--local``, which the command hands to :func:`connected`."""
    option = click.option("--stage", help="The stage to use; else BELLWREN_STAGE, else dev.")
    local = click.option("--local", is_flag=True, help="Use the local cloud of this machine.")
    return option(local(command))


def connected(stage: str | None, local: bool) -> Cloud:
    """The deployment that the options name."""
    return connect("local" if local else None, stage=stage)
