"""Settings for who has stricter rules: a boundary of every role, workers without the internet, code from one place."""

from __future__ import annotations

import pytest

from infra.settings import Settings, SettingsError


@pytest.fixture(scope="module")
def hardened(variant):
    return variant("key")


def test_the_boundary_is_on_every_role(hardened, variant):
    boundary = "arn:aws:iam::123456789012:policy/of-this-team"
    roles = hardened.of_type("AWS::IAM::Role")
    assert len(roles) > 10
    assert {role.properties["PermissionsBoundary"] for role in roles} == {boundary}
    assert not [
        r for r in variant("smallest").of_type("AWS::IAM::Role") if "PermissionsBoundary" in r.properties
    ]


def test_workers_and_no_other_function_run_in_the_subnets(hardened, variant):
    for function in hardened.of_type("AWS::Lambda::Function"):
        network = {
            "SubnetIds": ["subnet-0a1b2c3d", "subnet-0123456789abcdef0"],
            "SecurityGroupIds": ["sg-0a1b2c3d"],
        }
        is_worker = "-worker-" in function.properties["FunctionName"]
        assert function.properties.get("VpcConfig") == (network if is_worker else None)
    assert not [
        f for f in variant("smallest").of_type("AWS::Lambda::Function") if "VpcConfig" in f.properties
    ]


def test_lambda_may_make_network_interfaces_for_a_worker_and_the_users_code_in_it_may_not(hardened):
    touching = {}
    for policy in hardened.of_type("AWS::IAM::Policy"):
        for statement in policy.properties["PolicyDocument"]["Statement"]:
            if any(action.startswith("ec2:") for action in statement["Action"]):
                touching.setdefault(policy.id, []).append(statement)
    ((allowed, denied),) = touching.values()
    assert (allowed["Effect"], denied["Effect"]) == ("Allow", "Deny")
    # CDK puts what is allowed on every resource into one statement.
    assert denied["Action"] == [action for action in allowed["Action"] if not action.startswith("xray:")]
    assert not [action for action in denied["Action"] if "*" in action]
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:bellwren-test-2-worker-1024"
    assert denied["Condition"] == {"ArnEquals": {"lambda:SourceFunctionArn": arn}}


@pytest.mark.parametrize("given", ["worker_subnets", "worker_security_groups"])
def test_subnets_and_security_groups_come_together(given):
    value = {"worker_subnets": "subnet-0a1b2c3d", "worker_security_groups": "sg-0a1b2c3d"}[given]
    with pytest.raises(SettingsError, match="or neither"):
        Settings.from_context({given: value})


def test_every_function_is_told_where_code_may_come_from(hardened, variant):
    for templates, said in ((hardened, "true"), (variant("smallest"), "false")):
        for function in templates.of_type("AWS::Lambda::Function"):
            assert function.properties["Environment"]["Variables"]["BELLWREN_STORED_CODE_ONLY"] == said
