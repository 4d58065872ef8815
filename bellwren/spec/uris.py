"""S3 addresses: ``s3://bucket/key``, where the key is taken as it stands and is never decoded."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_KEY_BYTES = 1_024
"""S3's limit on a key, in UTF-8."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_IP_ADDRESS = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_WEB_HOSTED = re.compile(r"https?://([a-z0-9.-]+)\.s3[.a-z0-9-]*\.amazonaws\.com/(.*)", re.DOTALL)


@dataclass(frozen=True)
class S3Uri:
    """One object, or every object whose key starts with the key."""

    bucket: str
    key: str
    """Raw key; empty for the whole bucket. ``%``, ``+``, ``?`` and ``#`` in it mean themselves."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def as_folder(self) -> S3Uri:
        """The same place with a key that is empty or ends in a slash."""
        return S3Uri(self.bucket, self.key if not self.key or self.key.endswith("/") else self.key + "/")

    def holds(self, other: S3Uri) -> bool:
        """Whether ``other`` is this object, or lies in this folder."""
        same = self.bucket == other.bucket
        return same and (other.key == self.key or other.key.startswith(self.as_folder().key))


def parse_s3_uri(text: str) -> S3Uri:
    """Split an S3 address.

    Raises ``ValueError`` with what is allowed, and where it can, with what was probably meant.
    """
    if not text.startswith("s3://"):
        raise ValueError(f"an S3 address such as s3://bucket/folder/{_probably(text)}")
    bucket, _, key = text.removeprefix("s3://").partition("/")
    if not _BUCKET.fullmatch(bucket) or ".." in bucket or _IP_ADDRESS.fullmatch(bucket):
        raise ValueError(
            "s3://bucket/key with a bucket name of 3 to 63 lower-case letters, digits, hyphens and dots,"
            " that starts and ends with a letter or digit and is no IP address"
        )
    if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise ValueError(f"a key of at most {MAX_KEY_BYTES:,} bytes in UTF-8")
    return S3Uri(bucket, key)


def _probably(text: str) -> str:
    hosted = _WEB_HOSTED.fullmatch(text[: 2 * MAX_KEY_BYTES])
    if hosted:
        return f"; for this web address write s3://{hosted[1]}/{hosted[2]}"[:200]
    if text[:5].lower() == "s3://":
        return "; write s3:// in lower case"
    if text.startswith(("s3a://", "s3n://")):
        return "; write s3:// for s3a:// and s3n://"
    if "://" not in text[:20]:
        return "; files on your own machine must be copied to S3 first"
    return ""
