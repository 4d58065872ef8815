"""The buckets: who can reach them, what they keep, and what they let go."""

from __future__ import annotations

import pytest

from bellwren import layout


@pytest.fixture
def buckets(templates):
    return {
        bucket.properties["BucketName"].split("-")[2]: bucket
        for bucket in templates.of_type("AWS::S3::Bucket")
    }


def rules(bucket):
    return bucket.properties["LifecycleConfiguration"]["Rules"]


def test_there_are_four_buckets_whose_names_are_unique_in_the_world(buckets):
    names = {bucket.properties["BucketName"] for bucket in buckets.values()}
    assert names == {
        f"bellwren-test-{what}-123456789012-eu-west-1" for what in ("jobs", "data", "records", "models")
    }


def test_no_bucket_is_public_or_unencrypted(buckets):
    for bucket in buckets.values():
        blocked = bucket.properties["PublicAccessBlockConfiguration"]
        assert len(blocked) == 4
        assert all(blocked.values())
        (encryption,) = bucket.properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
        assert bucket.properties["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]


def test_every_bucket_refuses_plain_http(buckets, templates):
    refusing = set()
    for policy in templates.of_type("AWS::S3::BucketPolicy"):
        for statement in policy.properties["PolicyDocument"]["Statement"]:
            if statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}:
                assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:*")
                assert statement["Principal"] == {"AWS": "*"}
                refusing.add(policy.properties["Bucket"])
    assert refusing == {f"<{bucket.id}>" for bucket in buckets.values()}


def test_what_people_and_jobs_leave_behind_outlives_its_stack(buckets):
    for bucket in buckets.values():
        assert bucket.raw["DeletionPolicy"] == "RetainExceptOnCreate"
        assert bucket.raw["UpdateReplacePolicy"] == "Retain"


def test_every_version_of_a_record_and_a_model_is_kept(buckets):
    for what in ("records", "models"):
        assert buckets[what].properties["VersioningConfiguration"] == {"Status": "Enabled"}
        expiring = {rule["Prefix"] for rule in rules(buckets[what]) if "ExpirationInDays" in rule}
        assert expiring <= {layout.BATCHES}
    assert not layout.model("any", "version").startswith(layout.BATCHES)


def test_working_keys_expire_and_nothing_else_does(buckets):
    expiring = [
        (what, rule["Prefix"], rule["ExpirationInDays"])
        for what, bucket in buckets.items()
        for rule in rules(bucket)
        if "ExpirationInDays" in rule
    ]
    assert expiring == [("jobs", layout.WORK, 14), ("models", layout.BATCHES, 14)]
    assert layout.work("any-job").startswith(layout.WORK)
    assert not layout.job("any-job").startswith(layout.WORK)


def test_uploads_that_never_end_are_not_paid_for(buckets):
    for bucket in buckets.values():
        aborting = [rule for rule in rules(bucket) if "AbortIncompleteMultipartUpload" in rule]
        assert [rule.get("Prefix") for rule in aborting] == [None]
        assert 1 <= aborting[0]["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] <= 7


def test_only_jobs_and_records_announce_their_objects_and_no_function_was_added_for_it(buckets, templates):
    announcing = {
        what for what, bucket in buckets.items() if "NotificationConfiguration" in bucket.properties
    }
    assert announcing == {"jobs", "records"}
    for what in announcing:
        assert buckets[what].properties["NotificationConfiguration"] == {
            "EventBridgeConfiguration": {"EventBridgeEnabled": True}
        }
    types = {resource.type for resource in templates.all("storage")}
    assert types <= {"AWS::S3::Bucket", "AWS::S3::BucketPolicy", "AWS::CDK::Metadata"}
