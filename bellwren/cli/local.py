"""``bellwren local start|stop|status|env``."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

import click

from bellwren.cli.output import json_option, progress, show, table
from bellwren.local import LocalCloudError, look, running, start, stop
from bellwren.local.access import MISLEADING_VARIABLES
from bellwren.local.settings import no_proxy
from bellwren.local.status import ADVICE, Status

_directory = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the local cloud, for several side by side "
    "[default: BELLWREN_LOCAL_DIR, else .bellwren in the checkout].",
)


@click.group()
def local() -> None:
    """Start, stop and look at the local cloud: an AWS emulator with Bellwren deployed on it."""


@local.command("start")
@_directory
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1 [default: last time's, else 4566]."
)
@click.option("--stage", help="Stage to deploy [default: last time's, else dev].")
@click.option(
    "--context", "-c", multiple=True, metavar="KEY=VALUE", help="A setting of the deployment, as for cdk."
)
@click.option("--fresh", is_flag=True, help="First delete the jobs and buckets of this local cloud.")
@json_option
def start_command(
    *,
    directory: Path | None,
    port: int | None,
    stage: str | None,
    context: tuple[str, ...],
    fresh: bool,
    as_json: bool,
) -> None:
    """Start the local cloud and deploy Bellwren on it; again, and only what changed is deployed."""
    begun = time.monotonic()
    with progress() as report:
        cloud = start(
            port=port,
            stage=stage,
            directory=directory,
            settings=dict(_setting(pair) for pair in context),
            fresh=fresh,
            report=report,
        )
    status = look(cloud.directory)
    took_s = time.monotonic() - begun
    text = (
        f"The local cloud is running at {cloud.endpoint}, stage {cloud.stage} ({took_s:.1f} s).\n"
        f'Your shell reaches it after: eval "$(bellwren local env{_dir_option(directory)})"'
    )
    show(status.as_dict(), text, as_json=as_json)


@local.command("stop")
@_directory
@json_option
def stop_command(directory: Path | None, as_json: bool) -> None:
    """Stop the local cloud; its jobs and buckets are there again after the next start."""
    with progress() as report:
        stopped = stop(directory, report=report)
    text = "The local cloud is stopped." if stopped else "The local cloud was not running."
    show({"stopped": stopped}, text, as_json=as_json)


@local.command("status")
@_directory
@json_option
def status_command(directory: Path | None, as_json: bool) -> None:
    """Say whether the local cloud is running, and where everything is."""
    status = look(directory)
    show(status.as_dict(), _described(status), as_json=as_json)


@local.command("env")
@_directory
@json_option
def env_command(directory: Path | None, as_json: bool) -> None:
    """Print shell exports: eval "$(bellwren local env)" points any AWS client at the local cloud."""
    cloud = running(directory)
    if cloud is None:
        raise LocalCloudError(
            f"the local cloud is not running; `bellwren local start{_dir_option(directory)}`"
        )
    variables = cloud.environment()
    if any(name.lower() in ("http_proxy", "all_proxy") for name in os.environ):
        variables |= no_proxy(os.environ)
    unset = [f"unset {name}" for name in MISLEADING_VARIABLES if name in os.environ]
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    show(variables, "\n".join(unset + exports), as_json=as_json)


def _setting(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not key or not equals:
        raise click.UsageError(
            f"--context takes KEY=VALUE, for example worker_memory_mb=1024,2048; found {pair!r}"
        )
    return key, value


def _dir_option(directory: Path | None) -> str:
    return f" --dir {shlex.quote(str(directory))}" if directory else ""


def _described(status: Status) -> str:
    advice = ADVICE.get(status.state)
    return table(
        [
            ("state", f"{status.state}: {advice}" if advice else status.state),
            ("endpoint", status.endpoint),
            ("stage", status.stage),
            ("version", status.version),
            ("python", status.python),
            ("jobs bucket", status.jobs_bucket),
            ("data bucket", status.data_bucket),
            (
                "processes",
                f"{status.processes}, server {status.pid}" if status.pid else status.processes or None,
            ),
            ("directory", status.directory),
            ("log", status.log),
        ]
    )
