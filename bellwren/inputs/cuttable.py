"""How an object of an input can be cut at records, if it can: one answer for planning and for fetching."""

from __future__ import annotations

from bellwren.inputs.delimiters import LineRule
from bellwren.inputs.encodings import byte_of, encoding
from bellwren.inputs.quotes import Quotes, RowRule
from bellwren.inputs.spec import InputSpec


def cut_rule(spec: InputSpec, codec: str | None = None) -> LineRule | RowRule | None:
    """How records of ``lines`` or ``csv`` are found from the middle of an uncompressed object; None if they can't be.

    ``codec`` is the encoding with its byte order, where that is the object's own.
    """
    if spec.format == "lines" and spec.encoding is None:
        return LineRule(spec.newline_bytes(""))
    known = encoding(codec or spec.encoding or "utf-8")
    if spec.format == "lines":
        # Without a byte order the answer is only whether; the delimiter then is that of one of the two.
        exact = known if known.settled else encoding(f"{known.codec}-le")
        return LineRule(spec.newline_bytes(exact.codec), known.unit) if known.cuttable else None
    return _row_rule(spec)


def _row_rule(spec: InputSpec) -> LineRule | RowRule | None:
    known = encoding(spec.encoding or "utf-8")
    marks = ["\n", "\r", spec.delimiter, *([spec.quote] if spec.quote else [])]
    if any(byte_of(known, mark, spec.errors) != mark.encode("utf-8") for mark in marks):
        return None
    if spec.quote is None or not spec.quoted_newlines:
        return LineRule(b"\n")
    return RowRule(Quotes(spec.delimiter.encode(), spec.quote.encode()), spec.delimiter, spec.quote)
