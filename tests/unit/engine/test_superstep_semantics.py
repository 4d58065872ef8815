"""Pregel's semantics: groups of any number, in this process, against the plainest executor there is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bellwren.algorithms.functions import Functions
from bellwren.engine.stage import Output, Stage
from bellwren.engine.supersteps import aggregates, placing
from bellwren.engine.supersteps.board import Board
from bellwren.engine.supersteps.holding import Group, Inbox, Partition
from bellwren.engine.supersteps.objects import Sent, encode
from bellwren.engine.supersteps.program import Worker
from bellwren.engine.supersteps.rules import FirstLook, checkpoint_due, pause_s, verdict
from bellwren.engine.supersteps.worker import Heard
from bellwren.payload.results import dumps_result
from tests.engine.iterative import reference


def run_in_groups(
    step: Any, states: list[Any], limit: int, groups: int, combine: Any = None
) -> tuple[list[Any], int]:
    count = len(states)
    stage = Stage(
        name="supersteps",
        operation="supersteps",
        tasks=groups,
        functions={},
        input={"kind": "items"},
        output=Output("b", "p/", "pickle"),
        supersteps={"partitions": count},
    )
    members = [placing.members(number, groups, count) for number in range(groups)]
    held = [Group(n, [Partition(states[i]) for i in members[n]], "job", stage) for n in range(groups)]
    sections: list[dict[int, bytes]] = [{} for _ in held]
    partials: list[bytes] = []
    for superstep in range(limit):
        sent = [
            group.step(
                superstep,
                Inbox(one.get(number, b"") for one in sections),
                partials,
                Functions(step=step, combine=combine),
                lambda _: None,
            )
            for number, group in enumerate(held)
        ]
        headers = [
            {"failures": one.failures, "active": group.active, "sent": one.messages}
            for one, group in zip(sent, held, strict=True)
        ]
        sections = [{to: dumps_result(rows) for to, rows in one.sections.items()} for one in sent]
        partials = [dumps_result(one.partials) for one in sent]
        found = verdict(headers, superstep, limit)
        assert found != "failed", headers
        if found != "go":
            return [one.state for group in held for one in group._partitions], superstep + 1
    return [one.state for group in held for one in group._partitions], limit


@st.composite
def programs(draw: Any) -> tuple[int, dict[tuple[int, int], tuple[list[int], bool]]]:
    """How many partitions, and for some (superstep, partition) to whom it sends and whether it votes to halt."""
    count = draw(st.integers(1, 6))
    places = st.tuples(st.integers(0, 5), st.integers(0, count - 1))
    actions = st.tuples(st.lists(st.integers(0, count - 1), max_size=4), st.booleans())
    return count, draw(st.dictionaries(places, actions, max_size=25))


@settings(max_examples=60)
@given(programs(), st.integers(1, 6), st.booleans())
def test_any_number_of_groups_sees_what_the_plain_executor_sees(
    program: tuple[int, dict[tuple[int, int], tuple[list[int], bool]]], groups: int, combined: bool
) -> None:
    count, script = program

    def step(worker: Worker) -> None:
        worker.state = [*worker.state, (worker.superstep, worker.messages, dict(worker.aggregated))]
        to, halts = script.get((worker.superstep, worker.partition), ([], True))
        for number, target in enumerate(to):
            worker.send(target, (worker.partition, number))
        worker.aggregate("called", [worker.partition], "sum")
        worker.aggregate("parts", 0.1 * worker.partition)
        if halts:
            worker.vote_to_halt()

    combine = (lambda to, messages: list(messages)) if combined else None
    expected = reference(step, [[] for _ in range(count)], 8, combine)
    assert run_in_groups(step, [[] for _ in range(count)], 8, min(groups, count), combine) == expected


@given(st.integers(1, 300), st.data())
def test_every_partition_lies_in_one_group_and_is_found_there(partitions: int, data: Any) -> None:
    groups = data.draw(st.integers(1, partitions))
    runs = [placing.members(group, groups, partitions) for group in range(groups)]
    assert [one for run in runs for one in run] == list(range(partitions))
    assert all(
        placing.group_of(one, groups, partitions) == group for group, run in enumerate(runs) for one in run
    )
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


def test_a_superstep_with_a_failure_ends_the_job_before_anything_else() -> None:
    quiet = {"failures": [], "active": 0, "sent": 0}
    assert verdict([quiet, {**quiet, "failures": [{}]}], 0, 1) == "failed"
    assert verdict([quiet, quiet], 0, 1) == "halted"
    assert verdict([quiet, {**quiet, "sent": 1}], 0, 1) == "max_supersteps"
    assert verdict([quiet, {**quiet, "active": 1}], 0, 2) == "go"


def test_checkpoints_take_a_tenth_of_the_time() -> None:
    assert not checkpoint_due(0.9, None)
    assert checkpoint_due(1.0, None)
    assert not checkpoint_due(19.0, 2.0)
    assert checkpoint_due(20.0, 2.0)


@given(st.floats(0, 1e6))
def test_a_barrier_is_looked_at_again_soon_but_not_all_the_time(waited_s: float) -> None:
    assert 0.002 <= pause_s(waited_s) <= 0.25


def looks_in_vain(first_look: FirstLook, waits_s: list[float]) -> list[bool]:
    """What became of the first look at each of some barriers, of which each took so long."""
    found = []
    for wait_s in waits_s:
        found.append(first_look.after_s < wait_s)
        first_look.learn(in_vain=found[-1])
    return found


def test_first_looks_at_barriers_come_when_the_last_ones_were_complete() -> None:
    first_look = FirstLook()
    assert first_look.after_s == 0
    looks_in_vain(first_look, [0.02] * 30)
    assert first_look.after_s == pytest.approx(0.02, rel=0.25)
    assert sum(looks_in_vain(first_look, [0.02] * 90)) < 35, "most come in time"


def test_one_slow_barrier_hardly_delays_the_next_first_look() -> None:
    first_look = FirstLook()
    looks_in_vain(first_look, [0.02] * 40 + [5.0])
    assert first_look.after_s < 0.03


def test_first_looks_follow_barriers_that_have_become_fast_within_a_few_supersteps() -> None:
    first_look = FirstLook()
    looks_in_vain(first_look, [60.0] * 100)
    assert first_look.after_s == 0.25, "no longer than the longest pause"
    looks_in_vain(first_look, [0.01] * 10)
    assert first_look.after_s < 0.02


def test_an_aggregate_has_one_way_of_merging() -> None:
    partial: aggregates.Partial = {}
    aggregates.add(partial, "x", 1, "sum")
    with pytest.raises(ValueError, match="merged by 'sum' and by 'max'"):
        aggregates.add(partial, "x", 1, "max")
    with pytest.raises(ValueError, match="must be one of sum, min"):
        aggregates.add(partial, "y", 1, "mean")


def test_numbers_that_json_does_not_have_are_shown_as_text() -> None:
    shown = aggregates.shown({"a": 1, "b": float("inf"), "c": True, "d": [1], "e": None})
    assert shown == {"a": 1, "b": "inf", "c": True, "d": "[1]", "e": None}


def test_an_object_gives_each_group_its_own_messages() -> None:
    answer = {"active": 1, "sent": 2, "failures": [], "to": [0, 3], "sizes": [2, 3], "partials": 1}
    sent = Sent(encode({**answer, "aggregated": {}, "compute_s": 0.0}, memoryview(b"aabbbp")))
    assert [_now(sent.section(group)) for group in range(4)] == [b"aa", b"", b"", b"bbb"]
    assert _now(sent.partials()) == b"p"


def _now(coroutine: Any) -> Any:
    """The value of a coroutine that has nothing to wait for."""
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    return stopped.value.value


def test_a_worker_that_never_comes_or_falls_silent_is_missed_after_the_patience() -> None:
    heard = Heard(workers=2, patience_s=10)
    assert heard.look({"a": "1"}, 0.0) == 1
    assert not heard.overdue(9.0)
    assert heard.overdue(10.0)
    assert heard.look({"a": "2", "b": "1"}, 11.0) == 2
    assert not heard.overdue(12.0)
    assert heard.look({"a": "3", "b": "1"}, 21.0) == 1
    assert heard.overdue(21.0)


def test_a_board_knows_what_lies_in_storage_from_what_will_come_from_here() -> None:
    board = Board(None, "j", 2, gathers=True)  # type: ignore[arg-type]
    board._news = _Silent()  # type: ignore[assignment]
    board.expect(1, 5)
    assert board._expected(4) == set()
    assert board._expected(5) == {1}


class _Silent:
    def set(self) -> None:
        """Nobody waits here."""
