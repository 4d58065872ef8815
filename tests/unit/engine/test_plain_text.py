"""Word count over bytes, without lines, only where it finds the words that it would find line by line."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bellwren
from bellwren.algorithms.functions import load_builtin
from bellwren.engine.records import is_plain_text
from bellwren.errors import InputError
from bellwren.inputs.source import Piece
from tests.unit.inputs.bucket import Bucket, flat, read

OPTIONS: list[dict[str, Any]] = [
    *(
        {"errors": errors}
        for errors in ("surrogateescape", "replace", "ignore", "strict", "backslashreplace")
    ),
    *({"newline": newline} for newline in ("\n", "b", "\r\n", b"b")),
    *({"encoding": encoding} for encoding in ("utf-16-le", "iso8859-1", "ascii")),
    {"compression": "none"},
]


@given(
    st.lists(st.sampled_from([b"a", b"b", b"B", b"\n", b"\r", b" ", b"\xff", b"\xc3\xa4"]), max_size=20).map(
        b"".join
    )
)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_is_counted_at_once_is_what_is_counted_line_by_line(
    options: dict[str, Any], data: bytes
) -> None:
    spec = bellwren.lines("s3://bkt/t", **options)
    if not is_plain_text(spec, [Piece(0, 0, data)]):
        return
    wordcount = load_builtin("wordcount", {})
    assert wordcount.map is not None
    assert wordcount.count_text is not None
    expected: Counter[str] = Counter()
    for line in flat(read(Bucket({"t": data}), spec)):
        for word, count in wordcount.map(line):
            expected[word] += count
    assert wordcount.count_text(data) == expected


def test_plain_text_is_the_default_and_no_compressed_object_is() -> None:
    spec = bellwren.lines("s3://bkt/t")
    assert is_plain_text(spec, [Piece(0, 0, b"words"), Piece(0, 5, b"\x1f\x8b\x08")])
    assert not is_plain_text(spec, [Piece(0, 0, b"words"), Piece(1, 0, b"\x1f\x8b\x08")])


def test_bytes_that_are_refused_are_refused_by_a_word_count_too() -> None:
    spec = bellwren.lines("s3://bkt/t", errors="strict")
    assert not is_plain_text(spec, [Piece(0, 0, b"a\xff")])
    with pytest.raises(InputError):
        read(Bucket({"t": b"a\xff"}), spec)
