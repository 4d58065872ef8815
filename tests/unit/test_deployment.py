"""Where everything of a stage is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bellwren.cloud import connect
from bellwren.deployment import Deployment
from bellwren.errors import NotDeployed

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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "You must specify a region: set AWS_REGION"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "Unable to locate credentials: set AWS_PROFILE"),
        (
            {
                "AWS_DEFAULT_REGION": "eu-west-1",
                "AWS_ACCESS_KEY_ID": "a",
                "AWS_SECRET_ACCESS_KEY": "b",
                "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
                "AWS_MAX_ATTEMPTS": "1",
            },
            'Could not connect to the endpoint URL: "http://127.0.0.1:9/": AWS_ENDPOINT_URL',
        ),
    ],
)
def test_without_an_account_one_is_told_what_to_set_and_how_to_do_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, str], said: str
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    nothing = {name: str(tmp_path / "none") for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")}
    for name, value in {**nothing, "AWS_EC2_METADATA_DISABLED": "true", **given}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(NotDeployed) as raised:
        connect()
    assert str(raised.value).startswith(said)
    assert "bellwren local start" in str(raised.value)


def test_a_stage_in_the_place_of_local_is_told_where_it_belongs() -> None:
    with pytest.raises(ValueError, match=r"connect\(stage='prod'\)"):
        connect("prod")
