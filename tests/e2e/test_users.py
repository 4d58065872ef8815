"""Somebody with the rights that `bellwren doctor --policy` prints, and no other, enforced by the emulator."""

from __future__ import annotations

import json
import time
import uuid

import boto3
import pytest

import bellwren
from bellwren.client import rights
from bellwren.cloud import Cloud
from tests.e2e.conftest import Deployment


@pytest.fixture(scope="module")
def user(deployment: Deployment, cloud: Cloud) -> Cloud:
    name = f"user-{uuid.uuid4().hex[:8]}"
    iam = deployment.client("iam")
    iam.create_user(UserName=name)
    document = json.dumps(rights.policy(cloud.deployment))
    iam.put_user_policy(UserName=name, PolicyName="submits-jobs", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    session = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name=deployment.region)
    return bellwren.connect(stage=deployment.stage, session=session)


def test_a_user_submits_follows_cancels_resumes_and_asks_for_forecasts(user: Cloud) -> None:
    data = user.deployment.data_bucket
    user.data_store.put("of-a-user/a.txt", b"a b a\n" * 50)
    words = {
        "bellwren": 1,
        "algorithm": "wordcount",
        "input": {"lines": f"s3://{data}/of-a-user/"},
        "workers": 1,
    }
    assert user.forecast(words).choice
    job = user.submit(words)
    assert job.result(300) == {"a": 100, "b": 50}
    assert job.logs() is not None
    slow = user.map(time.sleep, [60.0, 60.0], workers=1)
    while slow.status()["status"] == "QUEUED":
        time.sleep(0.2)
    assert "was stopped" in slow.cancel()
    assert slow.status()["status"] == "CANCELLED"
    slow.resume()
    slow.cancel()


def test_and_reaches_nothing_else(user: Cloud, deployment: Deployment) -> None:
    for bucket in (user.deployment.records_bucket, user.deployment.models_bucket):
        with pytest.raises(Exception, match=r"(?i)denied"):
            list(user._clients.store(bucket).list())
    with pytest.raises(Exception, match=r"(?i)denied"):
        user.jobs_store.put("work/00/a-job/map/claims/0/000000", b"{}")
