"""cdk-nag over every stack: no finding stands without a reason, and no reason hides another finding."""

from __future__ import annotations

import json

import pytest
from reading import feature_flags
from variants import VARIANTS

from infra import nag
from infra.application import build
from infra.packaging import Packer
from infra.settings import Settings
from infra.stage import Stage

import aws_cdk as cdk  # isort: skip  (infra chooses the Node that this import starts)
from aws_cdk import aws_iam as iam  # isort: skip
from aws_cdk import aws_s3 as s3  # isort: skip


class Careless(cdk.Stack):
    """A stack with a finding of its own that is like one that is acknowledged elsewhere."""

    def __init__(self, app):
        super().__init__(app, "careless")
        self.bucket = s3.Bucket(self, "Bucket", enforce_ssl=True)


@pytest.mark.slow
def test_every_finding_is_acknowledged_and_nothing_hides_behind_it(tmp_path):
    app = cdk.App(context=feature_flags(), outdir=str(tmp_path))
    packer = Packer(with_wheels=False)
    *_, compute, _ = build(app, Settings.from_context({**VARIANTS["full"], "nag": "true"}), packer)
    for name in ("smallest", "key"):
        settings = Settings.from_context(VARIANTS[name])
        nag.acknowledge(build(app, settings, packer), Stage(settings))
    role = compute.node.find_child("Prepare").node.find_child("Role")
    role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::anything/*"]))
    Careless(app)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())
    found = {
        (violation["ruleName"], construct["constructPath"])
        for plugin in report["pluginReports"]
        for violation in plugin["violations"]
        for construct in violation["violatingConstructs"]
    }
    assert found == {
        ("AwsSolutions-S1", "careless/Bucket/Resource"),
        (
            "AwsSolutions-IAM5[Resource::arn:aws:s3:::anything/*]",
            "bellwren-test-compute/Prepare/Role/DefaultPolicy/Resource",
        ),
    }
