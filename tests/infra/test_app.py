"""app.py as the CDK command line runs it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_wrong_setting_ends_synthesis_with_its_name_and_no_traceback():
    context = json.dumps({"stagee": "prod", "max_workers": "many"})
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, "CDK_CONTEXT_JSON": context},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "stagee" in done.stderr
    assert "did you mean stage?" in done.stderr
    assert "max_workers" in done.stderr
    assert "Traceback" not in done.stderr


def test_synthesis_calls_no_aws_service():
    """What is not imported cannot be called: no SDK, and no look-up of CDK's, which would ask the account."""
    for file in (ROOT / "app.py", *sorted((ROOT / "infra").rglob("*.py"))):
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = (
                    [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else [one.name for one in node.names]
                )
                assert not [name for name in names if name.split(".")[0] in ("boto3", "botocore")], file
            if isinstance(node, ast.Attribute):
                assert not node.attr.endswith(("from_lookup", "value_from_lookup")), file


def test_the_context_in_cdk_json_holds_cdks_flags_alone():
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    assert all(key.startswith("@aws-cdk") for key in context)
