"""One synthesis of each deployment for all tests of the templates."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from reading import Templates, feature_flags
from variants import LARGEST, VARIANTS

from infra.application import build
from infra.packaging import Packer
from infra.settings import Settings

import aws_cdk as cdk  # isort: skip  (infra chooses the Node that this import starts)

# CDK's own rules take 10 s of CPU to compile. test_nag.py has them look at the templates.
_WITHOUT_RULES = {"@aws-cdk/core:validateAgainstDefaultRules": False}


@pytest.fixture(scope="session")
def source_only() -> Packer:
    """Bundles without wheels, so that no test of a template downloads anything."""
    return Packer(with_wheels=False)


@pytest.fixture(scope="session")
def variant(source_only: Packer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Templates]:
    """The templates of one of the ``VARIANTS``, or of the ``largest``."""

    @cache
    def synthesise(name: str) -> Templates:
        out = tmp_path_factory.mktemp("cdk.out")
        # With its path each resource says of which construct it is.
        context = {**feature_flags(), **_WITHOUT_RULES, "aws:cdk:enable-path-metadata": True}
        app = cdk.App(context=context, outdir=str(out))
        stacks = build(app, Settings.from_context({**VARIANTS, "largest": LARGEST}[name]), source_only)
        assembly = app.synth()
        return Templates(
            {
                stack.stack_name.rsplit("-", 1)[1]: assembly.get_stack_by_name(stack.stack_name).template
                for stack in stacks
            }
        )

    return synthesise


@pytest.fixture(scope="session")
def templates(variant: Callable[[str], Templates]) -> Templates:
    """The templates for AWS with everything that can be set."""
    return variant("full")
