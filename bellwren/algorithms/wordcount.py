"""Word count: how often each word stands in the text."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator

from bellwren.algorithms.functions import Functions

_ASCII_WORDS = "[A-Za-z]+"
_NO_LETTER = re.compile(rb"[^A-Za-z]")
_PIECE_BYTES = 1 << 20


def functions(pattern: str, lower: bool) -> Functions:
    """Count matches of ``pattern``; with ``lower``, words that differ in case only are one."""
    words = re.compile(pattern)

    def count_line(line: str) -> Iterator[tuple[str, int]]:
        found = words.findall(line) if not words.groups else (match.group() for match in words.finditer(line))
        return iter(Counter(word.lower() for word in found).items() if lower else Counter(found).items())

    return Functions(
        map=count_line,
        reduce=_total,
        combine=_total,
        sure=True,
        # A word of ASCII letters ends at every other byte, line ends and UTF-8 sequences included, so the whole
        # chunk can be searched as bytes. Any other pattern might match across lines, or parts of a character.
        count_text=_count_ascii_words(lower) if pattern == _ASCII_WORDS else None,
    )


def _total(_: Hashable, counts: Iterable[int]) -> int:
    return sum(counts)


def _count_ascii_words(lower: bool) -> Callable[[bytes], dict[Hashable, int]]:
    # Everything but letters becomes a space, so that one split in C finds the words, faster than a pattern would.
    letters = {ord(letter): letter for letter in string.ascii_letters}
    if lower:
        letters |= {ord(letter): letter.lower() for letter in string.ascii_uppercase}
    table = "".join(letters.get(byte, " ") for byte in range(256)).encode("ascii")

    def count(text: bytes) -> dict[Hashable, int]:
        found: Counter[bytes] = Counter()
        for piece in _pieces(text):
            found.update(piece.translate(table).split())
        return {word.decode("ascii"): count for word, count in found.items()}

    return count


def _pieces(text: bytes) -> Iterator[bytes]:
    """The text in pieces that end where no word goes on: as objects the words of one take ten times its bytes."""
    start = 0
    while start < len(text):
        end = _NO_LETTER.search(text, start + _PIECE_BYTES)
        piece = text[start : end.start() if end else None]
        yield piece
        start += len(piece)
