"""How commands speak: text for people, JSON for programs, progress only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def json_option(command: Decorated) -> Decorated:
    """Adds ``--json``, which the command gets as ``as_json``."""
    option = click.option("--json", "as_json", is_flag=True, help="Print machine-readable JSON.")
    return option(command)


def document_argument(command: Decorated) -> Decorated:
    """Adds DOCUMENT, the file of a job document, which the command gets as ``document``."""
    found = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.argument("document", type=found)(command)


def plot_option(command: Decorated) -> Decorated:
    """Adds ``--plot``, a picture of runtime and cost over workers."""
    option = click.option(
        "--plot",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Draw runtime and cost over workers into this file (.png, .svg, .pdf).",
    )
    return option(command)


def show(value: Any, text: str, *, as_json: bool) -> None:
    """Print the result of a command to standard output.

    Args:
        value: the result as data.
        text: the same for people.
        as_json: the ``--json`` of the command.
    """
    click.echo(json.dumps(value, indent=2, ensure_ascii=False) if as_json else text)


def table(rows: list[tuple[str, object]]) -> str:
    """Names and values in two columns; rows without a value are left out."""
    shown = [(name, str(value)) for name, value in rows if value is not None]
    width = max((len(name) for name, _ in shown), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in shown)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A function that shows what is being done on a terminal's last line, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - a pipe, and --help, need not wait for it

    with Console(stderr=True).status("") as line:
        yield lambda text: line.update(f"{text} ...")
