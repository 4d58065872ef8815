"""Where everything of a stage is."""

from __future__ import annotations

import json

import pytest

from bellwren.deployment import Deployment

PUBLISHED = {
    "stage": "dev",
    "region": "eu-west-1",
    "account": "123456789012",
    "version": "0.1.0",
    "python": "3.11",
    "jobs_bucket": "jobs",
    "data_bucket": "data",
    "records_bucket": "records",
    "models_bucket": "models",
    "state_machine_arn": "arn:machine",
    "prediction_function": "arn:predict",
    "worker_functions": {"3008": "arn:large", "512": "arn:small"},
    "max_workers": 100,
    "input_buckets": ["more"],
}


def test_what_a_stage_publishes_is_read_back() -> None:
    found = Deployment.from_parameter(json.dumps(PUBLISHED))
    assert found.worker_memory_mb == (512, 3008)
    assert found.worker_functions[512] == "arn:small"
    assert found.readable_buckets == ("data", "jobs", "more")


def test_a_field_of_a_later_version_is_passed_over() -> None:
    assert Deployment.from_parameter(json.dumps({**PUBLISHED, "tea": "earl grey"})).stage == "dev"


def test_a_function_that_is_not_told_where_it_is_says_what_is_missing() -> None:
    with pytest.raises(KeyError, match="BELLWREN_JOBS_BUCKET"):
        Deployment.from_environment({"BELLWREN_STAGE": "dev"})
