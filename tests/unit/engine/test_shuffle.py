"""The shuffle object, its merge, and the groups that come out."""

from __future__ import annotations

import pickle
import struct
from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.engine import shuffle
from bellwren.engine.hashing import stable_hash
from bellwren.errors import InputError

keys = st.one_of(
    st.text(max_size=3), st.integers(-3, 3), st.booleans(), st.none(), st.tuples(st.integers(0, 1))
)
pairs = st.lists(st.tuples(keys, st.integers()), max_size=40)
tasks = st.lists(pairs, min_size=1, max_size=5)


def written(task: list[tuple[Any, Any]], partitions: int, combine: Any = None) -> bytes:
    grouper = shuffle.Grouper(combine)
    for pair in task:
        grouper.add([pair])
    return grouper.object(partitions, {"items": len(task)})


def segments(objects: list[bytes], partition: int, partitions: int) -> list[Iterator[shuffle.Entry]]:
    found = []
    for data in objects:
        start, end = shuffle.segment_ranges(data[: shuffle.index_bytes(partitions)], partitions)[partition]
        found.append(shuffle.decode_segment(data[start:end]))
    return found


def reduced(objects: list[bytes], partitions: int) -> list[tuple[Hashable, list[Any]]]:
    return [
        (key, list(values))
        for partition in range(partitions)
        for key, values in shuffle.groups(shuffle.merge(segments(objects, partition, partitions)))
    ]


@given(tasks, st.integers(1, 7))
def test_groups_are_those_of_a_dict_with_values_in_item_order(
    given_tasks: list[list[tuple[Any, Any]]], partitions: int
) -> None:
    expected: dict[Any, list[Any]] = defaultdict(list)
    for task in given_tasks:
        for key, value in task:
            expected[key].append(value)
    found = reduced([written(task, partitions) for task in given_tasks], partitions)
    assert len(found) == len(expected)
    assert dict(found) == expected


@given(tasks, st.integers(1, 7))
def test_combining_before_the_shuffle_changes_no_total(
    given_tasks: list[list[tuple[Any, Any]]], partitions: int
) -> None:
    def total(_: Hashable, values: Iterator[int]) -> int:
        return sum(values)

    plain = {k: sum(v) for k, v in reduced([written(t, partitions) for t in given_tasks], partitions)}
    combined = {
        k: sum(v) for k, v in reduced([written(t, partitions, total) for t in given_tasks], partitions)
    }
    assert combined == plain


@given(tasks)
def test_a_key_is_in_one_partition_only(given_tasks: list[list[tuple[Any, Any]]]) -> None:
    objects = [written(task, 5) for task in given_tasks]
    homes: dict[Any, set[int]] = defaultdict(set)
    for partition in range(5):
        for segment in segments(objects, partition, 5):
            for _, key, _ in segment:
                homes[key].add(partition)
    assert all(len(home) == 1 for home in homes.values())


@given(st.lists(st.lists(st.tuples(keys | st.just(float("nan")), st.integers())), min_size=1, max_size=5))
def test_segments_at_hand_give_the_same_groups_in_the_same_order_as_their_merge(
    given_tasks: list[list[tuple[Any, Any]]],
) -> None:
    objects = [written(task, 1) for task in given_tasks]
    ranges = [shuffle.segment_ranges(data, 1)[0] for data in objects]
    at_hand = shuffle.groups_at_hand(
        data[start:end] for data, (start, end) in zip(objects, ranges, strict=True)
    )
    assert repr([(key, list(values)) for key, values in at_hand]) == repr(reduced(objects, 1))


def test_values_that_a_reducer_leaves_unread_do_not_leak_into_the_next_key() -> None:
    data = written([("a", 1), ("a", 2), ("b", 3)], 1)
    seen = {}
    for key, values in shuffle.groups(shuffle.merge(segments([data], 0, 1))):
        seen[key] = next(values)
    assert seen == {"a": 1, "b": 3}


def test_keys_whose_hashes_collide_stay_apart() -> None:
    entries = [(7, "a", [1]), (7, "b", [2]), (7, "a", [3]), (9, "c", [4])]
    assert [(k, list(v)) for k, v in shuffle.groups(entries)] == [("a", [1, 3]), ("b", [2]), ("c", [4])]


def test_nan_keys_of_all_tasks_are_one_group() -> None:
    nan = float("nan")
    found = reduced([written([(nan, 1), (nan, 2)], 4), written([(float("nan"), 3)], 4)], 4)
    assert [values for _, values in found] == [[1, 2, 3]]


def test_one_key_with_most_of_the_records_is_cut_into_blocks_and_comes_back_whole() -> None:
    task = [("hot", number) for number in range(50_000)] + [(f"cold {n}", n) for n in range(100)]
    data = written(task, 3)
    start, end = shuffle.segment_ranges(data, 3)[shuffle.partition_of_hash(stable_hash("hot"), 3)]
    (first,) = struct.unpack_from("<I", data, start)
    assert first < (end - start) / 5
    assert dict(reduced([data], 3))["hot"] == list(range(50_000))


@pytest.mark.parametrize("bad", [("x",), (1, 2, 3), "ab", [[], 1], (object(), 1)], ids=range(5))
def test_a_record_with_one_bad_pair_leaves_nothing_of_itself(bad: Any) -> None:
    grouper = shuffle.Grouper(None)
    grouper.add([("x", 1), (1, 1)])
    before = grouper.object(3)
    with pytest.raises(TypeError):
        grouper.add([("x", 2), ("new", 1), (True, 3), ("x", 4), bad])
    assert grouper.object(3) == before
    grouper.add([["x", 5]])
    assert dict(reduced([grouper.object(3)], 3)) == {"x": [1, 5], 1: [1]}


def test_a_block_is_small_however_large_values_are() -> None:
    task = [("hot", bytes([n]) * 50_000) for n in range(100)] + [
        (f"cold {n}", "x" * 30_000) for n in range(40)
    ]
    task.append(("one", b"y" * 1_000_000))
    data = written(task, 1)
    start, end = shuffle.segment_ranges(data, 1)[0]
    sizes = []
    while start < end:
        (length,) = struct.unpack_from("<I", data, start)
        sizes.append(length)
        start += 4 + length
    assert sorted(sizes)[-1] < 1_001_000
    assert sorted(sizes)[-2] <= 256 << 10
    assert dict(reduced([data], 1))["hot"] == [value for key, value in task if key == "hot"]


@pytest.mark.parametrize(("tasks", "most"), [(1, 256 << 10), (1_000, 16_777), (20_000, 4 << 10)])
def test_where_many_tasks_are_merged_each_has_small_blocks(tasks: int, most: int) -> None:
    assert shuffle.block_bytes(tasks) == most
    grouper = shuffle.Grouper(None)
    grouper.add(("hot" if n % 10 else f"cold {n}", f"{n:0100}") for n in range(2_000))
    data = grouper.object(1, tasks=tasks)
    start, end = shuffle.segment_ranges(data, 1)[0]
    while start < end:
        (length,) = struct.unpack_from("<I", data, start)
        assert length <= most
        start += 4 + length
    assert dict(reduced([data], 1))["hot"] == [f"{n:0100}" for n in range(2_000) if n % 10]


def test_a_segment_can_be_read_in_any_pieces_by_whole_blocks() -> None:
    data = written([(f"key {n % 3000}", n) for n in range(9000)], 1)
    start, end = shuffle.segment_ranges(data, 1)[0]
    segment = data[start:end]
    rest = b""
    entries: list[shuffle.Entry] = []
    for at in range(0, len(segment), 777):
        rest += segment[at : at + 777]
        usable = shuffle.whole_blocks(rest)
        entries += shuffle.decode_segment(rest[:usable])
        rest = rest[usable:]
    assert rest == b""
    assert entries == list(shuffle.decode_segment(segment))


def test_the_note_of_an_object_says_how_it_came_about() -> None:
    assert shuffle.note(written([("a", 1)], 3), 3) == {"items": 1}
    assert shuffle.note(written([], 2), 2) == {"items": 0}


def test_what_is_no_shuffle_object_is_refused() -> None:
    with pytest.raises(ValueError, match="not a shuffle object of 3 partitions"):
        shuffle.segment_ranges(written([], 2), 3)


@pytest.mark.parametrize(
    ("emitted", "said"),
    [
        ([["k", 1]], None),
        ([("k",)], "pairs"),
        (["kv"], "pairs"),
        ([([1], 2)], "tuple for a list"),
        ([({1}, 2)], "frozenset for a set"),
        (3, "iterable"),
    ],
    ids=["list-pair", "short", "text", "list-key", "set-key", "no-iterable"],
)
def test_what_a_map_function_emits_must_be_pairs_with_keys_that_group(emitted: Any, said: str | None) -> None:
    grouper = shuffle.Grouper(None)
    if said is None:
        grouper.add(emitted)
        assert dict(reduced([grouper.object(1)], 1)) == {"k": [1]}
        return
    with pytest.raises(TypeError, match=said):
        grouper.add(emitted)
    assert reduced([grouper.object(1)], 1) == []


def test_a_record_that_fails_half_way_leaves_nothing_behind() -> None:
    def emits() -> Iterator[tuple[str, int]]:
        yield "a", 1
        raise RuntimeError("half way")

    grouper = shuffle.Grouper(None)
    with pytest.raises(RuntimeError):
        grouper.add(emits())
    assert reduced([grouper.object(2)], 2) == []


def test_combining_keeps_memory_to_one_value_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "_COMBINE_ABOVE", 100)
    grouper = shuffle.Grouper(lambda _, values: sum(values))
    for number in range(10_000):
        grouper.add([(number % 7, 1)])
        grouper.shrink()
    assert sum(map(len, grouper._groups.values())) < 500
    assert sum(sum(values) for _, values in reduced([grouper.object(3)], 3)) == 10_000


def test_the_pickle_of_a_block_is_protocol_5() -> None:
    data = written([("a", 1)], 1)
    start, _ = shuffle.segment_ranges(data, 1)[0]
    assert data[start + 4 : start + 6] == pickle.dumps([], protocol=5)[:2]


def test_a_record_of_which_one_pair_is_wrong_leaves_nothing_behind() -> None:
    grouper = shuffle.Grouper(None)
    grouper.add([("a", 1), (float("nan"), 2), (1, 3)])
    for wrong in ([("a", 9), ("b", 9, 9)], [("a", 9), "ab"], [["b", 9], (float("nan"), 9), ([], 9)]):
        with pytest.raises(TypeError):
            grouper.add(wrong)
    data = grouper.object(1)
    assert sorted(values for _, values in reduced([data], 1)) == [[1], [2], [3]]


def test_a_combine_function_that_raises_is_no_records_doing() -> None:
    def combine(_: Hashable, values: Iterator[int]) -> int:
        raise SystemExit(sum(values))

    grouper = shuffle.Grouper(combine)
    grouper.add([("once", 1), ("twice", 1), ("twice", 2)])
    with pytest.raises(
        InputError, match="the combine function raised SystemExit: 3, for the key 'twice' and 2 values"
    ):
        grouper.object(1)
