"""Every task meets the function as it was shipped: A10, and the state that closures and defaults hide."""

from __future__ import annotations

import datetime
import functools
import operator
import re
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from far import far_map

from bellwren.payload import fresh, unpack
from bellwren.payload.fresh import SMALL_BYTES, is_stateful
from bellwren.payload.pack import pack


class Seen:
    def __init__(self, ballast: int = 0) -> None:
        self.seen: list[int] = []
        self.ballast = [0] * ballast

    def __call__(self, x: int) -> list[int]:
        self.seen.append(x)
        return list(self.seen)


ONE_EACH = [[n] for n in range(6)]


def test_a_callable_object_is_a_fresh_copy_for_each_task() -> None:
    assert far_map(Seen(), range(6)) == ONE_EACH
    assert far_map(Seen().__call__, range(6)) == ONE_EACH
    assert far_map(functools.partial(Seen.__call__, Seen()), range(6)) == ONE_EACH


def test_a_large_callable_object_that_changes_is_found_out_after_its_first_task() -> None:
    large = Seen(ballast=SMALL_BYTES)
    assert len(pack(large).data) > SMALL_BYTES
    assert far_map(large, range(6)) == ONE_EACH


def test_closures_and_defaults_do_not_carry_from_task_to_task() -> None:
    kept: list[int] = []
    count = 0

    def append(x: int) -> list[int]:
        kept.append(x)
        return list(kept)

    def default(x: int, seen: list[int] = []) -> list[int]:  # noqa: B006 - what users write
        seen.append(x)
        return list(seen)

    def counter(x: int) -> list[int]:
        nonlocal count
        count += 1
        return [x] * count

    def inner(x: int) -> list[int]:
        return append(x)

    for fn in (append, default, counter, inner):
        assert far_map(fn, range(6)) == ONE_EACH, fn


def test_globals_stay_with_the_runner_and_serve_as_a_cache(tmp_path: Any) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    text = "model = None\ndef f(x):\n    global model\n    model = model or [x]\n    return model[0]\n"
    exec(text, namespace)
    assert far_map(namespace["f"], [1, 2, 3]) == [1, 1, 1]


def holding(value: Any) -> Callable[[Any], Any]:
    return lambda x: (value, x)


@pytest.mark.parametrize(
    "fn",
    [
        len,
        str.upper,
        int,
        lambda x: x,
        lambda x, y=1, *, z=("a", frozenset({2})): (x, y, z),
        functools.partial(pow, 2),
        "abc".split,
        functools.lru_cache(len),
        holding((re.compile("a"), re.compile("b").findall)),
        holding(
            (datetime.date(2024, 1, 2), datetime.timedelta(3), Decimal(4), Fraction(5, 6), uuid.UUID(int=7))
        ),
        holding(operator.itemgetter(1)),
    ],
)
def test_what_holds_nothing_changeable_is_loaded_once(fn: Callable[[Any], Any]) -> None:
    assert not is_stateful(fn)
    payload = pack(fn)
    function = unpack.load(payload.data, sha256=payload.sha256)
    assert function.for_task() is function.for_task()


@pytest.mark.parametrize(
    "fn",
    [
        Seen(),
        [].append,
        functools.partial(print, []),
        functools.partial(print, end=np.arange(3)),
        holding({}),
        holding(([],)),
        holding(holding([])),
        holding([re.compile("a")]),
    ],
)
def test_what_holds_something_changeable_is_loaded_for_each_task(fn: Callable[[Any], Any]) -> None:
    assert is_stateful(fn)
    payload = pack(fn)
    function = unpack.load(payload.data, sha256=payload.sha256)
    first = function.for_task()
    assert function.for_task() is not first


def test_a_function_that_refers_to_itself_is_told_apart_from_one_that_holds_state() -> None:
    def fact(n: int) -> int:
        return 1 if n < 2 else n * fact(n - 1)

    assert not is_stateful(fact)


def test_a_large_constant_function_is_compared_at_powers_of_two_and_stays_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {n: str(n) for n in range(120_000)}
    payload = pack(lambda x: table[x])
    assert len(payload.data) > SMALL_BYTES
    digests: list[bytes] = []
    digest = fresh._digest
    monkeypatch.setattr(fresh, "_digest", lambda fn: digests.append(digest(fn)) or digests[-1])
    function = unpack.load(payload.data, sha256=payload.sha256)
    first = function.for_task()
    for number in range(20):
        task = function.for_task()
        assert task is first
        assert task(number) == str(number)
    assert len(digests) == 6  # as shipped, and before tasks 1, 2, 4, 8 and 16
