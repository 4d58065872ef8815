"""One synthesis for all tests of the templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reading import Templates, feature_flags

from infra.application import build
from infra.packaging import Packer
from infra.settings import Settings

import aws_cdk as cdk  # isort: skip  (infra chooses the Node that this import starts)


@pytest.fixture(scope="session")
def source_only() -> Packer:
    """Bundles without wheels, so that no test of a template downloads anything."""
    return Packer(with_wheels=False)


@pytest.fixture(scope="session")
def synthesise(source_only: Packer, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Templates]:
    """Synthesise an app with these settings as context."""

    def synthesise(**context: Any) -> Templates:
        out = tmp_path_factory.mktemp("cdk.out")
        # With its path each resource says of which construct it is.
        app = cdk.App(context={**feature_flags(), "aws:cdk:enable-path-metadata": True}, outdir=str(out))
        stacks = build(app, Settings.from_context(context), source_only)
        assembly = app.synth()
        return Templates(
            {
                stack.stack_name.rsplit("-", 1)[1]: assembly.get_stack_by_name(stack.stack_name).template
                for stack in stacks
            }
        )

    return synthesise


@pytest.fixture(scope="session")
def templates(synthesise: Callable[..., Templates]) -> Templates:
    """The templates for AWS with everything that can be set."""
    return synthesise(
        stage="test",
        worker_memory_mb="1024,2048",
        input_buckets="books",
        alarm_email="ops@example.org",
        max_workers="500",
        worker_reserved_concurrency="600",
        retraining_schedule="rate(7 minutes)",
    )
