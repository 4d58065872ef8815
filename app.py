"""The CDK app: ``cdk deploy --all [-c setting=value ...]``. The settings are in infra/settings.py."""

from __future__ import annotations

import sys

from infra.application import build
from infra.settings import Settings, SettingsError
from infra.wheels import PackagingError

import aws_cdk as cdk  # isort: skip  (infra chooses the Node that this import starts)

app = cdk.App()
try:
    build(app, Settings.from_context(app.node.get_all_context()))
except (SettingsError, PackagingError) as error:
    sys.exit(f"bellwren: {error}")
app.synth()
