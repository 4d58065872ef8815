"""The rules that turn sizes into chunks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.chunks import Chunk, ChunkTable
from bellwren.inputs.cutting import MAX_CHUNKS, REQUEST_BYTES, Divided, TaskSize, cut, even_cuts, task_size
from bellwren.inputs.quotes import RowStart
from bellwren.inputs.source import Facts, InputObject

MB = 1_000_000
LINES = bellwren.lines("s3://bkt/in/")
ROOMY = 1 << 60


def objects(*sizes: int, divisible: bool = True, limit: int = 0) -> list[Divided]:
    return [
        Divided(InputObject(f"in/{n}", size, f'"{n}"'), divisible and size > limit)
        for n, size in enumerate(sizes)
    ]


@given(
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=30),
    limit=st.integers(1, 3000),
    weight=st.integers(1, 10 * REQUEST_BYTES),
)
def test_chunks_cover_every_byte_once_in_order_within_their_size(
    sizes: list[int], limit: int, weight: int
) -> None:
    table = cut(LINES, objects(*sizes, limit=limit), TaskSize(limit, weight))
    covered = [(s.source.key, s.start, s.end) for chunk in table for s in chunk.segments]
    joined: dict[str, int] = {}
    for key, start, end in covered:
        assert joined.get(key, 0) == start < end
        joined[key] = end
    assert list(joined.items()) == [(f"in/{n}", size) for n, size in enumerate(sizes)]
    assert all(chunk.size <= limit for chunk in table)


@given(size=st.integers(1, 10**4), part=st.integers(1, 5000), unit=st.integers(1, 50))
def test_parts_are_as_few_as_can_be_and_equal_up_to_a_unit(size: int, part: int, unit: int) -> None:
    part = max(1, part // unit) * unit
    edges = [0, *even_cuts(size, part, unit), size]
    parts = [end - start for start, end in pairwise(edges)]
    assert len(parts) == -(-size // part)
    assert all(edge % unit == 0 for edge in edges[:-1])
    assert max(parts) <= part
    assert max(parts) - min(parts[:-1] or parts) <= unit


def test_a_chunk_is_never_above_the_users_size() -> None:
    assert task_size(LINES, [100_000 * MB], slots=10).bytes == 32 * MB
    tiny = bellwren.lines("s3://bkt/in/", chunk=7)
    assert task_size(tiny, [100], slots=1).bytes == 7


def test_there_are_some_tasks_for_each_slot_where_the_input_is_small() -> None:
    size = task_size(LINES, [200 * MB], slots=10)
    table = cut(LINES, objects(200 * MB, limit=size.bytes), size)
    assert 40 <= len(table) <= 41


def test_tasks_are_not_cut_below_a_mebibyte_for_the_sake_of_many_workers() -> None:
    assert task_size(LINES, [10 * MB], slots=1000).bytes == 1 << 20


def test_many_small_objects_are_read_together_but_not_too_many_by_one_task() -> None:
    sizes = [100] * 10_000
    size = task_size(LINES, sizes, slots=4)
    table = cut(LINES, objects(*sizes, limit=size.bytes), size)
    assert 40 <= len(table) <= 50
    assert max(len(chunk.segments) for chunk in table) <= 32 * MB // REQUEST_BYTES


def test_large_objects_stand_alone_between_groups_of_small_ones() -> None:
    table = cut(LINES, objects(3, 4, 100, 5, 6, limit=50), TaskSize(50, ROOMY))
    assert table.chunks == ((0, 1), (2, 0, 50), (2, 50, 100), (3, 4))


def test_what_cannot_be_divided_is_a_whole_chunk_however_large() -> None:
    table = cut(LINES, objects(500, 3, divisible=False), TaskSize(50, ROOMY))
    assert table.chunks == ((0, 0), (1, 1))


def test_rows_are_cut_where_rows_begin_and_know_their_line() -> None:
    rows = (RowStart(40, 5), RowStart(90, 9), RowStart(100, 11))
    entry = Divided(InputObject("t", 100, "e"), divisible=True, rows=rows)
    assert cut(LINES, [entry], TaskSize(40, ROOMY)).chunks == ((0, 0, 40, 1), (0, 40, 90, 5), (0, 90, 100, 9))


def test_no_cut_comes_before_the_end_of_a_header() -> None:
    entry = Divided(InputObject("t", 100, "e"), divisible=True, first_cut=45)
    assert cut(LINES, [entry], TaskSize(20, ROOMY)).chunks == ((0, 0, 60), (0, 60, 80), (0, 80, 100))


def test_row_groups_stay_whole_and_small_ones_go_together() -> None:
    entry = Divided(InputObject("t", 1000, "e"), row_groups=(10, 10, 90, 200, 10, 5))
    assert cut(LINES, [entry], TaskSize(100, ROOMY)).chunks == ((0, 0, 2), (0, 2, 3), (0, 3, 4), (0, 4, 6))


def test_blocks_are_cut_at_blocks() -> None:
    spec = bellwren.blocks("s3://bkt/in/", 100)
    size = task_size(spec, [40 * MB], slots=2)
    assert size.bytes % 100 == 0
    table = cut(spec, objects(40 * MB + 50, limit=size.bytes), size)
    assert 8 <= len(table) <= 9
    assert all(row[1] % 100 == 0 for row in table.chunks)
    large = bellwren.blocks("s3://bkt/in/", "64MB")
    assert task_size(large, [10 * MB], slots=2).bytes == 64 * MB


def test_too_many_chunks_are_refused_with_a_chunk_that_would_do() -> None:
    spec = bellwren.lines("s3://bkt/in/", chunk=10)
    with pytest.raises(
        InputError, match=r"s3://bkt/in/: 2,000,000 bytes .* use a chunk of at least 40 bytes"
    ):
        cut(spec, objects(2 * MB, limit=10), TaskSize(10, ROOMY))
    good = cut(spec, objects(2 * MB, limit=40), TaskSize(40, ROOMY))
    assert len(good) <= MAX_CHUNKS


def test_the_table_survives_json_with_all_it_knows() -> None:
    sources = (
        InputObject("in/é +%25", 10, '"e1"'),
        InputObject("b", 100, '"e2"', Facts("none", "utf-16-be", ("x", "y"), 2, 77)),
    )
    table = ChunkTable(sources, ((0, 0), (1, 0, 50), (1, 50, 100, 7)))
    assert ChunkTable.from_dict(json.loads(json.dumps(table.as_dict()))) == table
    for chunk in table:
        assert Chunk.from_dict(json.loads(json.dumps(chunk.as_dict()))) == chunk
    assert json.dumps(table.as_dict()["objects"][0]) == json.dumps(["in/é +%25", 10, '"e1"'])
