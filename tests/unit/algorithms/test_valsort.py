"""The checker: what it says of records in pieces is what it would say of all of them."""

from __future__ import annotations

import random
from functools import reduce
from itertools import pairwise
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.algorithms.functions import load_builtin
from bellwren.algorithms.valsort import KEY, Summary, joined, summed_up

records = st.lists(st.binary(max_size=2), max_size=20)


@given(st.lists(records, max_size=6))
def test_summaries_of_pieces_join_to_the_summary_of_the_whole(pieces: list[list[bytes]]) -> None:
    whole = [record for piece in pieces for record in piece]
    assert reduce(joined, map(summed_up, pieces), Summary()) == summed_up(whole)


@given(records)
def test_what_is_said_is_so(given_records: list[bytes]) -> None:
    told = summed_up(given_records).told()
    pairs = list(pairwise(given_records))
    assert told["sorted"] == (given_records == sorted(given_records))
    assert told["records"] == len(given_records)
    assert told["size_bytes"] == sum(map(len, given_records))
    assert int(told["checksum"], 16) == sum(map(crc32, given_records))
    assert told["duplicates"] == sum(a == b for a, b in pairs)
    first = next((at for at, (a, b) in enumerate(pairs, 1) if b < a), None)
    assert (told["disorder"] or {}).get("record") == first


def test_the_checksum_does_not_depend_on_the_order_and_tells_a_lost_record() -> None:
    everything = [b"%d" % at for at in range(100)]
    mixed = random.Random(1).sample(everything, 100)
    assert summed_up(mixed).checksum == summed_up(everything).checksum
    assert summed_up(mixed[1:] + mixed[1:2]).checksum != summed_up(everything).checksum


@pytest.mark.parametrize(
    ("params", "given_records", "expected"),
    [
        ({}, ["a", "b", "é"], (True, 3)),
        ({}, ["b", "a"], (False, 2)),
        ({"record_bytes": 2}, [b"a1b2", b"c3"], (True, 3)),
        ({"record_bytes": 2, "key_bytes": 1}, [b"a2a1", b"b0"], (True, 3)),
        ({"record_bytes": 2}, [b"a2a1", b"b0"], (False, 3)),
        ({"key_bytes": 1}, ["ab", "aa"], (True, 2)),
    ],
    ids=["text", "disorder", "cut", "key", "no-key", "key-of-lines"],
)
def test_the_algorithm_reads_lines_and_blocks(
    params: dict[str, Any], given_records: list[Any], expected: tuple[bool, int]
) -> None:
    functions = load_builtin("valsort", params)
    assert functions.whole is not None
    assert functions.reduce is not None
    (pair,) = functions.whole(given_records)
    told = functions.reduce(KEY, [pair[1]])
    assert (told["sorted"], told["records"]) == expected


def test_where_the_order_breaks_is_shown() -> None:
    told = summed_up([b"a", b"c" * 1000, b"b\xff"]).told()
    assert told["disorder"] == {"record": 2, "is": "b\\xff", "follows": "c" * 100}
