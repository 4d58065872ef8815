"""The functions: their size, environment, log, and what becomes of events that they fail on."""

from __future__ import annotations

import json
import sys

import pytest

from bellwren.client import doctor

RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
CONTROL = ("prepare", "predict", "plan", "finish", "conclude")
LEARNING = ("collect", "train")
WORKERS = ("worker-1024", "worker-2048")


@pytest.fixture
def functions(templates):
    return {
        function.properties["FunctionName"].removeprefix("bellwren-test-"): function
        for function in templates.of_type("AWS::Lambda::Function")
    }


def test_there_is_a_function_for_each_step_and_a_worker_for_each_memory_size(functions):
    assert set(functions) == {*CONTROL, *LEARNING, *WORKERS}


def test_the_doctor_looks_at_every_function(functions):
    assert set(doctor.CONTROL) == functions.keys() - set(WORKERS)


@pytest.mark.parametrize(
    ("name", "memory_mb", "timeout_s"),
    [
        ("prepare", 512, 120),
        ("predict", 1024, 60),
        ("plan", 1024, 300),
        ("finish", 512, 300),
        ("conclude", 512, 120),
        ("collect", 256, 120),
        ("train", 3008, 900),
        ("worker-1024", 1024, 900),
        ("worker-2048", 2048, 900),
    ],
)
def test_each_function_has_the_size_that_its_work_needs(functions, name, memory_mb, timeout_s):
    properties = functions[name].properties
    assert (properties["MemorySize"], properties["Timeout"]) == (memory_mb, timeout_s)


def test_each_function_runs_its_own_handler(functions):
    for name in functions.keys() - {"train"}:
        function, module = functions[name], name.split("-")[0]
        assert function.properties["Handler"] == f"functions.{module}.handler"


def test_workers_run_on_arm_and_onnxruntime_on_x86(functions):
    architectures = {name: function.properties["Architectures"] for name, function in functions.items()}
    assert architectures.pop("predict") == ["x86_64"]
    assert architectures.pop("train") == ["x86_64"]
    assert set(map(tuple, architectures.values())) == {("arm64",)}


def test_workers_run_the_python_of_whoever_deploys(functions):
    for name in ("prepare", "plan", "finish", "conclude", *WORKERS):
        assert functions[name].properties["Runtime"] == f"python{RUNNING}"


def test_concurrency_is_kept_for_workers_alone(functions):
    reserved = {
        name: function.properties.get("ReservedConcurrentExecutions") for name, function in functions.items()
    }
    assert reserved == {
        **dict.fromkeys((*CONTROL, *LEARNING)),
        **dict.fromkeys(WORKERS, 600),
    }


def test_every_function_is_told_where_everything_is(functions):
    for name, function in functions.items():
        variables = dict(function.properties["Environment"]["Variables"])
        variables.pop("BELLWREN_WORKER_FUNCTIONS", None)
        if name in LEARNING:
            assert variables.pop("BELLWREN_TRAIN_FUNCTION") == "bellwren-test-train"
            assert variables.pop("BELLWREN_RECORDS_QUEUE").startswith("<LearningNewRecords")
            assert variables.pop("OMP_NUM_THREADS", None) == ("1" if name == "train" else None)
        assert variables == {
            "BELLWREN_STAGE": "test",
            "BELLWREN_JOBS_BUCKET": "bellwren-test-jobs-123456789012-eu-west-1",
            "BELLWREN_DATA_BUCKET": "bellwren-test-data-123456789012-eu-west-1",
            "BELLWREN_RECORDS_BUCKET": "bellwren-test-records-123456789012-eu-west-1",
            "BELLWREN_MODELS_BUCKET": "bellwren-test-models-123456789012-eu-west-1",
            "BELLWREN_MAX_WORKERS": "500",
            "BELLWREN_WORKER_MEMORY_MB": "[1024, 2048]",
            "BELLWREN_INPUT_BUCKETS": '["books"]',
            "BELLWREN_STORED_CODE_ONLY": "false",
        }


def test_plan_alone_knows_the_worker_functions(functions):
    told = {
        name: function.properties["Environment"]["Variables"].get("BELLWREN_WORKER_FUNCTIONS")
        for name, function in functions.items()
    }
    workers = {size: f"<{functions[f'worker-{size}'].id}.Arn>" for size in ("1024", "2048")}
    assert json.loads(told.pop("plan")) == workers
    assert set(told.values()) == {None}


def test_every_function_writes_json_to_a_log_of_its_own_that_ends(functions, templates):
    logs = {f"<{log.id}>": log for log in templates.of_type("AWS::Logs::LogGroup")}
    for name, function in functions.items():
        config = function.properties["LoggingConfig"]
        assert config["LogFormat"] == "JSON"
        log = logs.pop(config["LogGroup"])
        assert log.properties["LogGroupName"] == f"/aws/lambda/bellwren-test-{name}"
        assert log.properties["RetentionInDays"] == 30
        assert log.raw["DeletionPolicy"] == "Delete"


def test_no_two_functions_share_a_role(functions):
    roles = [function.properties["Role"] for function in functions.values()]
    assert len(set(roles)) == len(roles)


def test_an_event_that_a_function_fails_on_is_kept_and_no_other_function_takes_events(functions, templates):
    queues = {
        f"<{queue.id}.Arn>": queue.properties["QueueName"] for queue in templates.of_type("AWS::SQS::Queue")
    }
    kept, retries = {}, {}
    for config in templates.of_type("AWS::Lambda::EventInvokeConfig"):
        (name,) = [
            name
            for name, function in functions.items()
            if config.properties["FunctionName"] == f"<{function.id}>"
        ]
        retries[name] = config.properties["MaximumRetryAttempts"]
        if "DestinationConfig" in config.properties:
            kept[name] = queues[config.properties["DestinationConfig"]["OnFailure"]["Destination"]]
    assert kept == {
        "finish": "bellwren-test-unfinished-jobs",
        "collect": "bellwren-test-failed-trainings",
        "train": "bellwren-test-failed-trainings",
    }
    assert {name for name, count in retries.items() if count} == {"finish", "collect"}
    assert set(retries) == set(functions)
