"""What a deployment can be told, and how it says what is wrong."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from variants import KEY

from infra import python_support
from infra.settings import DAY_S, Settings, SettingsError


def faults(**context):
    with pytest.raises(SettingsError) as refused:
        Settings.from_context(context)
    return {fault.field: fault for fault in refused.value.faults}


def test_without_context_a_deployment_has_the_stated_defaults():
    assert Settings.from_context({}) == Settings()


def test_every_setting_can_be_given_as_the_command_line_gives_it():
    settings = Settings.from_context(
        {
            "stage": "my-stage2",
            "worker_memory_mb": "1024,2048",
            "worker_timeout_s": "600",
            "max_workers": "50",
            "worker_reserved_concurrency": "60",
            "worker_architecture": "x86_64",
            "prediction_architecture": "arm64",
            "input_buckets": "books, more.books",
            "kms_key_arn": KEY,
            "worker_subnets": "subnet-0a1b2c3d, subnet-0123456789abcdef0",
            "worker_security_groups": "sg-0a1b2c3d",
            "permissions_boundary": "of-this-team",
            "stored_code_only": "true",
            "job_timeout_s": "3600",
            "working_key_expiry_days": "3",
            "log_retention_days": "7",
            "retraining_schedule": "cron(0 3 * * ? *)",
            "alarm_email": "ops@example.org",
            "python": "3.13",
            "packaging": "aws",
            "synthesizer": "cli-credentials",
            "nag": "true",
        }
    )
    assert settings == Settings(
        stage="my-stage2",
        worker_memory_mb=(1024, 2048),
        worker_timeout_s=600,
        max_workers=50,
        worker_reserved_concurrency=60,
        worker_architecture="x86_64",
        prediction_architecture="arm64",
        input_buckets=("books", "more.books"),
        kms_key_arn=KEY,
        worker_subnets=("subnet-0a1b2c3d", "subnet-0123456789abcdef0"),
        worker_security_groups=("sg-0a1b2c3d",),
        permissions_boundary="of-this-team",
        stored_code_only=True,
        job_timeout_s=3600,
        working_key_expiry_days=3,
        log_retention_days=7,
        retraining_schedule="cron(0 3 * * ? *)",
        alarm_email="ops@example.org",
        python="3.13",
        packaging="aws",
        synthesizer="cli-credentials",
        nag=True,
    )
    assert not [
        field.name
        for field in fields(Settings)
        if getattr(settings, field.name) == getattr(Settings(), field.name) and field.name != "packaging"
    ]


@given(st.lists(st.integers(128, 10_240), min_size=1, max_size=16, unique=True))
def test_a_list_reads_the_same_as_json_as_text_and_as_a_list(sizes):
    readings = {
        Settings.from_context({"worker_memory_mb": written}).worker_memory_mb
        for written in (sizes, json.dumps(sizes), ",".join(map(str, sizes)))
    }
    assert readings == {tuple(sizes)}


@given(st.integers())
def test_a_number_is_taken_within_its_bounds_and_refused_beyond(number):
    try:
        assert Settings.from_context({"max_workers": str(number)}).max_workers == number
        assert 1 <= number <= 10_000
    except SettingsError:
        assert not 1 <= number <= 10_000


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("stage", "Prod"),
        ("stage", ""),
        ("stage", "a" * 17),
        ("stage", "two--hyphens"),
        ("stage", "a_b"),
        ("stage", 7),
        ("worker_memory_mb", "127"),
        ("worker_memory_mb", "10241"),
        ("worker_memory_mb", "512,512"),
        ("worker_memory_mb", ""),
        ("worker_memory_mb", "[512"),
        ("worker_memory_mb", {"size": 512}),
        ("worker_timeout_s", "901"),
        ("worker_timeout_s", "15 min"),
        ("max_workers", True),
        ("max_workers", 1.5),
        ("max_workers", "0"),
        ("input_buckets", "s3://books"),
        ("input_buckets", "Books"),
        ("input_buckets", "*"),
        ("kms_key_arn", KEY.replace("key/", "alias/")),
        ("kms_key_arn", "1234abcd-12ab-34cd-56ef-1234567890ab"),
        ("log_retention_days", "31"),
        ("retraining_schedule", "hourly"),
        ("retraining_schedule", "rate(0 hours)"),
        ("alarm_email", "nobody"),
        ("python", "3"),
        ("python", 3.1),
        ("packaging", "docker"),
        ("worker_architecture", "riscv"),
        ("nag", "yes"),
    ],
)
def test_a_wrong_value_is_refused_by_name_with_what_is_allowed(setting, found):
    fault = faults(**{setting: found})[setting]
    assert fault.found == repr(found)
    assert fault.allowed


def test_every_fault_is_reported_at_once():
    assert set(faults(stage="X", max_workers="no", nope="1")) == {"stage", "max_workers", "nope"}


@pytest.mark.parametrize(
    ("typed", "meant"), [("stagee", "stage"), ("max_worker", "max_workers"), ("alarms_email", "alarm_email")]
)
def test_an_unknown_setting_is_refused_with_the_one_that_was_meant(typed, meant):
    assert f"did you mean {meant}?" in faults(**{typed: "x"})[typed].allowed


@pytest.mark.parametrize(
    "key",
    [
        "@aws-cdk/core:checkSecretUsage",
        "@aws-cdk-containers/ecs-service-extensions:enableDefaultLogDriver",
        "aws:cdk:bundling-stacks",
        "aws-cdk:enableDiffNoFail",
        "cdk-migrate",
        "availability-zones:account=123456789012:region=eu-west-1",
        "vpc-provider:account=1:filter.isDefault=true:region=eu-west-1",
    ],
)
def test_what_belongs_to_cdk_is_let_through(key):
    assert Settings.from_context({key: "anything"}) == Settings()


def test_nothing_stands_for_an_optional_setting():
    given_nothing = Settings.from_context(
        {"alarm_email": "", "worker_reserved_concurrency": "", "input_buckets": ""}
    )
    assert given_nothing == Settings()


def test_concurrency_that_is_kept_must_hold_all_workers_of_a_job():
    assert "max_workers (100)" in faults(max_workers="100", worker_reserved_concurrency="99")[
        "worker_reserved_concurrency"
    ].allowed  # fmt: skip


def test_working_keys_must_outlive_the_longest_job():
    assert "working_key_expiry_days" in faults(working_key_expiry_days="2", job_timeout_s=str(2 * DAY_S))
    settings = Settings.from_context({"working_key_expiry_days": "3", "job_timeout_s": str(2 * DAY_S)})
    assert settings == replace(Settings(), working_key_expiry_days=3)


@pytest.mark.parametrize("python", ["3.10", "3.9", "3.15", "4.0"])
def test_a_python_that_lambda_or_our_dependencies_do_not_have_is_refused_with_what_to_do(python):
    fault = faults(python=python)["python"]
    assert "3.12" in fault.allowed
    assert "deploy from an environment of one of them" in fault.allowed


def test_the_emulator_runs_no_other_python_than_its_own():
    other = "3.14" if python_support.running() != "3.14" else "3.13"
    assert python_support.running() in faults(packaging="local", python=other)["python"].allowed


@pytest.mark.parametrize(
    ("python", "prediction"), [("3.11", "3.12"), ("3.12", "3.12"), ("3.13", "3.13"), ("3.14", "3.14")]
)
def test_the_prediction_function_runs_the_nearest_python_that_onnxruntime_loads_on(python, prediction):
    assert python_support.for_prediction(python) == prediction


def test_only_what_runs_on_this_machine_may_speak_plain_http():
    assert Settings(packaging="aws").tls_only
    assert not Settings(packaging="local").tls_only
