"""Any iterable is a list of items, each one argument, written in the memory of one item. Group B."""

from __future__ import annotations

import collections
import itertools
import math
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from far import far_map
from hypothesis import given, settings
from hypothesis import strategies as st

from bellwren.errors import PayloadError
from bellwren.framing import Kind, read_frames, read_span
from bellwren.payload import items as items_module
from bellwren.payload.codecs import decode
from bellwren.payload.items import MAX_ITEMS, write_items

Program = Callable[..., list[str]]


def there_and_back(items: Iterable[Any]) -> list[Any]:
    with write_items(items) as written:
        values = [decode(frame, "pickle") for frame in read_frames(written.file)]
        assert written.count == len(values)
    return values


@pytest.mark.parametrize(
    "items",
    [
        [],
        [1],
        [None, 0, "", False, [], {}, ()],
        range(3),
        {1, 2, 3},
        frozenset("abc"),
        (i for i in range(3)),
        map(str, range(3)),
        {"a": 1, "b": 2},
        {"a": 1}.items(),
        [(1, 2), {"a": 1}, {"args": (1,), "kwargs": {}}],
        "ab",
        b"ab",
        collections.deque([1, 2]),
        itertools.islice(itertools.count(), 4),
        [{1: (2, 3)}, math.inf, -0.0, 1 << 100, "\ud800"],
    ],
    ids=lambda items: type(items).__name__ if isinstance(items, Iterator) else repr(sorted(items, key=repr)),
)
def test_items_are_what_a_for_loop_gives(items: Iterable[Any]) -> None:
    again, items = itertools.tee(items) if isinstance(items, Iterator) else (items, items)
    assert there_and_back(items) == list(again)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.integers(), inner),
    max_leaves=6,
)


@given(st.lists(values, max_size=30))
@settings(max_examples=50)
def test_any_values_survive_as_items(items: list[Any]) -> None:
    assert there_and_back(iter(items)) == items


def test_arrays_and_tables_are_iterated_and_never_asked_whether_they_are_true() -> None:
    matrix = np.arange(6).reshape(3, 2)
    assert far_map(lambda row: int(row.sum()), matrix) == [1, 5, 9]
    assert far_map(len, [pd.DataFrame({"a": [1, 2]}), pd.DataFrame()]) == [2, 0]
    results = far_map(lambda a: a + 1, [np.float32(1), np.array(2), np.array([])])
    assert [np.asarray(r).dtype for r in results] == [np.float32, np.int64, np.float64]
    assert [np.asarray(r).shape for r in results] == [(), (), (0,)]
    assert there_and_back(np.array([3, 1])) == [3, 1]


def test_rows_of_a_table_are_items_by_the_tables_own_iterators() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert far_map(lambda row: int(row.a * row.b), table.itertuples()) == [3, 8]
    assert far_map(lambda pair: int(pair[1]["a"] + pair[0]), table.iterrows()) == [1, 3]
    assert far_map(lambda row: row["b"], table.to_dict("records")) == [3, 4]
    assert there_and_back(table) == ["a", "b"]  # as a for loop does
    with write_items(table.itertuples()) as written:
        assert written.size_bytes < 1_000


def test_special_numbers_arrive_as_they_are() -> None:
    nan, *others = far_map(float, ["nan", "inf", "-inf", "-0.0", "1e308", "5e-324"])
    assert math.isnan(nan)
    assert others == [math.inf, -math.inf, 0.0, 1e308, 5e-324]
    assert math.copysign(1, others[2]) == -1


def test_int_keys_and_tuples_stay_what_they_are() -> None:
    assert far_map(lambda d: d[1], [{1: (2, 3)}]) == [(2, 3)]


def test_an_error_of_the_iterator_passes_through_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[Any] = []
    make = items_module.tempfile.SpooledTemporaryFile
    monkeypatch.setattr(
        items_module.tempfile, "SpooledTemporaryFile", lambda **k: files.append(make(**k)) or files[-1]
    )

    def bad() -> Iterator[int]:
        yield 1
        raise RuntimeError("source broke")

    with pytest.raises(RuntimeError, match="source broke"):
        write_items(bad())
    assert files[0].closed


def test_an_endless_iterator_is_stopped_at_the_stated_limit() -> None:
    taken = itertools.count()
    with pytest.raises(PayloadError, match=r"there are more than 1,000 items; a job has at most 1,000"):
        write_items((next(taken) for _ in itertools.count()), limit=1000)
    assert next(taken) == 1001


@pytest.mark.parametrize("count", [MAX_ITEMS + 1, 10**30])
def test_too_many_items_of_known_number_are_refused_at_once(count: int) -> None:
    with pytest.raises(PayloadError, match="at most 1,000,000"):
        write_items(range(count))


def test_exactly_the_limit_is_allowed() -> None:
    with write_items(range(7), limit=7) as written:
        assert written.count == 7


@pytest.mark.parametrize("items", [3, None, len, object()])
def test_what_is_no_iterable_is_refused(items: Any) -> None:
    with pytest.raises(PayloadError, match="items must be an iterable"):
        write_items(items)


def test_an_address_is_not_taken_for_its_characters() -> None:
    with pytest.raises(PayloadError, match=r"bellwren\.lines\('s3://bucket/books/'\)"):
        write_items("s3://bucket/books/")


def test_an_item_that_cannot_be_pickled_is_named_by_index_type_and_place() -> None:
    with pytest.raises(PayloadError) as caught:
        write_items([1, 2, {"a": [threading.Lock()]}])
    text = str(caught.value)
    assert text.startswith("item 2, a dict, cannot be shipped to the workers: ")
    assert "element 0 of key 'a' of item 2 is a lock" in text
    with pytest.raises(PayloadError, match=r"item 0, a generator, .* item 0 is a generator"):
        write_items([(i for i in range(3))])


def test_a_part_of_the_items_is_one_ranged_read() -> None:
    with write_items(range(9000)) as written:
        span = written.index.span(4321, 4330)
        data = written.file.read()[span.start : span.stop]
        frames = list(read_span(data, 9, skip=span.skip))
    assert [decode(frame, "pickle") for frame in frames] == list(range(4321, 4330))
    assert len(data) < 400


def test_many_large_items_are_written_in_the_memory_of_a_few() -> None:
    tracemalloc.start()
    try:
        with write_items(bytes(5_000_000) for _ in range(20)) as written:
            _, peak = tracemalloc.get_traced_memory()
            assert written.size_bytes > 100_000_000
    finally:
        tracemalloc.stop()
    assert peak < 45_000_000


def test_none_items_need_no_bytes() -> None:
    with write_items([None] * 3) as written:
        assert [frame.kind for frame in read_frames(written.file)] == [Kind.NONE] * 3


def test_objects_of_the_main_program_are_items_and_results(program: Program) -> None:
    main = """
        import dataclasses, enum
        from far import far_map
        from bellwren.payload.items import write_items
        class Level(enum.Enum):
            LOW = 1
        @dataclasses.dataclass
        class Point:
            x: int
            level: Level
            def up(self): return Point(self.x + 1, Level.LOW)
        points = [Point(n, Level.LOW) for n in range(500)]
        print(far_map(lambda p: p.up(), points) == [p.up() for p in points])
        print(far_map(lambda f: f(2), [lambda y: y * 3, len([1]).__add__]))
        with write_items(points) as written:
            print(written.size_bytes < 250 * 500)
    """
    assert program({"main.py": main}) == ["True", "[6, 3]", "True"]


def test_objects_of_a_second_file_bring_it_along(program: Program) -> None:
    files = {
        "helper.py": "class P:\n    def __init__(self, x): self.x = x\n    def twice(self): return P(self.x * 2)\n",
        "main.py": """
            import helper
            from far import far_map
            back = far_map(lambda p: p.twice(), [helper.P(2)])
            print(back[0].x, type(back[0]) is helper.P)
        """,
    }
    assert program(files) == ["4 True"]
