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

    def decoded_whole(block: bytes) -> list[str]:
        return decoder.lines(block, newline, fold=fold)

    def decoded_each(block: bytes) -> list[str]:
        return [decoder.text(line, behind=len(delimiter)) for line in block.split(delimiter)[:-1]]

    as_text = _splits_as_text(declared, newline, delimiter, spec.errors)
    return _blockwise(pieces, delimiter, decoded_whole if as_text else decoded_each, decoder.text)


def split_stream(
    pieces: Iterable[AnyStr], delimiter: AnyStr, *, fold: bool = False
) -> Iterator[list[AnyStr]]:
    """Split joined pieces exactly as ``whole.split(delimiter)`` would, less an empty last part.

    ``fold`` takes a CR before the delimiter (an LF) with it.
    """
    crlf: AnyStr = b"\r\n" if isinstance(delimiter, bytes) else "\r\n"

    def lines(block: AnyStr) -> list[AnyStr]:
        block, delimiter_here = _folded(block, delimiter, crlf) if fold else (block, delimiter)
        parts = block.split(delimiter_here)
        parts.pop()
        return parts

    return _blockwise(pieces, delimiter, lines, lambda last: last)


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
        folded = block
        if fold:
            # Before decoding: an error handler that drops bytes must not make a CR and an LF meet.
            folded, end = _folded(block, newline.encode(self._codec), f"\r{newline}".encode(self._codec))
            newline = end.decode(self._codec)
        try:
            text = str(folded, self._codec, self._errors)
        except UnicodeError:
            text = self.text(block)  # raises, with the right position
        else:
            self._offset += len(block)
        parts = text.split(newline)
        parts.pop()
        return parts


def _folded(block: AnyStr, newline: AnyStr, crlf: AnyStr) -> tuple[AnyStr, AnyStr]:
    """A block in which no CR stands before a newline, or every newline is CR LF; and what its lines end with."""
    if crlf not in block:
        return block, newline
    if block.count(crlf) == block.count(newline):
        return block, crlf  # as it mostly is, and splitting there is twice as fast as replacing
    return block.replace(crlf, newline), newline


def _splits_as_text(declared: Encoding, newline: str, delimiter: bytes, errors: str) -> bool:
    """Whether the newline stands in a decoded block exactly where its bytes stand in the block."""
    if len(newline) > 1 and errors == "ignore":
        return False  # it may drop a byte between the halves of what then is a newline
    return [byte_of(declared, character, errors) for character in newline] == [
        bytes([byte]) for byte in delimiter
    ]


def _without(pieces: Iterable[bytes], skip: int) -> Iterator[bytes]:
    for piece in pieces:
        yield piece[skip:]
        skip = max(0, skip - len(piece))


def _blockwise(
    pieces: Iterable[AnyStr],
    delimiter: AnyStr,
    lines: Callable[[AnyStr], list[Any]],
    last: Callable[[AnyStr], Any],
) -> Iterator[list[Any]]:
    """Hand blocks that end in a delimiter to ``lines``, and what is left at the end to ``last``."""
    return (_by_unit if len(delimiter) == 1 else _by_sequence)(pieces, delimiter, lines, last)


def _by_unit(
    pieces: Iterable[AnyStr],
    delimiter: AnyStr,
    lines: Callable[[AnyStr], list[Any]],
    last: Callable[[AnyStr], Any],
) -> Iterator[list[Any]]:
    """For delimiters of one byte, which no border between pieces can divide."""
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


def _by_sequence(
    pieces: Iterable[AnyStr],
    delimiter: AnyStr,
    lines: Callable[[AnyStr], list[Any]],
    last: Callable[[AnyStr], Any],
) -> Iterator[list[Any]]:
    """For longer delimiters: one may lie across pieces, and overlap itself, so that only splitting tells the last."""
    nothing, reach = delimiter[:0], len(delimiter) - 1
    overlaps = any(delimiter.endswith(delimiter[:length]) for length in range(1, len(delimiter)))
    held: list[AnyStr] = []
    edge = nothing  # the last bytes that are held, in which a delimiter may have begun
    for piece in _blocks(pieces):
        held.append(piece)
        if delimiter not in edge + piece:
            edge = (edge + piece)[-reach:]
            continue
        whole = nothing.join(held)
        begin = (
            len(whole) - len(whole.split(delimiter)[-1]) if overlaps else whole.rfind(delimiter) + reach + 1
        )
        yield lines(whole[:begin])
        rest = whole[begin:]
        held, edge = [rest] if rest else [], rest[-reach:]
    if held:
        yield [last(nothing.join(held))]


def _blocks(pieces: Iterable[AnyStr]) -> Iterator[AnyStr]:
    for piece in pieces:
        for at in range(0, len(piece), BLOCK):
            yield piece[at : at + BLOCK]
