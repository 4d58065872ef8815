"""``bellwren records import|list``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import json_option, progress, show


@click.group()
def records() -> None:
    """Execution records: what runs took, and what models learn from."""


@records.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--mapping",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file that says what each column means, and its unit.",
)
@click.option(
    "--skip-faulty", is_flag=True, help="Leave out rows that are wrong, instead of importing nothing."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option(
    "--undo",
    is_flag=True,
    help="Delete what an import of the same table with the same mapping wrote, and nothing else.",
)
@stage_option
@json_option
def import_command(
    *,
    path: Path,
    mapping: Path | None,
    skip_faulty: bool,
    dry_run: bool,
    undo: bool,
    stage: str | None,
    local: bool,
    as_json: bool,
) -> None:
    """Import runs of other systems from PATH, a TSV or CSV table or a folder of them.

    The layouts of the C3O and Bell data sets are known. Any other table needs a mapping; nothing is guessed. The name
    of a file is the algorithm, unless the mapping says another. Importing the same rows again writes nothing.

    \b
    A mapping:
      {"bellwren_mapping": 1, "algorithm": "grep", "columns": {
        "machines": {"as": "workers"},
        "seconds":  {"as": "runtime", "unit": "s"},
        "input":    {"as": "bytes", "unit": "GB"},
        "pattern":  {"as": "parameter"},
        "comment":  {"as": "ignore"}}}
    Other meanings: items, tasks, memory, slots, machine_type, characteristic, algorithm.

    \b
    Examples:
      bellwren records import c3o/ --dry-run
      bellwren records import runs.csv --mapping mapping.json && bellwren retrain --wait
      bellwren records import runs.csv --mapping wrong.json --undo && bellwren retrain ALGORITHM
    """
    if undo:
        gone = connected(stage, local).records.undo_import(path, mapping, dry_run=dry_run)
        verb = "would be deleted" if dry_run else "deleted"
        text = "\n".join(f"{count} record(s) of {name} {verb}" for name, count in sorted(gone.items()))
        show({"deleted": dict(gone), "dry_run": dry_run}, text or "none of it is there", as_json=as_json)
        return
    with progress() as report:
        report(f"importing {path.name}")
        found = connected(stage, local).records.import_table(
            path, mapping, skip_faulty=skip_faulty, dry_run=dry_run
        )
    verb = "would be written" if dry_run else "written"
    lines = [f"{count} record(s) of {name} {verb}" for name, count in sorted(found.written.items())]
    lines += [f"{found.there} were there from an earlier import"] if found.there else []
    lines += [f"{found.repeats} row(s) equal another and count as repeats of it"] if found.repeats else []
    lines += [f"left out: {fault}" for fault in found.left_out]
    lines += [f"note: {one}" for one in found.mixed]
    lines += [f"{name} was read as {how}" for name, how in sorted(found.read_as.items())]
    show({**found.as_dict(), "dry_run": dry_run}, "\n".join(lines), as_json=as_json)


@records.command("list")
@click.argument("algorithm", required=False)
@click.option("--last", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many to show.")
@click.option("--quarantine", is_flag=True, help="Show the damaged records that were put aside, and why.")
@stage_option
@json_option
def list_command(
    *, algorithm: str | None, last: int, quarantine: bool, stage: str | None, local: bool, as_json: bool
) -> None:
    """Count the records of every algorithm, or show the last ones of ALGORITHM.

    \b
    Examples:
      bellwren records list
      bellwren records list wordcount --last 5
      bellwren records list --quarantine
    """
    found = connected(stage, local).records
    if quarantine:
        aside = found.quarantined(algorithm or "")
        text = "\n".join(f"{one['key']}\n  {one['reason']}" for one in aside)
        show(aside, text or "no record is in quarantine", as_json=as_json)
    elif algorithm is None:
        counts = found.counts()
        text = "\n".join(f"{count:>8}  {name}" for name, count in counts.items())
        show(counts, text or "there are no records yet; jobs write them, or import some", as_json=as_json)
    else:
        rows = found.latest(algorithm, last)
        text = "\n".join([_HEADER, *map(_line, rows)])
        show(rows, text if rows else f"there are no records of {algorithm!r}", as_json=as_json)


_HEADER = f"{'started':<20} {'workers':>7} {'MB':>6} {'bytes':>14} {'took':>9} {'expected':>9}  learned from"


def _line(row: dict[str, Any]) -> str:
    verdict = "yes" if row["learned_from"] is True else f"no: {str(row['learned_from']).partition(': ')[2]}"
    return (
        f"{str(row['started_at'] or '')[:19]:<20} {_number(row['workers']):>7} {_number(row['memory_mb']):>6} "
        f"{_number(row['bytes']):>14} {_seconds(row['runtime_s']):>9} {_seconds(row['expected_s']):>9}  {verdict}"
    )


def _number(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else "-"


def _seconds(value: Any) -> str:
    return f"{value:.1f} s" if isinstance(value, (int, float)) else "-"
