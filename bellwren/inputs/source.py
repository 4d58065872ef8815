"""Where input bytes come from: the objects, the one way of reading them, and the pieces that travel to a runner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from bellwren.errors import InputError


@dataclass(frozen=True)
class Facts:
    """What planning learned of an object by looking into it. None stands for "not looked"."""

    compression: str | None = None
    """``none``, ``gzip``, ``bzip2`` or ``zstd``."""
    encoding: str | None = None
    """The codec with its byte order, where the user's ``utf-16`` or ``utf-32`` leaves that to the mark."""
    columns: tuple[str, ...] | None = None
    """The names in the object's header row."""
    fields: int | None = None
    """Number of fields of the first row, where rows are to be guessed."""
    footer_bytes: int | None = None
    """Length of a Parquet footer, its closing mark included."""

    def as_dict(self) -> dict[str, Any]:
        """Only what is known."""
        known = {
            "compression": self.compression,
            "encoding": self.encoding,
            "columns": None if self.columns is None else list(self.columns),
            "fields": self.fields,
            "footer_bytes": self.footer_bytes,
        }
        return {name: value for name, value in known.items() if value is not None}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Facts:
        """Read back what ``as_dict`` wrote."""
        columns = document.get("columns")
        return Facts(**{**document, "columns": None if columns is None else tuple(columns)})


@dataclass(frozen=True)
class InputObject:
    """One object of the input, as it was when the job was planned."""

    key: str
    """Verbatim: never URL-decoded, never normalised."""
    size: int
    """Bytes."""
    etag: str
    """Every read asks for this version, so a changed object fails the job instead of mixing two versions."""
    facts: Facts = field(default=Facts())


class Piece(NamedTuple):
    """Some consecutive bytes of one segment of a chunk; the pieces of a chunk come in order."""

    segment: int
    """Position of the segment in the chunk."""
    offset: int
    """Where the bytes begin in the object."""
    data: bytes


class RangeReader(Protocol):
    """All that fetching and planning ask of storage."""

    async def get_range(self, bucket: str, key: str, start: int, end: int, *, etag: str) -> bytes:
        """Bytes ``[start, end)`` of the version ``etag`` (``If-Match``). Never called with an empty range.

        Raises:
            FileNotFoundError: if the object is gone.
            InputError: if the object has another ETag by now.
        """
        ...


def address(bucket: str, key: str) -> str:
    """The object as errors name it."""
    return f"s3://{bucket}/{key}"


async def read_range(reader: RangeReader, bucket: str, source: InputObject, start: int, end: int) -> bytes:
    """Exactly the bytes ``[start, end)``, which must lie within the object.

    Raises:
        InputError: if the object is gone, changed, or shorter than it was when the job was planned.
    """
    if start >= end:
        return b""
    name = address(bucket, source.key)
    try:
        data = await reader.get_range(bucket, source.key, start, end, etag=source.etag)
    except FileNotFoundError as error:
        raise InputError(
            f"{name} was there when the job was planned and is gone now; the job needs inputs that stay as they are"
        ) from error
    if len(data) != end - start:
        raise InputError(
            f"{name}: asked for bytes {start:,} to {end:,} and got {len(data):,} of {end - start:,};"
            " the object is not what it was when the job was planned"
        )
    return data
