from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner

from bellwren import __version__
from bellwren.cli import doctor as command
from bellwren.cli import main
from bellwren.client.doctor import Finding, Patient, examine
from bellwren.dead_letters import DEAD_LETTERS
from bellwren.deployment import Deployment

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
DEPLOYMENT = Deployment(
    stage="prod",
    **{f"{role}_bucket": f"bellwren-prod-{role}" for role in ("jobs", "data", "records", "models")},
    max_workers=500,
    worker_memory_mb=(1024,),
    state_machine_arn="arn:aws:states:eu-west-1:123456789012:stateMachine:bellwren-prod-jobs",
    version=__version__,
    python=HERE,
)
MODEL = {
    "algorithm": "grep",
    "version": "v1",
    "trained_at": (NOW - timedelta(days=3)).isoformat(),
    "last": {"outcome": "PUBLISHED"},
    "calibration": {"drifted": False},
}


class Account:
    """An account in which all is well, until a test changes it."""

    def __init__(self) -> None:
        self.caller = "arn:aws:sts::123456789012:assumed-role/Analyst/ann"
        self.denied: set[str] = set()
        self.states: dict[str, dict[str, str]] = {}
        self.missing: set[str] = set()
        self.limits = {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}
        self.lying: dict[str, int] = {}
        self.ringing: list[dict[str, str]] = []
        self.models = [dict(MODEL)]
        self.refused: set[str] = set()
        self.asked_for: list[str] = []

    def patient(self, **changed: Any) -> Patient:
        return Patient(replace(DEPLOYMENT, **changed), lambda service: self, lambda: self.models, NOW)

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": self.caller}

    def simulate_principal_policy(self, **asked: Any) -> Any:
        self._look("SimulatePrincipalPolicy")
        self.asked_for.append(asked["PolicySourceArn"])
        assert not [one for one in asked["ResourceArns"] if "*" in one], "a resource is one, not a pattern"
        return {
            "EvaluationResults": [
                {"EvalActionName": name, "EvalDecision": "implicitDeny" if name in self.denied else "allowed"}
                for name in asked["ActionNames"]
                for _ in asked["ResourceArns"]
            ]
        }

    def get_function_configuration(self, FunctionName: str) -> dict[str, str]:  # noqa: N803
        if FunctionName in self.missing:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionConfiguration")
        return self.states.get(FunctionName, {"State": "Active", "LastUpdateStatus": "Successful"})

    def get_account_settings(self) -> Any:
        self._look("GetAccountSettings")
        return {"AccountLimit": self.limits}

    def get_queue_url(self, QueueName: str) -> dict[str, str]:  # noqa: N803
        return {"QueueUrl": QueueName}

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: Any) -> Any:  # noqa: N803
        return {"Attributes": {"ApproximateNumberOfMessages": str(self.lying.get(QueueUrl, 0))}}

    def get_paginator(self, _: str) -> Any:
        def paginate(**_: Any) -> Iterator[Any]:
            yield {"MetricAlarms": self.ringing}

        return SimpleNamespace(paginate=paginate)

    def _look(self, operation: str) -> None:
        if operation in self.refused:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, operation)


@pytest.fixture
def account() -> Account:
    return Account()


def wrong(patient: Patient) -> list[Finding]:
    return [one for one in examine(patient) if one.level != "ok"]


def test_a_deployment_in_order_is_said_to_be_so_check_by_check(account: Account) -> None:
    findings = examine(account.patient())
    assert {one.level for one in findings} == {"ok"}
    assert [one.check for one in findings] == [
        *("version", "python", "functions", "permissions", "quota", "queues", "alarms", "models"),
    ]
    assert set(account.asked_for) == {"arn:aws:iam::123456789012:role/Analyst"}, (
        "a session's rights are its role's"
    )


def test_another_version_and_another_python_are_problems_with_two_ways_out(account: Account) -> None:
    version, python = wrong(account.patient(version="0.0.9", python="3.9"))
    assert (version.level, python.level) == ("problem", "problem")
    assert "cdk deploy --all -c stage=prod" in version.todo
    assert "bellwren==0.0.9" in version.todo
    assert "Python 3.9" in python.todo
    assert f"Python {HERE}" in python.todo


def test_a_function_that_is_missing_or_not_ready_is_named(account: Account) -> None:
    account.missing = {"bellwren-prod-plan"}
    account.states = {"bellwren-prod-train": {"State": "Failed", "StateReason": "the image was deleted"}}
    found = {one.found for one in wrong(account.patient())}
    assert "bellwren-prod-plan is not there" in found
    assert any("bellwren-prod-train is Failed" in one and "the image was deleted" in one for one in found)


def test_what_the_caller_may_not_do_is_named(account: Account) -> None:
    account.denied = {"states:StartExecution"}
    (found,) = wrong(account.patient())
    assert (found.level, found.check) == ("problem", "permissions")
    assert "states:StartExecution" in found.found


def test_the_owner_of_an_account_may_do_everything(account: Account) -> None:
    account.caller = "arn:aws:iam::123456789012:root"
    assert not wrong(account.patient())
    assert not account.asked_for


def test_a_quota_below_max_workers_is_a_warning_with_a_number_that_fits(account: Account) -> None:
    account.limits = {"ConcurrentExecutions": 400, "UnreservedConcurrentExecutions": 350}
    (found,) = wrong(account.patient())
    assert found.level == "warning"
    assert "-c max_workers=250" in found.todo
    assert "L-B99A9384" in found.todo


@pytest.mark.parametrize("queue", DEAD_LETTERS)
def test_what_lies_in_a_dead_letter_queue_is_a_problem_with_its_own_advice(
    account: Account, queue: str
) -> None:
    account.lying = {f"bellwren-prod-{queue}": 3}
    (found,) = wrong(account.patient())
    assert (found.level, found.found) == ("problem", f"3 message(s) lie in bellwren-prod-{queue}")
    assert found.todo.startswith(DEAD_LETTERS[queue])


def test_an_alarm_that_rings_leads_to_its_entry_in_the_runbook(account: Account) -> None:
    account.ringing = [{"AlarmName": "bellwren-prod-plan-slow", "AlarmDescription": "comes near its limit"}]
    (found,) = wrong(account.patient())
    assert found.level == "problem"
    assert found.todo == "docs/operate.md, plan-slow"


@pytest.mark.parametrize(
    ("change", "level", "word"),
    [
        ({"last": {"outcome": "FAILED", "reason": "no memory"}}, "problem", "no memory"),
        ({"calibration": {"drifted": True, "reason": "3 of 9"}}, "warning", "3 of 9"),
        ({"trained_at": (NOW - timedelta(days=91)).isoformat()}, "warning", "91 days old"),
    ],
)
def test_a_model_that_failed_drifted_or_aged_is_named(
    account: Account, change: dict[str, Any], level: str, word: str
) -> None:
    account.models = [{**MODEL, **change}]
    (found,) = wrong(account.patient())
    assert found.level == level
    assert word in found.found
    assert "grep" in found.todo


def test_what_may_not_be_looked_at_is_unknown_and_ends_no_other_check(account: Account) -> None:
    account.refused = {"GetAccountSettings", "SimulatePrincipalPolicy"}
    found = wrong(account.patient())
    assert [(one.check, one.level) for one in found] == [("permissions", "unknown"), ("quota", "unknown")]
    assert "GetAccountSettings" in found[1].todo


@pytest.mark.parametrize(("level", "code"), [("ok", 0), ("unknown", 0), ("warning", 0), ("problem", 1)])
def test_the_exit_code_says_whether_there_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, level: Any, code: int
) -> None:
    findings = [Finding("queues", level, "what was found", "what to do" if level != "ok" else "")]
    cloud = SimpleNamespace(doctor=lambda: findings)
    monkeypatch.setattr(command, "connected", lambda stage, local: cloud)
    told = CliRunner().invoke(main, ["doctor", "--json"])
    assert told.exit_code == code
    assert json.loads(told.stdout)["findings"] == [findings[0].as_dict()]
    assert "what was found" in CliRunner().invoke(main, ["doctor"]).stdout
