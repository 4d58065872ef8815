from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.forecasting.choose import Candidate, affordable, choose, meets


def candidate(workers: int, high_s: float, usd: float, *, far: bool = False) -> Candidate:
    return Candidate(workers, 1769, high_s * 0.8, high_s, usd, usd * 1.2, extrapolated=far)


SLOW, MIDDLE, FAST = candidate(1, 100, 0.01), candidate(4, 40, 0.02), candidate(16, 20, 0.08)
ALL = [FAST, SLOW, MIDDLE]


def test_without_limits_the_cheapest_is_taken_or_the_fastest_where_time_is_the_objective() -> None:
    assert choose(ALL).candidate == SLOW
    assert choose(ALL, objective="time").candidate == FAST


def test_the_deadline_is_held_against_the_95_per_cent_quantile_not_the_median() -> None:
    just_missed = choose(ALL, deadline_s=35)
    assert MIDDLE.runtime_s < 35 < MIDDLE.runtime_p95_s
    assert just_missed.candidate == FAST
    assert choose(ALL, deadline_s=40).candidate == MIDDLE


def test_if_none_keeps_the_deadline_the_fastest_is_taken_and_the_reason_says_so() -> None:
    choice = choose(ALL, deadline_s=5)
    assert choice.candidate == FAST
    assert not choice.meets_deadline
    assert "no candidate keeps the deadline of 5 s" in choice.reason


def test_a_budget_that_is_too_small_for_all_still_leaves_a_choice() -> None:
    choice = choose(ALL, budget_usd=0.001)
    assert choice.candidate == FAST
    assert not choice.meets_budget


def test_the_fastest_within_the_budget_goes_before_the_fastest() -> None:
    choice = choose(ALL, deadline_s=5, budget_usd=0.03)
    assert choice.candidate == MIDDLE
    assert "within the budget" in choice.reason


def test_what_lies_beyond_the_measured_is_taken_only_if_nothing_measured_will_do() -> None:
    far = candidate(64, 8, 0.001, far=True)
    assert choose([*ALL, far]).candidate == SLOW
    wide = choose([*ALL, far], deadline_s=10)
    assert wide.candidate == far
    assert "beyond what has been measured" in wide.reason


def test_no_candidates_are_refused() -> None:
    with pytest.raises(ValueError, match="no candidate"):
        choose([])


numbers = st.floats(0.01, 1e4)
candidates = st.builds(candidate, st.integers(1, 100), numbers, numbers)


@given(st.lists(candidates, min_size=1), st.none() | numbers, st.none() | numbers)
def test_the_choice_is_never_beaten_by_a_candidate_that_keeps_both_limits(
    offered: list[Candidate], deadline_s: float | None, budget_usd: float | None
) -> None:
    choice = choose(offered, deadline_s=deadline_s, budget_usd=budget_usd)
    good = [one for one in offered if meets(one, deadline_s) and affordable(one, budget_usd)]
    assert (choice.meets_deadline and choice.meets_budget) == bool(good)
    if good:
        assert choice.candidate.cost_usd == min(one.cost_usd for one in good)
    assert choice.reason.count("\n") == 0
