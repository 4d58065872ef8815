from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.forecasting import scaleout
from bellwren.forecasting.answer import Question, answer
from bellwren.forecasting.fallback import Sample, Work, analytic
from bellwren.forecasting.features import Choices

QUESTION = Question("wordcount", {"bytes": 4e9, "tasks": 40.0}, max_workers=64, memory_sizes_mb=[1769, 3538])


def cost(workers: int, memory_mb: int, runtime_s: float) -> float:
    return workers * memory_mb / 1024 * runtime_s * 1.3e-5


def test_without_a_model_the_stated_default_answers_and_says_so() -> None:
    said = answer(QUESTION, cost)
    assert said["model"] is None
    assert said["source"] == "stated default"
    assert "no model of 'wordcount'" in said["reason"]
    assert {row["workers"] for row in said["forecasts"]} <= set(range(1, 41))
    assert json.loads(json.dumps(said, allow_nan=False)) == said


def test_the_answer_has_the_agreed_fields() -> None:
    said = answer(QUESTION, cost)
    row = {"workers", "memory_mb", "runtime_s", "runtime_p95_s", "cost_usd", "meets_deadline"}
    assert all(row <= set(one) for one in said["forecasts"])
    assert row <= set(said["choice"])


def test_a_measured_sample_goes_before_the_default() -> None:
    said = answer(replace(QUESTION, sample=Sample(seconds=2.0, share=0.01)), cost)
    assert said["source"] == "analytic prior"
    alone = next(row for row in said["forecasts"] if (row["workers"], row["memory_mb"]) == (1, 1769))
    assert 100 < alone["runtime_s"] < 300


def test_a_deadline_takes_more_workers_than_none() -> None:
    free, hurried = answer(QUESTION, cost), answer(replace(QUESTION, deadline_s=120.0), cost)
    assert hurried["choice"]["workers"] > free["choice"]["workers"]
    assert hurried["choice"]["meets_deadline"]


def test_what_the_user_fixed_is_kept() -> None:
    said = answer(replace(QUESTION, workers=7, memory_mb=2048), cost)
    assert [(row["workers"], row["memory_mb"]) for row in said["forecasts"]] == [(7, 2048)]


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="says nothing"):
        analytic(Work(1e9, None, 10), Choices.grid([(1, 1769)]), Sample(0.0, 0.5))


def test_the_size_of_items_says_nothing_of_the_work_that_they_are() -> None:
    one = Choices.grid([(1, 1769)])
    by_number = analytic(Work(None, 60.0, 60), one)
    assert analytic(Work(412.0, 60.0, 60), one).median_s == by_number.median_s
    assert by_number.median_s[0] > 60


def test_more_workers_than_tasks_gain_nothing() -> None:
    said = analytic(Work(1e9, None, 4), Choices.grid([(4, 1769), (64, 1769)]))
    assert said.median_s[1] >= said.median_s[0]


@given(st.lists(st.tuples(st.integers(1, 100), st.floats(0.1, 1e4)), min_size=1, max_size=8))
def test_an_ernest_curve_is_never_negative_and_as_good_as_scipys(points: list[tuple[int, float]]) -> None:
    from scipy.optimize import nnls

    workers, runtimes = np.array([float(x) for x, _ in points]), np.array([t for _, t in points])
    weights = scaleout.fit(workers, runtimes)
    assert np.all(weights >= 0)
    design = scaleout.terms(workers)
    best = nnls(design, runtimes)[1]
    assert np.linalg.norm(design @ weights - runtimes) <= best * (1 + 1e-5) + 1e-6
    assert np.all(scaleout.curve(weights, np.array([1.0, 1000.0])) > 0)
