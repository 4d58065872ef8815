"""``bellwren doctor``."""

from __future__ import annotations

import json
import sys

import click

from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import json_option, progress, show
from bellwren.client import rights


@click.command()
@stage_option
@click.option("--policy", is_flag=True, help="Print the IAM policy of who submits jobs, and check nothing.")
@json_option
def doctor(stage: str | None, local: bool, policy: bool, as_json: bool) -> None:
    """Check a deployment: versions, functions, your permissions, quotas, dead letters, alarms, models.

    Each finding says what to do. Nothing is changed. The exit code is 0 unless there is a problem; a warning is none,
    nor is a check that could not be made.

    \b
    Example:
      bellwren doctor --json | jq '.findings[] | select(.level != "ok")'
    """
    cloud = connected(stage, local)
    if policy:
        click.echo(json.dumps(rights.policy(cloud.deployment), indent=2))
        return
    with progress() as report:
        report("looking")
        findings = cloud.doctor()
    lines = []
    for one in findings:
        lines.append(f"{one.level:<8} {one.check:<12} {one.found}")
        if one.todo:
            lines.append(f"{'':<21} -> {one.todo}")
    problems = sum(one.level == "problem" for one in findings)
    shown = {"problems": problems, "findings": [one.as_dict() for one in findings]}
    show(shown, "\n".join(lines), as_json=as_json)
    sys.exit(1 if problems else 0)
