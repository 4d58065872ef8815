"""The command ``forecast``: what a job would take and cost, before it runs."""

from __future__ import annotations

from pathlib import Path

import click

from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import document_argument, json_option, plot_option, show


@click.command()
@document_argument
@plot_option
@stage_option
@json_option
def forecast(document: Path, plot: Path | None, stage: str | None, local: bool, as_json: bool) -> None:
    """Say what the job that DOCUMENT, a JSON file, describes would take and cost. Nothing is started.

    A row for each number of workers and memory size: the runtime, the one that 95 of 100 runs keep, the cost, and
    whether it meets the document's deadline_s. The choice is marked, and explained in one sentence. A star marks
    scale-outs of which nothing was ever measured.

    \b
    Examples:
      bellwren forecast books.json
      bellwren forecast books.json --plot books.png
      bellwren forecast books.json --json | jq .choice
    """
    found = connected(stage, local).forecast(document)
    if plot:
        found.plot(plot)
    drawn = f"\n\ndrawn: {plot}" if plot else ""
    show(found, found.table() + drawn, as_json=as_json)
