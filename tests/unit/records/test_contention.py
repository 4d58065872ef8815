from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bellwren.records.contention import Life, contended, queue_s, reinvocations


def lives(*spans: tuple[float, float], round_: int = 0) -> list[Life]:
    return [Life(round_, worker, start, end) for worker, (start, end) in enumerate(spans)]


def test_workers_that_ran_side_by_side_waited_for_nobody() -> None:
    assert not contended(lives((0, 60), (3, 60), (5, 61)))


def test_a_worker_that_began_when_another_had_ended_waited_for_its_place() -> None:
    assert contended(lives((0, 30), (0, 30), (31, 60)))


def test_a_wait_of_a_moment_is_none() -> None:
    assert not contended(lives((0, 0.1), (0.5, 60)))
    assert not contended(lives((0, 100), (0, 5), (6, 100)))


def test_rounds_follow_each_other_and_are_no_wait() -> None:
    both = lives((0, 900), (1, 900)) + lives((902, 1000), (903, 1000), round_=1)
    assert not contended(both)
    assert queue_s(both) == 2


def test_a_repeated_invocation_is_counted_and_is_no_late_start() -> None:
    again = [*lives((0, 10), (1, 60)), Life(0, 0, 12, 60)]
    assert reinvocations(again) == 1
    assert not contended(again)
    assert queue_s(again) == 1


@given(st.lists(st.tuples(st.floats(0, 900), st.floats(0, 900)), max_size=8))
def test_one_worker_alone_and_a_shift_in_time_change_nothing(spans: list[tuple[float, float]]) -> None:
    ordered = [(min(pair), max(pair)) for pair in spans]
    shifted = [(start + 1024, end + 1024) for start, end in ordered]
    assert not contended(lives(*ordered[:1]))
    assert abs(queue_s(lives(*ordered)) - queue_s(lives(*shifted))) < 1e-6
