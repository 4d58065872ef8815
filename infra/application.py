"""One stage of Bellwren: its four stacks, in the order in which they are deployed."""

from __future__ import annotations

import itertools
from typing import Any

import aws_cdk as cdk

from infra.code import FunctionCode
from infra.compute import Compute
from infra.observability import Observability
from infra.packaging import Packer
from infra.prediction import Prediction
from infra.settings import Settings
from infra.stage import Stage
from infra.storage import Storage


def build(app: cdk.App, settings: Settings, packer: Packer | None = None) -> list[cdk.Stack]:
    """Add the stacks of one stage to the app.

    The stacks know each other by name alone; the order is for the eye and for a first deployment, where a
    bucket should be there before the function that reads it.

    ``packer`` makes the functions' code; by default it is what the settings ask for.

    Raises:
        infra.wheels.PackagingError: the functions' code cannot be packed.
    """
    stage = Stage(settings)
    code = FunctionCode(settings, packer or Packer(with_wheels=settings.packaging == "aws"))
    stacks: list[cdk.Stack] = [
        Storage(app, stage.names.of("storage"), stage=stage, **_options(stage, "buckets")),
        Prediction(app, stage.names.of("prediction"), stage=stage, code=code, **_options(stage, "forecasts")),
        Compute(app, stage.names.of("compute"), stage=stage, code=code, **_options(stage, "jobs")),
        Observability(app, stage.names.of("observability"), stage=stage, **_options(stage, "alarms")),
    ]
    for before, after in itertools.pairwise(stacks):
        after.add_stack_dependency(before)
    cdk.Tags.of(app).add("bellwren:stage", settings.stage)
    if settings.nag:
        from infra import nag  # noqa: PLC0415  loads cdk-nag, which takes a second that only a check needs

        nag.check(app, stacks, stage)
    return stacks


def _options(stage: Stage, what: str) -> dict[str, Any]:
    boundary = stage.settings.permissions_boundary
    own_credentials = stage.settings.synthesizer == "cli-credentials"
    return {
        "synthesizer": cdk.CliCredentialsStackSynthesizer()
        if own_credentials
        else cdk.DefaultStackSynthesizer(),
        "description": f"Bellwren {stage.settings.stage}: {what}",
        "analytics_reporting": False,
        "permissions_boundary": cdk.PermissionsBoundary.from_name(boundary) if boundary else None,
    }
