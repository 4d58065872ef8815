"""The command ``tune``: which memory size and scale-out a job should have, by measuring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import document_argument, json_option, plot_option, progress, show


def _numbers(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    """Whole numbers with commas between them."""
    try:
        found = [int(one) for one in value.split(",")] if value else []
    except ValueError:
        found = [0]
    if any(one < 1 for one in found):
        raise click.BadParameter(
            f"{value!r}: whole numbers from 1 on, with commas between them, such as 1,2,4"
        )
    return found


@click.command()
@document_argument
@click.option(
    "--memory",
    default="",
    callback=_numbers,
    metavar="N,N,...",
    help="Memory sizes in MB to try; else all that are deployed.",
)
@click.option(
    "--workers",
    default="1,2,4",
    callback=_numbers,
    metavar="N,N,...",
    show_default=True,
    help="Numbers of workers to try.",
)
@click.option("--sample", type=float, help="Share of the input to run on; else at most 200 items or 64 MB.")
@click.option("--repeats", type=click.IntRange(1), default=2, show_default=True, help="Runs of each size.")
@click.option(
    "--at-once", type=click.IntRange(1), default=4, show_default=True, help="Jobs at the same time."
)
@click.option(
    "--balance",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Weight of cost against time in the balanced choice.",
)
@click.option(
    "--strategy",
    type=click.Choice(["balanced", "cost", "time"]),
    default="balanced",
    show_default=True,
    help="Which choice --write takes.",
)
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the document with the sizes chosen into this file; it may be DOCUMENT itself.",
)
@plot_option
@stage_option
@json_option
def tune(
    document: Path, plot: Path | None, stage: str | None, local: bool, as_json: bool, **how: Any
) -> None:
    """Run the job that DOCUMENT describes on a sample of its input at several memory sizes and scale-outs.

    Says what the whole job would take and cost at each, and which is the cheapest, the fastest and a balance of both.
    Sizes that fail are left out and listed. The runs are jobs like others and cost what jobs cost; the last line says
    how much that was.

    \b
    Examples:
      bellwren tune books.json
      bellwren tune books.json --memory 512,1769 --workers 1,4,16 --sample 0.05 --plot books.png
      bellwren tune books.json --strategy cost --write books.json && bellwren submit books.json
      bellwren tune books.json --json | jq .choices.balanced
    """
    strategy, write = how.pop("strategy"), how.pop("write")
    with progress() as say:
        say("running the job on a sample of its input")
        found = connected(stage, local).tune(document, memory_mb=how.pop("memory"), progress=say, **how)
    said = [found.table(), ""]
    if plot:
        said.append(f"drawn: {found.plot(plot)}")
    if write:
        sizes = found.options(strategy)
        text = json.dumps({**json.loads(document.read_text("utf-8")), **sizes}, indent=2, ensure_ascii=False)
        write.write_text(text + "\n", "utf-8")
        said.append(f"written: {write}, with {sizes['workers']} workers of {sizes['memory_mb']} MB")
    show(found, "\n".join(said).rstrip(), as_json=as_json)
