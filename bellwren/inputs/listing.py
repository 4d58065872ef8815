"""Which objects of a listing are input: a pure rule over (key, size, ETag).

- ``s3://b/in/`` and ``s3://b/`` are prefixes. ``s3://b/in`` is the object ``in``, or where there is none the prefix
  ``in/``. So ``in`` never reads ``in2/`` or ``in.bak``.
- Folder markers (a key that ends in a slash, no content) are skipped, and so is what other systems are known to leave
  beside their data: ``_SUCCESS``, ``_temporary/``, Parquet summaries, checksums, logs of table formats. Hadoop skips
  every name that begins with ``_`` or ``.``; here a user's own ``_draft.txt`` is input, because an object that is
  silently not counted is worse than one that is read and does not fit. What was skipped is told.
- Empty objects hold no lines, rows or blocks, so only ``objects`` keeps them.
- The job's own output prefix is no input.
- An address under which nothing lies is an error, not an empty input.

Keys are taken verbatim: ``%25``, ``+``, spaces, ``..`` and non-ASCII mean themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from bellwren.errors import InputError
from bellwren.inputs.source import InputObject
from bellwren.inputs.spec import InputSpec
from bellwren.spec.uris import S3Uri, parse_s3_uri

_SIDE_FILE = re.compile(
    r"_SUCCESS|_temporary|_(started|committed)_[0-9]+|_(common_)?metadata|_spark_metadata|_delta_log|_FAILURE"
    r"|.*_\$folder\$|.*\._COPYING_|\..*\.crc|\.DS_Store|\.(hive|spark)-staging.*"
)
"""Names of one path segment: commit markers, uncommitted output, summaries, checksums, folder markers of old tools."""

_SHOWN_SKIPPED = 5


class Listed(Protocol):
    """One object of a listing; ``bellwren.store.Entry`` is one."""

    @property
    def key(self) -> str:
        """Verbatim."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def etag(self) -> str:
        """As S3 gives it."""
        ...


@dataclass(frozen=True)
class Selection:
    """What a listing holds for a job."""

    objects: tuple[InputObject, ...]
    """In the order of S3 listings: by the keys' UTF-8 bytes. The order of records follows it."""
    skipped: tuple[str, ...]
    """Keys that were left out as markers or side files; not those outside the address or in the job's own output."""

    @property
    def total_bytes(self) -> int:
        """Sum of the objects' sizes, compressed as they are."""
        return sum(entry.size for entry in self.objects)


def select_objects(spec: InputSpec, listed: Iterable[Listed], *, output: str | None = None) -> Selection:
    """Apply the rule to a listing of ``spec.bucket`` by the prefix ``spec.key`` (or a wider one).

    Args:
        spec: the input.
        listed: the objects, in any order.
        output: ``s3://`` prefix of the job's own output.

    Raises:
        InputError: if nothing of the listing is input.
    """
    entries = sorted(listed, key=lambda entry: entry.key.encode("utf-8", "surrogatepass"))
    exact = [entry for entry in entries if entry.key == spec.key]
    if exact and not spec.key.endswith("/"):
        return Selection(_kept(spec, exact), ())
    prefix = S3Uri(spec.bucket, spec.key).as_folder().key
    own = parse_s3_uri(output).as_folder() if output else None
    below = [
        entry
        for entry in entries
        if entry.key.startswith(prefix) and not (own and own.holds(S3Uri(spec.bucket, entry.key)))
    ]
    skipped = tuple(entry.key for entry in below if is_side_file(entry.key[len(prefix) :], entry.size))
    chosen = [entry for entry in below if not is_side_file(entry.key[len(prefix) :], entry.size)]
    if not chosen:
        raise InputError(_nothing(spec, prefix, skipped))
    return Selection(_kept(spec, chosen), skipped)


def is_side_file(name: str, size: int) -> bool:
    """Whether an object is a marker or a side file of its folder. ``name`` is its key below the prefix."""
    marker = size == 0 and (not name or name.endswith("/"))
    return marker or any(_SIDE_FILE.fullmatch(segment) for segment in name.split("/"))


def output_lies_in_input(spec: InputSpec, output: str) -> bool:
    """Whether a job that writes ``output`` would feed a later job that reads ``spec``: a reason to refuse it."""
    return S3Uri(spec.bucket, spec.key).holds(parse_s3_uri(output).as_folder())


def _kept(spec: InputSpec, entries: Iterable[Listed]) -> tuple[InputObject, ...]:
    return tuple(
        InputObject(entry.key, entry.size, entry.etag)
        for entry in entries
        if entry.size > 0 or spec.format == "objects"
    )


def _nothing(spec: InputSpec, prefix: str, skipped: tuple[str, ...]) -> str:
    tried = f"no object lies under {prefix!r}" if prefix else "the bucket is empty"
    if prefix != spec.key:
        tried = f"there is no object {spec.key!r}, and {tried}"
    if skipped:
        names = ", ".join(repr(key) for key in skipped[:_SHOWN_SKIPPED])
        tried += f" but {len(skipped)} marker(s) or side file(s): {names}"
    return f"nothing to read at {spec.uri}: {tried}. Check the address; keys are case-sensitive and taken verbatim"
