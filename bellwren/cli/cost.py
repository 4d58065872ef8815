"""``bellwren cost``."""

from __future__ import annotations

import click

from bellwren import cost as pricing
from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import json_option, show
from bellwren.errors import BellwrenError


@click.command()
@click.argument("job_id", metavar="JOB")
@stage_option
@json_option
def cost(job_id: str, stage: str | None, local: bool, as_json: bool) -> None:
    """Say what JOB cost, line by line: how much of what, at which price.

    On the local cloud it is what the job would have cost on AWS. Prices are list prices of the first tier, without the
    free tier; storage of inputs and results is not in it.

    \b
    Example:
      bellwren cost books-1a2b3c4d --json | jq .total_usd
    """
    job = connected(stage, local).job(job_id)
    record = job.record
    if record is None:
        raise BellwrenError(
            f"job {job.id}, which is {job.status()['status']}, has no cost yet; it is known when the job has ended, "
            f"and what was expected is in its forecast: bellwren status {job.id} --json"
        )
    priced = pricing.bill(record["cost"])
    total = float(record["cost_usd"])
    lines = [f"{'line':<16} {'quantity':>16}  {'unit':<34} {'USD':>14}"]
    lines += [
        f"{one['line']:<16} {one['quantity']:>16,.6g}  {one['unit']:<34} {one['usd']:>14.8f}"
        for one in priced
    ]
    lines.append(f"{'total':<16} {'':>16}  {'':<34} {total:>14.8f}")
    lines.append(f"list prices of {pricing.AS_PRICED} of {pricing.dated()}")
    found = {"job_id": job.id, "lines": priced, "total_usd": total, "prices_of": pricing.dated()}
    show(found, "\n".join(lines), as_json=as_json)
