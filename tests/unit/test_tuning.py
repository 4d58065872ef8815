"""Tuning: what runs on a sample say of the whole job, on laws that are known."""

from __future__ import annotations

import itertools
import json
import random
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren import spec
from bellwren.errors import SpecError
from bellwren.tuning import fit, run
from bellwren.tuning.fit import Run
from bellwren.tuning.sample import Sample, sampled

SIZES = (512, 1769)
COUNTS = (1, 2, 4)
DOCUMENT = {"bellwren": 1, "algorithm": "wordcount", "items": [f"word {n}" for n in range(1000)]}


def law(workers: int, memory_mb: int, share: float = 1.0) -> float:
    """A fixed second, and work that more memory does faster, up to one processor."""
    return 1.0 + 100 * share / workers * (1769 / memory_mb)


def job(**more: Any) -> spec.JobSpec:
    return spec.from_dict({**DOCUMENT, **more})


class Lab:
    """A cloud whose jobs take what the law says, with noise; those of some sizes fail."""

    def __init__(self, failing: int | None = None, noise: float = 0.02) -> None:
        self.deployment = SimpleNamespace(
            worker_functions=dict.fromkeys(SIZES, ""), max_workers=1000, data_bucket="data"
        )
        self.documents: list[dict[str, Any]] = []
        self._failing, self._noise, self._random = failing, noise, random.Random(1)

    def submit(self, document: dict[str, Any], *, progress: bool) -> Any:
        self.documents.append(document)
        workers, memory_mb = document["workers"], document["memory_mb"]
        share = len(document["items"]) / len(DOCUMENT["items"])
        failed = memory_mb == self._failing
        error = {"type": "MemoryError", "message": "too little"} if failed else None
        record = {
            "runtime_s": law(workers, memory_mb, share) * self._random.lognormvariate(0, self._noise),
            "cost_usd": 0.001,
            "cold_starts": 0,
            "contended": False,
        }
        status = {"status": "FAILED" if failed else "SUCCEEDED", "error": error}
        return SimpleNamespace(wait=lambda: True, status=lambda: status, record=record, cost_usd=0.001)


def tuned(lab: Lab, **how: Any) -> Any:
    return run.tune(lab, job(), workers=COUNTS, sample=0.1, **how)  # type: ignore[arg-type]


def test_the_whole_job_is_told_from_a_tenth_of_its_input() -> None:
    found = tuned(Lab(), repeats=3)
    assert found["sample"] == 0.1
    for row in found["forecasts"]:
        expected = law(row["workers"], row["memory_mb"])
        low, high = row["runtime_range_s"]
        assert low * 0.95 <= expected <= high * 1.05, row
        if not row["extrapolated"]:
            assert row["runtime_s"] == pytest.approx(expected, rel=0.15), row
    assert {row["workers"] for row in found["forecasts"] if row["extrapolated"]} == {8, 16}


def test_the_best_size_of_a_known_law_is_found() -> None:
    choices = tuned(Lab(), repeats=3)["choices"]
    every = list(itertools.product((1, 2, 4, 8, 16), SIZES))
    fastest = min(every, key=lambda one: law(*one))
    assert (choices["time"]["workers"], choices["time"]["memory_mb"]) == fastest
    assert choices["cost"]["workers"] == 1
    assert choices["cost"]["workers"] < choices["balanced"]["workers"] < choices["time"]["workers"]
    assert choices["cost"]["cost_usd"] <= choices["balanced"]["cost_usd"] <= choices["time"]["cost_usd"]


def test_each_choice_says_how_sure_it_is() -> None:
    calm, noisy = tuned(Lab(noise=0.01), repeats=3), tuned(Lab(noise=0.5), repeats=3)
    for found in (calm, noisy):
        assert all(0 <= one["confidence"] <= 1 for one in found["choices"].values())
    assert calm["choices"]["time"]["confidence"] > noisy["choices"]["time"]["confidence"]
    width = [
        sum(high / low for low, high in (row["runtime_range_s"] for row in one["forecasts"]))
        for one in (calm, noisy)
    ]
    assert width[0] < width[1]


def test_a_size_that_fails_is_left_out_and_told() -> None:
    lab = Lab(failing=512)
    found = tuned(lab)
    assert {row["memory_mb"] for row in found["forecasts"]} == {1769}
    assert [one["memory_mb"] for one in found["failed"]] == [512] * len(COUNTS)
    assert found["failed"][0]["error"] == "MemoryError: too little"
    assert sum(one["memory_mb"] == 512 for one in lab.documents) == len(COUNTS)  # not tried again
    assert found["spent_usd"] == pytest.approx(0.001 * len(lab.documents))
    assert "MemoryError" in found.table()


def test_if_all_fail_it_says_what_and_why() -> None:
    lab = Lab(failing=512)
    with pytest.raises(run.NothingRan, match="MemoryError: too little"):
        tuned(lab, memory_mb=[512])


def test_a_document_that_is_refused_is_a_size_that_failed() -> None:
    lab = Lab()
    submit = lab.submit

    def picky(document: dict[str, Any], *, progress: bool) -> Any:
        if document["memory_mb"] == 512:
            raise SpecError([])
        return submit(document, progress=progress)

    lab.submit = picky  # type: ignore[method-assign]
    assert len(tuned(lab)["failed"]) == len(COUNTS)


def test_limits_rule_out_what_may_not_keep_them() -> None:
    lab = Lab()
    free = run.tune(lab, job(), workers=COUNTS, sample=0.1)  # type: ignore[arg-type]
    assert free["limits"] == {"deadline_s": None, "budget_usd": None, "kept": True}
    found = run.tune(lab, job(deadline_s=60), workers=COUNTS, sample=0.1)  # type: ignore[arg-type]
    assert free["choices"]["cost"]["runtime_s"] > 60 >= found["choices"]["cost"]["runtime_range_s"][1]
    budget = free["choices"]["cost"]["cost_range_usd"][1] * 1.01
    found = run.tune(lab, job(budget_usd=budget), workers=COUNTS, sample=0.1)  # type: ignore[arg-type]
    assert (
        free["choices"]["time"]["cost_range_usd"][1] > budget >= found["choices"]["time"]["cost_range_usd"][1]
    )
    assert found["limits"] == {"deadline_s": None, "budget_usd": budget, "kept": True}


def test_limits_that_no_size_keeps_are_told() -> None:
    found = run.tune(Lab(), job(deadline_s=0.1, budget_usd=5), workers=COUNTS, sample=0.1)  # type: ignore[arg-type]
    assert found["limits"]["kept"] is False
    assert found["choices"]["cost"]["workers"] == 1
    assert "no size keeps the deadline of 0.1 s and the budget of $5 for certain" in found.table()


def test_an_interrupted_tuning_cancels_what_runs() -> None:
    lab, ended, cancelled = Lab(), threading.Event(), []

    def endless(document: dict[str, Any], *, progress: bool) -> Any:
        lab.documents.append(document)

        def cancel() -> None:
            cancelled.append(document)
            ended.set()

        stopped = {"status": "CANCELLED"}
        return SimpleNamespace(
            wait=lambda: ended.wait(10), cancel=cancel, status=lambda: stopped, record=None, cost_usd=None
        )

    def first_ends(document: dict[str, Any], *, progress: bool) -> Any:
        lab.submit = endless  # type: ignore[method-assign]
        return SimpleNamespace(**{**vars(Lab().submit(document, progress=False)), "cancel": lambda: None})

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    lab.submit = first_ends  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        tuned(lab, at_once=2, progress=interrupted)
    assert 0 < len(lab.documents) <= 2  # those that had begun
    assert lab.documents == cancelled or set(map(str, lab.documents)) == set(map(str, cancelled))


def test_each_run_that_ends_is_told() -> None:
    told: list[str] = []
    tuned(Lab(failing=512), progress=told.append)
    assert told[0] == "round 1 of 2: 1 of 6 sizes have run"
    assert told[-1] == "round 2 of 2: 3 of 3 sizes have run"


def test_the_balance_goes_from_time_alone_to_cost_alone() -> None:
    runs = [Run(w, m, law(w, m), 0.001) for w, m in itertools.product(COUNTS, SIZES)]
    curves = fit.fitted(runs, 1.0, (1, 2, 4, 8))
    ends = fit.choices(curves, 0.0)
    assert ends["balanced"][0] == ends["time"][0]
    ends = fit.choices(curves, 1.0)
    assert ends["balanced"][0] == ends["cost"][0]


@pytest.mark.parametrize(
    ("how", "field"), [({"memory_mb": [9999]}, "memory_mb"), ({"workers": [2, 2]}, "workers")]
)
def test_sizes_that_there_are_not_and_a_lone_scale_out_are_refused(how: dict[str, Any], field: str) -> None:
    lab = Lab()
    with pytest.raises(SpecError, match=field):
        run.tune(lab, job(), **how)  # type: ignore[arg-type]
    assert lab.documents == []


def test_disturbed_runs_count_only_where_there_are_no_others() -> None:
    calm, cold, alone = Run(1, 512, 1.0, 0.1), Run(1, 512, 9.0, 0.1, True), Run(2, 512, 5.0, 0.1, True)
    assert fit.usable([calm, cold, alone]) == [calm, alone]


def test_one_scale_out_tells_nothing_of_others() -> None:
    with pytest.raises(ValueError, match="two scale-outs"):
        fit.fitted([Run(1, 512, 1.0, 0.1), Run(1, 1769, 1.0, 0.1)], 1.0, (1, 2))


def test_items_are_sampled_evenly_and_nothing_decides_but_what_is_tuned() -> None:
    given = job(
        workers=3,
        memory_mb=512,
        deadline_s=9,
        budget_usd=1,
        output={"uri": "s3://mine/out/", "format": "jsonl"},
    )
    taken = sampled(given, SimpleNamespace(), 0.01)  # type: ignore[arg-type]
    assert taken.document["items"] == [f"word {n}" for n in range(0, 1000, 100)]
    assert taken.share == 0.01
    assert not {"workers", "memory_mb", "deadline_s", "budget_usd"} & set(taken.document)
    assert "uri" not in taken.document["output"]
    assert spec.from_dict({**taken.document, "workers": 1})
    assert len(sampled(given, SimpleNamespace(), None).document["items"]) == 200  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0, -1, 1.5])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(SpecError, match="sample"):
        sampled(job(), SimpleNamespace(), share)  # type: ignore[arg-type]


def test_an_input_that_cannot_be_sampled_runs_whole_or_is_refused() -> None:
    document = {
        "bellwren": 1,
        "algorithm": "kmeans",
        "input": {"csv": "s3://bucket/points.csv"},
        "params": {"k": 2},
    }
    given = spec.from_dict(document)
    assert sampled(given, SimpleNamespace(), None) == Sample(
        sampled(given, SimpleNamespace(), 1.0).document, 1.0
    )  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="only items in the document and lines"):
        sampled(given, SimpleNamespace(), 0.5)  # type: ignore[arg-type]


def test_the_answer_is_data_a_table_and_a_plot(tmp_path: Path) -> None:
    found = tuned(Lab())
    assert json.loads(json.dumps(found)) == found
    assert "balanced" in found.table()
    assert set(found.options("cost")) == {"workers", "memory_mb"}
    assert found.plot(tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
