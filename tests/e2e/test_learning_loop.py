"""The learning loop on a real deployment with IAM enforced: what lands in the records bucket becomes a served model."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from bellwren import Cloud, layout
from bellwren.cli import main
from bellwren.learning.registry import Registry
from bellwren.records.schema import SCHEMA_PATH
from bellwren.store import Store

PATIENCE_S = 150


class Loop:
    """The loop of one algorithm, seen from outside."""

    def __init__(self, deployment: Any, cloud: Cloud, algorithm: str) -> None:
        self.algorithm = algorithm
        self.records: Store = cloud.store(cloud.deployment.records_bucket)
        self.models: Store = cloud.store(cloud.deployment.models_bucket)
        self.registry = Registry(self.models)
        self._functions = deployment.client("lambda")
        self._collect = cloud.deployment.collect_function
        self._stage = cloud.deployment.stage
        self.sqs = deployment.client("sqs")
        self.scheduler = deployment.client("scheduler")

    def queue(self, name: str) -> str:
        return str(self.sqs.get_queue_url(QueueName=f"bellwren-{self._stage}-{name}")["QueueUrl"])

    def waiting(self, name: str) -> int:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.queue(name), AttributeNames=names)
        return sum(int(count) for count in found["Attributes"].values())

    def put(self, number: int, content: bytes | None = None) -> str:
        workers = (2, 4, 8)[number % 3]
        key = layout.execution_record(self.algorithm, f"job-{number}", "2026-11-30T12:00:00")
        record = {
            "schema": 2,
            "job_id": f"job-{number}",
            "algorithm": self.algorithm,
            "outcome": "SUCCEEDED",
            "label": True,
            "started_at": f"2026-11-30T12:00:{number:02}+00:00",
            "workers": workers,
            "memory_mb": 1769,
            "bytes": 1_000_000_000,
            "runtime_s": 5 + 240 / workers,
            "params": {},
            "context": {},
        }
        self.records.put(key, json.dumps(record).encode() if content is None else content)
        return key

    def tick(self) -> dict[str, Any]:
        answer = self._functions.invoke(FunctionName=self._collect, Payload=b"{}")
        assert "FunctionError" not in answer
        found: dict[str, Any] = json.loads(answer["Payload"].read())
        return found

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.models.find_json(layout.learning(self.algorithm)) or {}
        return found

    def settled(self, batch: str) -> dict[str, Any]:
        return until(lambda: self.state() if (self.state().get("last") or {}).get("batch") == batch else None)


def until(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.2)
    raise AssertionError(f"not within {PATIENCE_S} s")


@pytest.fixture(scope="module")
def loop(deployment: Any, cloud: Cloud) -> Loop:
    found = Loop(deployment, cloud, f"learning-{uuid.uuid4().hex[:8]}")
    found.sqs.purge_queue(QueueUrl=found.queue("new-records"))  # of the jobs of other tests
    return found


def test_records_become_a_served_model_at_the_schedulers_tick_with_no_step_by_hand(
    loop: Loop, cloud: Cloud, deployment: Any
) -> None:
    for number in range(4):
        loop.put(number)
    until(lambda: loop.waiting("new-records") >= 4)
    name = f"bellwren-{cloud.deployment.stage}-retraining"
    schedule = loop.scheduler.get_schedule(Name=name)
    kept = {key: schedule[key] for key in ("Name", "FlexibleTimeWindow", "Target")}
    loop.scheduler.update_schedule(**kept, ScheduleExpression="rate(1 minute)")
    try:
        until(lambda: loop.state().get("last"))
    finally:
        loop.scheduler.update_schedule(**kept, ScheduleExpression=schedule["ScheduleExpression"])
    version = loop.registry.current(loop.algorithm).version
    assert loop.state()["last"] | {"outcome": "PUBLISHED", "version": version} == loop.state()["last"]
    until(lambda: loop.waiting("new-records") == 0)


def test_an_event_that_comes_again_starts_no_second_training(loop: Loop) -> None:
    before = loop.state()
    body = {"detail": {"object": {"key": loop.records.list(layout.records(loop.algorithm)).__next__().key}}}
    for _ in range(2):
        loop.sqs.send_message(QueueUrl=loop.queue("new-records"), MessageBody=json.dumps(body))
    found = loop.tick()
    assert (found["unchanged"], found["started"]) == ([loop.algorithm], {})
    assert loop.waiting("new-records") == 0
    assert loop.state() == before


def test_a_damaged_record_is_put_aside_with_the_reason_and_the_model_stays(loop: Loop) -> None:
    before = loop.registry.current(loop.algorithm)
    key = loop.put(50, b'{"schema": 2, "algorithm": ')
    until(lambda: loop.waiting("new-records") == 1)
    batch = loop.tick()["started"][loop.algorithm]
    last = loop.settled(batch)["last"]
    assert (last["outcome"], last["quarantined"], last["records"]) == ("KEPT", 1, 4)
    assert loop.records.find(key) is None
    assert loop.records.get(layout.quarantined(key)) == b'{"schema": 2, "algorithm": '
    assert "not JSON" in loop.records.get_json(layout.quarantine_reason(key))["reason"]
    assert loop.registry.current(loop.algorithm) == before


def test_a_training_that_crashes_half_way_leaves_the_model_and_gives_its_messages_back(
    loop: Loop, deployment: Any, cloud: Cloud
) -> None:
    before = loop.registry.current(loop.algorithm)
    # It may write the model, but not the card that follows: it is cut off in the middle of laying a version down.
    iam = deployment.client("iam")
    role = deployment.client("lambda").get_function_configuration(
        FunctionName=f"bellwren-{cloud.deployment.stage}-train"
    )["Role"]
    name = {"RoleName": role.rpartition("/")[2], "PolicyName": "no-cards"}
    arn = f"arn:aws:s3:::{loop.models.bucket}/models/{loop.algorithm}/*/card.json"
    statement = {"Effect": "Deny", "Action": "s3:PutObject", "Resource": arn}
    iam.put_role_policy(
        **name, PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    )
    try:
        loop.put(4)
        until(lambda: loop.waiting("new-records") == 1)
        batch = loop.tick()["started"][loop.algorithm]
        assert loop.settled(batch)["last"]["outcome"] == "FAILED"
    finally:
        iam.delete_role_policy(**name)
    assert loop.registry.current(loop.algorithm) == before
    until(lambda: loop.waiting("failed-trainings") >= 1)
    batch = loop.tick()["started"][loop.algorithm]
    assert loop.settled(batch)["last"]["records"] == 5
    until(lambda: loop.waiting("new-records") == 0)


def test_a_model_is_shown_and_rolled_back_and_forecasts_follow_within_seconds(
    loop: Loop, cloud: Cloud
) -> None:
    newest = loop.registry.versions(loop.algorithm)[-1]
    if loop.registry.current(loop.algorithm).version != newest:
        loop.registry.publish(loop.algorithm, newest, loop.registry.current(loop.algorithm))
    serves(cloud, loop.algorithm, newest)
    rolled = run("models", "rollback", loop.algorithm, "--json")
    assert rolled.exit_code == 0, rolled.output
    back = json.loads(rolled.stdout)
    assert back["before"] == newest != back["version"]
    serves(cloud, loop.algorithm, back["version"])
    shown = run("models", "show", loop.algorithm)
    assert f"{back['version']} (rolled back)" in shown.stdout
    assert loop.algorithm in run("models", "list").stdout


def test_a_model_that_is_damaged_serves_nobody_and_the_one_before_does(loop: Loop, cloud: Cloud) -> None:
    before = loop.registry.current(loop.algorithm)
    loop.registry.add(loop.algorithm, "99999999T000000Z-bad", b"no model", {"version": "bad"}, [])
    loop.registry.publish(loop.algorithm, "99999999T000000Z-bad", before)
    time.sleep(5.5)  # how often serving looks for another version
    assert cloud.forecast(loop.algorithm, bytes=1e9)["model"]["version"] == before.version


def test_a_table_is_imported_and_its_algorithm_trained_by_command(loop: Loop, tmp_path: Path) -> None:
    algorithm = f"imported-{uuid.uuid4().hex[:8]}"
    mapping, table = tmp_path / "mapping.json", tmp_path / f"{algorithm}.csv"
    columns = {"machines": {"as": "workers"}, "ms": {"as": "runtime", "unit": "ms"}}
    mapping.write_text(json.dumps({"bellwren_mapping": 1, "columns": columns}))
    table.write_text("machines,ms\n2,90000\n4,50000\n8,30000\n")
    imported = run("records", "import", str(table), "--mapping", str(mapping), "--json")
    assert imported.exit_code == 0, imported.output
    assert json.loads(imported.stdout)["written"] == {algorithm: 3}
    assert len(json.loads(run("records", "list", algorithm, "--json").stdout)) == 3
    until(lambda: loop.waiting("new-records") == 3)
    loop.sqs.purge_queue(QueueUrl=loop.queue("new-records"))
    trained = run("retrain", algorithm, "--wait", "--json")
    assert trained.exit_code == 0, trained.output
    assert json.loads(trained.stdout)["outcomes"][algorithm]["outcome"] == "PUBLISHED"
    assert run("retrain", "no-records-of-this").exit_code == 1


def test_a_job_writes_one_record_that_passes_the_published_schema_and_is_news(
    loop: Loop, cloud: Cloud
) -> None:
    algorithm = f"real-{uuid.uuid4().hex[:8]}"
    job = cloud.map(abs, [-1, -2], workers=1, algorithm=algorithm, progress=False)
    assert job.result() == [1, 2]
    (entry,) = loop.records.list(layout.records(algorithm))
    record = loop.records.get_json(entry.key)
    Draft202012Validator(json.loads(SCHEMA_PATH.read_text("utf-8"))).validate(record)
    assert (record["job_id"], record["label"], record["contended"]) == (job.id, True, False)
    until(lambda: loop.waiting("new-records") == 1)
    assert json.loads(run("records", "list", algorithm, "--json").stdout)[0]["learned_from"] is True


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def serves(cloud: Cloud, algorithm: str, version: str) -> None:
    until(lambda: (cloud.forecast(algorithm, bytes=1e9)["model"] or {}).get("version") == version)
