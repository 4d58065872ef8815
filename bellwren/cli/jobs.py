"""Commands on jobs: submit, status, jobs, result, logs, report, cancel, resume."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import document_argument, json_option, show, table
from bellwren.cli.values import as_data, strict_json
from bellwren.cli.watching import NONE, drawn, plain, rounds
from bellwren.display import job_rows
from bellwren.errors import BellwrenError
from bellwren.job import Job


class UnknownJob(BellwrenError):
    """There is no such job."""


def _job(job_id: str, stage: str | None, local: bool) -> Job:
    try:
        return connected(stage, local).job(job_id)
    except KeyError as error:
        raise UnknownJob(str(error.args[0])) from error


@click.command()
@document_argument
@click.option(
    "--wait/--no-wait", default=True, help="Wait for the job's end (the default), or return at once."
)
@stage_option
@json_option
def submit(document: Path, wait: bool, stage: str | None, local: bool, as_json: bool) -> None:
    """Start the job that DOCUMENT, a JSON file, describes.

    With --wait the exit code is 0 only if the job succeeded. Packages that the document requires are resolved and
    built first.

    \b
    A whole document:
      {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": "s3://bucket/books/"}}

    \b
    Examples:
      bellwren submit books.json
      bellwren submit books.json --no-wait --json | jq -r .job_id
    """
    _follow(connected(stage, local).submit(document), wait, as_json)


@click.command()
@click.argument("job_id", metavar="[JOB]", required=False)
@stage_option
@json_option
def status(job_id: str | None, stage: str | None, local: bool, as_json: bool) -> None:
    """Show how JOB is doing; without JOB, list the jobs, the latest first.

    \b
    Examples:
      bellwren status
      bellwren status books-3f2a9c0d1e4b5a69 --json
    """
    if job_id:
        _show_status(_job(job_id, stage, local), as_json)
        return
    _list(connected(stage, local).statuses(), as_json)


@click.command()
@click.option(
    "--watch", is_flag=True, help="Show the list again and again, until no job in it runs; Ctrl-C ends it."
)
@click.option(
    "--last", type=click.IntRange(1), default=20, show_default=True, help="How many jobs, the latest first."
)
@stage_option
@json_option
def jobs(watch: bool, last: int, stage: str | None, local: bool, as_json: bool) -> None:
    """List the latest jobs: status, progress, workers, time and cost.

    In a pipe, or with --json, --watch waits without a word and prints the list when no job in it runs any longer.

    \b
    Examples:
      bellwren jobs
      bellwren jobs --watch
      bellwren jobs --json | jq -r '.[] | select(.status == "FAILED") | .job_id'
    """
    cloud = connected(stage, local)
    if not watch:
        _list(cloud.statuses()[:last], as_json)
    elif as_json or not sys.stdout.isatty():
        *_, found = rounds(cloud, last)
        _list(found, as_json)
    else:
        from rich.live import Live  # noqa: PLC0415  a pipe need not wait for it

        with contextlib.suppress(KeyboardInterrupt), Live(auto_refresh=False) as live:
            for found in rounds(cloud, last):
                live.update(drawn(found, width=live.console.width), refresh=True)


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead."
)
@stage_option
@json_option
def result(job_id: str, output: Path | None, stage: str | None, local: bool, as_json: bool) -> None:
    """Wait for JOB and print its result: a line for each item, or KEY and VALUE for each key.

    What is no JSON value is printed as Python shows it. Exit code 0 only if the job succeeded. With --json the result
    is one array, or one object; where keys are not all texts, an array of {"key": ..., "value": ...}.

    \b
    Examples:
      bellwren result books-3f2a9c0d1e4b5a69 | sort | head
      bellwren result books-3f2a9c0d1e4b5a69 --json -o counts.json
    """
    value = _job(job_id, stage, local).result()
    text = strict_json(as_data(value)) if as_json else "\n".join(_lines(value))
    if output:
        output.write_text(text + "\n", "utf-8")
    else:
        click.echo(text)


@click.command()
@click.argument("job_id", metavar="JOB")
@stage_option
@json_option
def logs(job_id: str, stage: str | None, local: bool, as_json: bool) -> None:
    """Print what the functions of JOB printed, task by task.

    A task is a group of neighbouring items. Long output is cut in the middle.

    \b
    Example:
      bellwren logs books-3f2a9c0d1e4b5a69 | less
    """
    found = _job(job_id, stage, local).logs()
    text = "\n".join(f"--- task {task}\n{printed.rstrip()}" for task, printed in found.items())
    show(found, text or "nothing was printed", as_json=as_json)


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the page; else JOB.html in this folder.",
)
@stage_option
@json_option
def report(job_id: str, output: Path | None, stage: str | None, local: bool, as_json: bool) -> None:
    """Write the page that explains JOB: who did what when, forecast and outcome, cost by line, failures.

    It is one HTML file that loads nothing.

    \b
    Example:
      bellwren report books-3f2a9c0d1e4b5a69 -o books.html
    """
    path = _job(job_id, stage, local).report(output or Path(f"{job_id}.html"))
    show({"job_id": job_id, "path": str(path)}, f"written to {path}", as_json=as_json)


@click.command()
@click.argument("job_id", metavar="JOB")
@stage_option
@json_option
def cancel(job_id: str, stage: str | None, local: bool, as_json: bool) -> None:
    """Stop JOB and its running workers, and say what was done.

    Exit code 0 if the job is cancelled, or had ended before.

    \b
    Example:
      bellwren cancel books-3f2a9c0d1e4b5a69
    """
    job = _job(job_id, stage, local)
    said = job.cancel()
    show({**job.status(), "said": said}, said, as_json=as_json)


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option(
    "--wait/--no-wait", default=True, help="Wait for the job's end (the default), or return at once."
)
@stage_option
@json_option
def resume(job_id: str, wait: bool, stage: str | None, local: bool, as_json: bool) -> None:
    """Go on with JOB, which failed or was cancelled: only what is missing runs.

    Items that failed get new tries; results that are there stay. With --wait the exit code is 0 only if the job
    succeeded.

    \b
    Example:
      bellwren resume books-3f2a9c0d1e4b5a69
    """
    _follow(_job(job_id, stage, local).resume(), wait, as_json)


def _follow(job: Job, wait: bool, as_json: bool) -> None:
    """Show the job, at its end if that is to be waited for; then a failure is exit code 1."""
    if wait:
        job.wait()
    _show_status(job, as_json)
    if wait and job.status()["status"] != "SUCCEEDED":
        sys.exit(1)


def _list(found: list[dict[str, Any]], as_json: bool) -> None:
    show(found, plain(found) if found else NONE, as_json=as_json)


def _show_status(job: Job, as_json: bool) -> None:
    found = job.status()
    show(found, table(job_rows(found)), as_json=as_json)


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{_text(key)}\t{_text(one)}" for key, one in value.items()]
    return [_text(one) for one in value]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else strict_json(as_data(value))
