"""A click group that imports a command when it is run, and turns our errors into one clear message."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from bellwren.errors import BellwrenError

TRACEBACK_VARIABLE = "BELLWREN_TRACEBACK"


@dataclass(frozen=True)
class Entry:
    """One command of the group."""

    home: str
    """``module:attribute`` of the click command."""
    summary: str
    """The line that stands in the group's help."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and summaries without importing them."""

    def __init__(self, *args: Any, entries: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._entries = dict(entries)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they were listed."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, if there is one of that name."""
        entry = self._entries.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.home.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self._entries.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what the user can mend ends as a message and exit code 1, not as a traceback."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if not _is_for_the_user(error) or os.environ.get(TRACEBACK_VARIABLE):
                raise
            raise click.ClickException(str(error)) from error


def _is_for_the_user(error: Exception) -> bool:
    """Our own errors, and those of the AWS client: no credentials, no connection, no permission."""
    if isinstance(error, BellwrenError):
        return True
    aws = sys.modules.get("botocore.exceptions")  # not imported: then none can have been raised
    return aws is not None and isinstance(error, aws.BotoCoreError | aws.ClientError)
