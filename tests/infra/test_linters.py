"""What others check: cfn-lint every template, asl-validator every state machine, for every variant."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from reading import ROOT
from variants import VARIANTS

ASL_VALIDATOR = (
    ROOT / ".build" / "node" / "node_modules" / "asl-validator" / "dist" / "bin" / "asl-validator.js"
)

# Findings of cfn-lint that are none, each with the reason.
NO_FINDING = {
    # CDK writes down every dependency, also those that a reference implies.
    "W3005": "dependency already enforced",
    # The schema of cfn-lint lacks it; a Succeed state has InputPath and OutputPath (Amazon States Language, "Succeed
    # State": "the Succeed State simply outputs its input", and the table of fields in "State Types").
    "E3601": "Additional properties are not allowed ('OutputPath' was unexpected) at 'States/",
}


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "local"])
def test_cfn_lint_finds_nothing_in_any_stack(variant, name):
    found = []
    for stack, template in variant(name).raw.items():
        # Its schema of a state knows no partition but this one, and no name that is filled in for it.
        text = json.dumps(template).replace("arn:${Partition}:", "arn:aws:")
        for match in lint(text, regions=["eu-west-1"], config=ManualArgs()):
            if not (match.rule.id in NO_FINDING and NO_FINDING[match.rule.id] in match.message):
                found.append((stack, match.rule.id, match.message, match.path))
    assert found == []


def test_asl_validator_finds_nothing_in_any_state_machine(variant, tmp_path):
    files = []
    for name in VARIANTS:
        for machine in variant(name).of_type("AWS::StepFunctions::StateMachine"):
            definition = machine.properties["DefinitionString"]
            for key, value in machine.properties["DefinitionSubstitutions"].items():
                definition = definition.replace(f"${{{key}}}", value)
            files.append(tmp_path / f"{name}.json")
            files[-1].write_text(definition)
    assert len(files) == len(VARIANTS)
    checked = validate(files)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_asl_validator_would_find_a_target_that_is_not_there(variant, tmp_path):
    (machine,) = variant("full").of_type("AWS::StepFunctions::StateMachine")
    wrong = json.loads(machine.properties["DefinitionString"])
    wrong["States"]["Plan"]["Next"] = "Nowhere"
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(wrong))
    assert validate([file]).returncode != 0


def validate(files):
    paths = [word for file in files for word in ("--json-path", str(file))]
    node = os.environ.get("JSII_NODE", "node")  # infra sets it
    return subprocess.run([node, ASL_VALIDATOR, *paths], capture_output=True, text=True, check=False)
