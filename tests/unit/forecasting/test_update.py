from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.forecasting.update import NORMAL, Calibration, Prior, condition, lognormal, predict


def prior(offset: float = 0.04, noise: float = 4e-4, runs: int = 3) -> Prior:
    """A context whose log-runtime is off by one common unknown."""
    return Prior(
        np.zeros(2), np.full(2, offset), np.full(2, noise), np.zeros(runs), np.full(runs, noise),
        np.full((2, runs), offset), np.full((runs, runs), offset),
    )  # fmt: skip


def test_without_runs_the_prior_stands() -> None:
    mean, variance = condition(prior(runs=0), np.zeros(0))
    assert mean.tolist() == [0.0, 0.0]
    assert variance.tolist() == [0.04, 0.04]


def test_runs_that_agree_move_the_mean_to_them_and_narrow_it() -> None:
    mean, variance = condition(prior(), np.exp([0.3, 0.3, 0.3]))
    assert mean == pytest.approx(0.3, abs=0.01)
    assert np.all(variance < 4e-4)


def test_one_run_that_disagrees_counts_for_little() -> None:
    agreeing, _ = condition(prior(runs=4), np.exp([0.3, 0.3, 0.3, 0.3]))
    disturbed, _ = condition(prior(runs=4), np.exp([0.3, 0.3, 0.3, 1.5]))
    plain_average = (0.3 * 3 + 1.5) / 4
    assert abs(disturbed[0] - agreeing[0]) < 0.1 * (plain_average - 0.3)


def test_a_context_far_from_what_was_expected_is_believed_and_not_its_run_doubted() -> None:
    sure = prior(offset=0.01, noise=1e-3, runs=1)
    mean, variance = condition(sure, np.exp([0.5]))  # five standard deviations off
    assert mean == pytest.approx(0.5, rel=0.1)
    assert np.all(variance > condition(sure, np.exp([0.05]))[1])


def steep(runs: int) -> Prior:
    """Candidates on 2, 4 and 8 workers, of which the first run was on 2; contexts differ by some 10 %."""
    mean, noise, offset = np.log([100.0, 50.0, 25.0]), 1e-4, 0.01
    return Prior(
        mean, np.full(3, offset), np.full(3, noise), mean[:runs], np.full(runs, noise),
        np.full((3, runs), offset), np.full((runs, runs), offset),
    )  # fmt: skip


def test_the_heaviest_run_far_above_what_was_expected_is_a_cliff_and_leaves_lighter_candidates_alone() -> (
    None
):
    mean, variance = condition(steep(1), np.array([500.0]))
    assert np.exp(mean[0]) == pytest.approx(500, rel=0.1)
    assert np.exp(mean[1:]) == pytest.approx([50, 25], rel=0.2)
    assert np.all(variance[1:] > steep(1).variance[1:]), "either explanation may be the true one"


def test_two_runs_that_say_the_same_are_no_cliff() -> None:
    mean, _ = condition(steep(2), np.array([300.0, 150.0]))
    assert np.exp(mean) == pytest.approx([300, 150, 75], rel=0.1)


def test_a_lighter_run_that_was_as_expected_says_that_the_heaviest_is_beyond_a_cliff() -> None:
    mean, _ = condition(steep(2), np.array([500.0, 50.0]))
    assert np.exp(mean[1:]) == pytest.approx([50, 25], rel=0.05)


def test_a_run_faster_than_expected_is_believed_of_all() -> None:
    mean, _ = condition(steep(1), np.array([50.0]))
    assert np.exp(mean) == pytest.approx([50, 25, 12.5], rel=0.1)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(1e-6, 1), st.floats(1e-6, 0.1))
def test_the_mean_stays_among_the_runs_and_doubt_stays_finite_whatever_they_are(
    logs: list[float], offset: float, noise: float
) -> None:
    mean, variance = condition(prior(offset, noise, len(logs)), np.exp(logs))
    assert np.all(mean >= min([0.0, *logs]) - 1e-6)
    assert np.all(mean <= max([0.0, *logs]) + 1e-6)
    assert np.all(variance >= 0)
    assert np.all(variance <= max(offset, max(abs(log) for log in logs) ** 2) * (1 + 1e-9))


@given(st.floats(1e-6, 1), st.floats(1e-6, 0.1), st.integers(1, 6))
def test_runs_that_were_expected_leave_less_doubt(offset: float, noise: float, count: int) -> None:
    _, variance = condition(prior(offset, noise, count), np.ones(count))
    assert np.all(variance <= offset * (1 + 1e-9))


def test_the_point_forecast_has_the_least_expected_relative_error() -> None:
    rng = np.random.default_rng(0)
    said = lognormal(np.array([2.0]), np.array([0.5]))
    runtimes = np.exp(2.0 + 0.5 * rng.normal(size=200_000))
    errors = {
        p: float(np.mean(np.abs(p - runtimes) / runtimes))
        for p in said.point_s[0] * np.array([0.9, 1.0, 1.1])
    }
    assert min(errors, key=lambda p: errors[p]) == said.point_s[0]


def test_where_the_doubt_is_small_the_point_is_the_median() -> None:
    said = lognormal(np.array([3.0]), np.array([0.03]))
    assert said.point_s[0] == pytest.approx(said.median_s[0], rel=1e-3)


def test_no_answer_is_negative_infinite_or_nothing() -> None:
    said = lognormal(np.array([-1e6, 1e6]), np.array([1e3, 1e3]))
    for part in vars(said).values():
        assert np.all(np.isfinite(part))
        assert np.all(part >= 0)
    with pytest.raises(ValueError, match="not finite"):
        lognormal(np.array([np.nan]), np.array([1.0]))


def test_calibration_by_the_number_of_runs_holds_for_all_further_ones() -> None:
    calibration = Calibration((-2.0, -1.5), (3.0, 1.2))
    assert calibration.at(0) == (-2.0, 3.0)
    assert calibration.at(9) == (-1.5, 1.2)
    assert Calibration.from_dict(calibration.as_dict()) == calibration
    assert Calibration().at(4) == NORMAL


def test_a_wider_calibration_widens_the_band() -> None:
    narrow, wide = (predict(prior(runs=0), np.zeros(0), Calibration((-1.0,), (high,))) for high in (1.6, 2.4))
    assert np.all(wide.high_s > narrow.high_s)
