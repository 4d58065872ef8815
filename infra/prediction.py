"""What forecasts a job's runtime and cost and chooses its scale-out, and what makes the models for it."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import Construct

from infra import environment, permissions, sizes
from infra.code import FunctionCode
from infra.function import Function
from infra.learning import Learning
from infra.stage import Stage


class Prediction(cdk.Stack):
    """One function that reads a job and the current model of its algorithm, and the learning loop."""

    def __init__(
        self, scope: Construct, id_: str, *, stage: Stage, code: FunctionCode, **options: Any
    ) -> None:
        super().__init__(scope, id_, **options)
        Function(
            self,
            "Predict",
            stage=stage,
            name="predict",
            module="predict",
            size=sizes.PREDICT,
            runtime=code.predict(),
            environment=environment.deployment(stage),
            statements=permissions.predict(stage),
        )
        Learning(self, "Learning", stage=stage, code=code)
