"""``bellwren models list|show|rollback`` and ``bellwren retrain``."""

from __future__ import annotations

from typing import Any

import click

from bellwren.cli.connection import connected, stage_option
from bellwren.cli.output import json_option, progress, show, table


@click.group()
def models() -> None:
    """Runtime models: what forecasts are made with."""


@models.command("list")
@stage_option
@json_option
def list_command(stage: str | None, local: bool, as_json: bool) -> None:
    """List the model in service of every algorithm: family, error in cross-validation, how forecasts turned out."""
    found = connected(stage, local).models.list()
    lines = [f"{'algorithm':<24} {'version':<26} {'family':<9} {'error':>8} {'records':>8}  last forecasts"]
    lines += [
        f"{one['algorithm']:<24} {one['version'] or '-':<26} {one['family'] or '-':<9} {_percent(one['mre']):>8} "
        f"{one['records'] if one['records'] is not None else '-':>8}  {_calibration(one)}"
        for one in found
    ]
    empty = "there are no models yet; they come from records: run jobs, or bellwren records import"
    show(found, "\n".join(lines) if found else empty, as_json=as_json)


@models.command("show")
@click.argument("algorithm")
@click.option("--version", help="This version, and not the one in service.")
@stage_option
@json_option
def show_command(algorithm: str, version: str | None, stage: str | None, local: bool, as_json: bool) -> None:
    """Show the model of ALGORITHM: the families compared, why this one serves, its calibration, all versions.

    \b
    Examples:
      bellwren models show wordcount
      bellwren models show wordcount --json | jq .card.cross_validation.errors
    """
    found = connected(stage, local).models.show(algorithm, version)
    card = found["card"] or {}
    validation = card.get("cross_validation") or {}
    decision = validation.get("decision") or {}
    errors = ", ".join(
        f"{name} {_percent(error)}" for name, error in (validation.get("errors") or {}).items()
    )
    last = found["last"] or {}
    rows: list[tuple[str, object]] = [
        ("algorithm", algorithm),
        ("in service", (found["version"] or "none") + (" (rolled back)" if found["rolled_back"] else "")),
        ("shown", found.get("shown") if found.get("shown") != found["version"] else None),
        ("family", card.get("family")),
        ("errors", errors or None),
        ("chosen", validation.get("reason")),
        ("decision", decision.get("reason")),
        (
            "trained",
            card and f"{card['trained_at']} on {card['records']} records of {card['contexts']} contexts",
        ),
        ("forecasts", _calibration(found)),
        ("last training", last and f"{last['at']}: {last['outcome']}, {last['reason']}"),
        ("now", "a training is under way" if found["training"] else None),
        *(("version", one) for one in found["versions"]),
    ]
    show(found, table([(name, value or None) for name, value in rows]), as_json=as_json)


@models.command("rollback")
@click.argument("algorithm")
@click.option("--to", help="The version to go back to  [default: the one that served before].")
@stage_option
@json_option
def rollback_command(algorithm: str, to: str | None, stage: str | None, local: bool, as_json: bool) -> None:
    """Put an earlier version of ALGORITHM's model into service. Forecasts use it within seconds.

    Later trainings may publish again; until then it stays. To take a rollback back, roll back again.

    \b
    Example:
      bellwren models rollback wordcount --to 20261130T120000Z-1a2b3c4d
    """
    found = connected(stage, local).models.roll_back(algorithm, to)
    text = f"{algorithm}: {found['version']} serves again, in place of {found['before']}"
    show(found, text, as_json=as_json)


@click.command()
@click.argument("algorithm", required=False)
@click.option("--wait/--no-wait", default=False, help="Wait until the trainings have ended.")
@stage_option
@json_option
def retrain(algorithm: str | None, wait: bool, stage: str | None, local: bool, as_json: bool) -> None:
    """Train now what has new records, as the schedule does; with ALGORITHM that one, new records or not.

    A new model serves only if it is not worse than the one in service, and a first one only if it is better than what
    is said without a model. With --wait the exit code is 0 only if every training ended well, whether or not its model
    was better.

    \b
    Examples:
      bellwren retrain --wait
      bellwren retrain wordcount --wait --json | jq .outcomes.wordcount.reason
    """
    with progress() as report:
        found = connected(stage, local).models.retrain(algorithm, wait=wait, report=report)
    lines = [f"{name}: {_outcome(found['outcomes'].get(name))}" for name in found["started"]]
    lines += [f"{name}: nothing new" for name in found["unchanged"]]
    lines += [f"{name}: a training is under way" for name in found["busy"]]
    lines += [
        f"{name}: at the next tick, which has more algorithms than one tick trains" for name in found["later"]
    ]
    if found["strange"]:
        lines.append(f"{found['strange']} message(s) of the queue name no record")
    show(found, "\n".join(lines) or "there are no new records", as_json=as_json)


def _outcome(said: dict[str, Any] | None) -> str:
    if said is None:
        return "training started"
    verb = "a new model serves" if said["outcome"] == "PUBLISHED" else "nothing changes"
    return f"{verb}: {said['reason']}"


def _calibration(found: dict[str, Any]) -> str:
    state = found.get("calibration") or {}
    if state.get("error") is None:
        return f"{state.get('runs', 0)} run(s) with a forecast so far"
    verdict = f"; {state['reason']}" if state["drifted"] else ""
    return (
        f"off by {state['error']:.0%}, {state['coverage95']:.0%} within the 95 % quantile "
        f"({state['runs']} runs){verdict}"
    )


def _percent(value: float | None) -> str:
    return f"{value:.1f} %" if value is not None else "-"
