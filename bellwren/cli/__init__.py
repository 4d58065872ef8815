"""The command line: ``bellwren``.

Each command is named here with the place of its code, which is imported when the command is run: ``bellwren
--help`` must not wait for boto3. A command is a click command; it raises a
:class:`bellwren.errors.BellwrenError` for what the user can mend (one message, exit code 1), takes ``--json``
by :func:`bellwren.cli.output.json_option`, and shows the progress of long work by
:func:`bellwren.cli.output.progress`.
"""

from __future__ import annotations

import click

from bellwren import __version__
from bellwren.cli.group import Entry, LazyGroup

COMMANDS = {
    "submit": Entry("bellwren.cli.jobs:submit", "Start the job that a JSON document describes."),
    "status": Entry("bellwren.cli.jobs:status", "Show how a job is doing, or list the jobs."),
    "jobs": Entry("bellwren.cli.jobs:jobs", "List the latest jobs; --watch follows them."),
    "result": Entry("bellwren.cli.jobs:result", "Wait for a job and print its result."),
    "logs": Entry("bellwren.cli.jobs:logs", "Print what a job's functions printed."),
    "report": Entry("bellwren.cli.jobs:report", "Write the page that explains a job."),
    "cost": Entry("bellwren.cli.cost:cost", "Say what a job cost, line by line."),
    "cancel": Entry("bellwren.cli.jobs:cancel", "Stop a job and its running workers."),
    "resume": Entry("bellwren.cli.jobs:resume", "Go on with a job that failed or was cancelled."),
    "forecast": Entry(
        "bellwren.cli.forecast:forecast", "Say what a job would take and cost, before it runs."
    ),
    "tune": Entry(
        "bellwren.cli.tune:tune", "Measure memory sizes and scale-outs on a sample of a job's input."
    ),
    "records": Entry("bellwren.cli.records:records", "Import and list execution records."),
    "models": Entry("bellwren.cli.models:models", "List, show and roll back runtime models."),
    "retrain": Entry("bellwren.cli.models:retrain", "Train the models that have new records."),
    "doctor": Entry(
        "bellwren.cli.doctor:doctor", "Check a deployment, and say what to do about what is wrong."
    ),
    "local": Entry("bellwren.cli.local:local", "Start, stop and look at the local cloud."),
}


@click.command(cls=LazyGroup, entries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bellwren")
def main() -> None:
    """Python at scale on AWS with no cluster, that sizes each job itself."""
