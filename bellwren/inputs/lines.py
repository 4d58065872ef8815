"""From the bytes of whole lines to lines, at the speed of ``bytes.split``.

The bytes come as pieces cut anywhere; lines come out as lists of a block's worth, so that no Python code runs for each
line. Where a decoded block can be split as text it is decoded whole: that is so for one-byte delimiters in encodings
that can be cut. Everything else takes the general path, which splits first and decodes each line.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from typing import Any, AnyStr

from bellwren.inputs.encodings import HEAD_BYTES, Encoding, byte_of, settle, undecodable
from bellwren.inputs.spec import InputSpec
from bellwren.inputs.streams import with_head

BLOCK = 1 << 18
"""Bytes (or characters) split at once: enough that Python's share of the time is small, and so few that a block, its
text and its lines stay in a core's cache."""


def line_batches(
    spec: InputSpec, pieces: Iterable[bytes], name: str, *, offset: int = 0, codec: str | None = None
) -> Iterator[list[Any]]:
    """The lines of the joined pieces, which begin at a line start of the object.

    Args:
        spec: encoding, error handler and newline.
        pieces: bytes in order, cut anywhere; none may be empty-handed about its end: the last piece ends the lines.
        name: the object, for errors.
        offset: where the first piece begins in the object; only at 0 a byte order mark is looked for.
        codec: the encoding with its byte order, where planning found it in the object's mark.

    Yields:
        Lists of ``str``, or of ``bytes`` for ``encoding=None``, without their delimiter. With the default newline a CR
        right before the LF belongs to the line's end; any other CR is text. Text after the last delimiter is a line.

    Raises:
        InputError: if the bytes are not valid in the encoding and ``errors`` is ``strict`` (UTF-16 and UTF-32 know no
            other way to carry broken code units, so there ``surrogateescape`` raises too).
    """
    fold = spec.newline is None
    if spec.encoding is None:
        return split_stream(pieces, spec.newline_bytes(""), fold=fold)
    head, pieces = with_head(pieces, HEAD_BYTES)
    declared, mark = settle(codec or spec.encoding, head)
    skip = mark if offset == 0 else 0
    if skip:
        pieces = _without(pieces, skip)
    if declared.unit > 1 or not declared.cuttable:
        text = decode_stream(pieces, declared.codec, spec.errors, name)
        return split_stream(text, spec.newline_text(declared.codec), fold=fold)
    decoder = _Decoder(declared, spec.errors, name, offset + skip)
    delimiter = spec.newline_bytes(declared.codec)
    newline = delimiter.decode(declared.codec, "replace")
    if byte_of(declared, newline, spec.errors) == delimiter:
        return _by_block(
            pieces, delimiter, lambda block: decoder.lines(block, newline, fold=fold), decoder.text
        )
    return _decoded(split_stream(pieces, delimiter, fold=fold), decoder, len(delimiter))


def split_stream(
    pieces: Iterable[AnyStr], delimiter: AnyStr, *, fold: bool = False
) -> Iterator[list[AnyStr]]:
    """Split joined pieces exactly as ``whole.split(delimiter)`` would, less an empty last part.

    ``fold`` takes a CR before the delimiter (an LF) with it.
    """
    if len(delimiter) > 1:
        return _by_split(pieces, delimiter)
    crlf: AnyStr = b"\r\n" if isinstance(delimiter, bytes) else "\r\n"

    def lines(block: AnyStr) -> list[AnyStr]:
        if fold and crlf in block:
            block = block.replace(crlf, delimiter)
        parts = block.split(delimiter)
        parts.pop()
        return parts

    return _by_block(pieces, delimiter, lines, lambda last: last)


def decode_stream(pieces: Iterable[bytes], codec: str, errors: str, name: str) -> Iterator[str]:
    """Text of joined pieces, for encodings in which a block can't be decoded by itself."""
    decoder = codecs.getincrementaldecoder(codec)(errors)
    try:
        for piece in _blocks(pieces):
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise undecodable(name, error, None) from error


class _Decoder:
    """Decodes consecutive parts of one object and knows where it is, for errors."""

    def __init__(self, declared: Encoding, errors: str, name: str, offset: int) -> None:
        self._codec, self._errors, self._name, self._offset = declared.codec, errors, name, offset

    def text(self, data: bytes, *, behind: int = 0) -> str:
        """Decode ``data``, which ``behind`` further bytes follow that are a delimiter."""
        try:
            decoded = str(data, self._codec, self._errors)
        except UnicodeError as error:
            raise undecodable(self._name, error, self._offset) from error
        self._offset += len(data) + behind
        return decoded

    def lines(self, block: bytes, newline: str, *, fold: bool) -> list[str]:
        """Decode and split a block that ends in a delimiter."""
        if fold and b"\r\n" in block:
            # Before decoding: an error handler that drops bytes must not make a CR and an LF meet.
            folded = block.replace(b"\r\n", b"\n")
            try:
                text = str(folded, self._codec, self._errors)
            except UnicodeError:
                text = self.text(block)  # raises, with the right position
            else:
                self._offset += len(block)
        else:
            text = self.text(block)
        parts = text.split(newline)
        parts.pop()
        return parts


def _decoded(batches: Iterator[list[bytes]], decoder: _Decoder, behind: int) -> Iterator[list[str]]:
    for batch in batches:
        yield [decoder.text(line, behind=behind) for line in batch]


def _without(pieces: Iterable[bytes], skip: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece[skip:]
        skip = max(0, skip - len(piece))


def _by_block(
    pieces: Iterable[AnyStr],
    delimiter: AnyStr,
    lines: Callable[[AnyStr], list[Any]],
    last: Callable[[AnyStr], Any],
) -> Iterator[list[Any]]:
    """For delimiters of one byte: hand blocks that end in a delimiter to ``lines``, and what is left to ``last``."""
    held: list[AnyStr] = []  # the beginning of a line; joined once, when its end is found
    for piece in pieces:
        at = 0
        while at < len(piece):
            end = piece.rfind(delimiter, at, at + BLOCK) + 1 or piece.find(delimiter, at + BLOCK) + 1
            if not end:
                held.append(piece[at:])
                break
            block = piece[at:end]
            if held:
                held.append(block)
                block = delimiter[:0].join(held)
                held = []
            yield lines(block)
            at = end
    if held:
        yield [last(delimiter[:0].join(held))]


def _by_split(pieces: Iterable[AnyStr], delimiter: AnyStr) -> Iterator[list[AnyStr]]:
    """For longer delimiters: one may lie across pieces, and overlap itself, so splitting goes on from the last one."""
    nothing, reach = delimiter[:0], len(delimiter) - 1
    held: list[AnyStr] = []
    edge = nothing  # the last bytes that are held, in which a delimiter may have begun
    for piece in _blocks(pieces):
        if delimiter in edge + piece:
            held.append(piece)
            parts = nothing.join(held).split(delimiter)
            rest = parts.pop()
            held, edge = [rest] if rest else [], rest[-reach:]
            yield parts
        else:
            held.append(piece)
            edge = (edge + piece)[-reach:]
    if held:
        yield [nothing.join(held)]


def _blocks(pieces: Iterable[AnyStr]) -> Iterator[AnyStr]:
    for piece in pieces:
        for at in range(0, len(piece), BLOCK):
            yield piece[at : at + BLOCK]
