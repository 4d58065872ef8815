"""The four buckets of a deployment, and nothing that depends on what uses them."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from bellwren import layout
from infra.settings import Settings
from infra.stage import Stage

_UNFINISHED_UPLOAD_DAYS = 3
_REPLACED_VERSION_DAYS = 365
_BATCH_DAYS = 14  # as long as the queue keeps the messages that they speak of


class Storage(cdk.Stack):
    """Jobs, data, records and models: what people and jobs leave behind outlives the stack that made it."""

    def __init__(self, scope: Construct, id_: str, *, stage: Stage, **options: Any) -> None:
        super().__init__(scope, id_, **options)
        settings, names = stage.settings, stage.names
        self._tls_only = settings.tls_only
        self._key = kms.Key.from_key_arn(self, "Key", settings.kms_key_arn) if settings.kms_key_arn else None
        jobs = self._bucket("Jobs", names.bucket("jobs"), self._working_keys_expire(settings))
        _announce_objects(jobs)
        self._bucket("Data", names.bucket("data"))
        # Records and models are what the deployment has learned: every version of them is kept for a year.
        old_versions = s3.LifecycleRule(
            id="replaced-versions",
            noncurrent_version_expiration=cdk.Duration.days(_REPLACED_VERSION_DAYS),
        )
        _announce_objects(self._bucket("Records", names.bucket("records"), old_versions, versioned=True))
        batches = s3.LifecycleRule(
            id="batches", prefix=layout.BATCHES, expiration=cdk.Duration.days(_BATCH_DAYS)
        )
        self._bucket("Models", names.bucket("models"), old_versions, batches, versioned=True)

    def _bucket(self, id_: str, name: str, *rules: s3.LifecycleRule, versioned: bool = False) -> s3.Bucket:
        return s3.Bucket(
            self,
            id_,
            bucket_name=name,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.KMS if self._key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self._key,
            bucket_key_enabled=True if self._key else None,  # one request to KMS for many objects
            enforce_ssl=self._tls_only,
            minimum_tls_version=1.2 if self._tls_only else None,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=versioned,
            # Kept when the stack goes or the bucket would be replaced, but taken back when its own creation
            # fails, or the empty bucket would bar every further attempt to deploy.
            removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
            lifecycle_rules=[_unfinished_uploads_expire(), *rules],
        )

    @staticmethod
    def _working_keys_expire(settings: Settings) -> s3.LifecycleRule:
        return s3.LifecycleRule(
            id="working-keys",
            prefix=layout.WORK,
            expiration=cdk.Duration.days(settings.working_key_expiry_days),
        )


def _unfinished_uploads_expire() -> s3.LifecycleRule:
    return s3.LifecycleRule(
        id="unfinished-uploads",
        abort_incomplete_multipart_upload_after=cdk.Duration.days(_UNFINISHED_UPLOAD_DAYS),
    )


def _announce_objects(bucket: s3.Bucket) -> None:
    """Send the bucket's events to EventBridge.

    By the bucket's own property: the construct's ``event_bridge_enabled`` would add a Lambda function with a
    role of wide permissions to set it.
    """
    resource = bucket.node.default_child
    assert isinstance(resource, s3.CfnBucket)
    resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
        event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
    )
