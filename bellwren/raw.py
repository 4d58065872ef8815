"""Raw results of a sort: lines and blocks as they were read, so that the parts joined are the sorted whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bellwren.inputs.cuttable import cut_rule
from bellwren.inputs.delimiters import LineRule
from bellwren.inputs.encodings import encoding
from bellwren.inputs.spec import InputSpec

_AS_BYTES = ("utf-8", "ascii", "iso8859-1")
"""Encodings in which texts and their bytes have the same order."""


@dataclass(frozen=True)
class RawForm:
    """What a record is in raw parts, and what of its bytes a sort compares where there is no key function."""

    newline: str | None = None
    """Ends each line, as a text with a character for each byte; None for blocks."""
    codec: str | None = None
    """Encoding of lines; None where they are bytes."""
    record_bytes: int | None = None
    """Size of a block."""
    key_bytes: int | None = None
    """Leading bytes that are the key; None for all."""
    as_bytes: bool = True
    """Whether the natural order of records is that of their bytes, and they can be told apart in raw parts."""

    @staticmethod
    def of(spec: InputSpec, params: Mapping[str, Any]) -> RawForm | None:
        """The form of an input's records; None where they are neither lines nor blocks."""
        key_bytes = params.get("key_bytes")
        if spec.format == "blocks":
            return RawForm(record_bytes=params.get("record_bytes") or spec.chunk_bytes, key_bytes=key_bytes)
        if spec.format != "lines":
            return None
        codec = None if spec.encoding is None else encoding(spec.encoding).codec
        rule = cut_rule(spec)
        # What can't be found from the middle of an object (UTF-16, Shift-JIS, ...) is written as UTF-8.
        known = codec is None or (encoding(codec).unit == 1 and isinstance(rule, LineRule))
        newline = spec.newline_bytes(codec or "") if known else spec.newline_text(codec or "").encode("utf-8")
        simple = codec is None or (codec in _AS_BYTES and spec.errors == "surrogateescape")
        return RawForm(
            newline=newline.decode("latin-1"),
            codec=codec if known else "utf-8",
            key_bytes=key_bytes,
            as_bytes=simple and not LineRule(newline).overlaps,
        )

    @property
    def ambiguous(self) -> bool:
        """Whether lines can run into each other: the newline overlaps itself, as two line feeds do."""
        return self.newline is not None and LineRule(self.newline.encode("latin-1")).overlaps

    def as_dict(self) -> dict[str, Any]:
        """The form in which it stands in ``plan.json``."""
        return asdict(self)

    def decode(self, data: bytes) -> list[Any]:
        """The records of a raw part."""
        if self.newline is None:
            size = self.record_bytes or 1
            return [data[at : at + size] for at in range(0, len(data), size)]
        lines = data.split(self.newline.encode("latin-1"))
        lines.pop()
        return lines if self.codec is None else [self.value(line) for line in lines]

    def value(self, record: bytes) -> Any:
        """A record as it is read: text where lines have an encoding."""
        return record if self.codec is None else record.decode(self.codec, "surrogateescape")

    def encode(self, value: Any) -> bytes:
        """A record as it stands in a raw part."""
        if self.newline is None:
            return bytes(value)
        line = value if self.codec is None else value.encode(self.codec, "surrogateescape")
        return bytes(line) + self.newline.encode("latin-1")
