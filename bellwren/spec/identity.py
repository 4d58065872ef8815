"""Ids of jobs: readable first, then what keeps them apart. No clock and no AWS in here.

An id is a part of S3 keys and of names of executions: lower-case letters, digits and hyphens, at most 63.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata

MAX_ID_CHARACTERS = 63
JOB_ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"

_JOB_ID = re.compile(JOB_ID_PATTERN.replace("$", r"\Z"))
_DIGEST_CHARACTERS = 16
_SLUG_CHARACTERS = MAX_ID_CHARACTERS - _DIGEST_CHARACTERS - 1
_READ_CHARACTERS = 2_000


def is_job_id(text: str) -> bool:
    """Whether the text has the form of a job id."""
    return _JOB_ID.match(text) is not None


def slug(name: str) -> str:
    """The part of an id that people recognise: ``"Été 2024 (v+1).json"`` becomes ``ete-2024-v-1-json``.

    Letters lose their accents, all other characters become hyphens; a name with nothing left becomes ``job``.
    """
    plain = unicodedata.normalize("NFKD", name[:_READ_CHARACTERS]).encode("ascii", "ignore").decode().lower()
    # Accents vanish with the encoding above, so that "é" leaves an "e" and no hyphen.
    hyphened = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return hyphened[:_SLUG_CHARACTERS].rstrip("-") or "job"


def from_event(bucket: str, key: str, sequencer_or_etag: str) -> str:
    """Id of the job that an S3 event starts.

    Every delivery of one event gives the same id; the same key written again gives another one.
    ``key`` is as S3 lists it (events of EventBridge carry it so; those of S3 itself must be decoded first).
    """
    name = key.rsplit("/", 1)[-1]
    stem = name[: -len(".json")] if name.lower().endswith(".json") else name
    return f"{slug(stem)}-{_digest('event', bucket, key, sequencer_or_etag)}"


def from_execution(name: str) -> str:
    """Id of the job of an execution: its name, where that has the form of an id (as :func:`fresh` gives it).

    Any other name gives its slug and a digest, so that names do not share an id by losing their punctuation.
    """
    return name if is_job_id(name) else f"{slug(name)}-{_digest('execution', name)}"


def fresh(name: str) -> str:
    """A new id on every call; as the name of an execution it becomes the id of its job."""
    return f"{slug(name)}-{secrets.token_hex(_DIGEST_CHARACTERS // 2)}"


def _digest(*parts: str) -> str:
    # Each part with its length: ("ab", "c") and ("a", "bc") differ.
    joined = b"".join(b"%d:%b" % (len(part), part.encode("utf-8", "surrogatepass")) for part in parts)
    return hashlib.sha256(joined).hexdigest()[:_DIGEST_CHARACTERS]
