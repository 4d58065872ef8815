from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bellwren.records.importing import read_folder
from tests.training import synthetic
from training.floor import floor_scores
from training.protocol import differs, folds
from training.scores import summarise

RUNS = synthetic.runs()


def test_the_target_context_is_never_among_the_general_data() -> None:
    for fold in folds(RUNS, contexts=None, seed=1):
        assert fold.context not in {run.context for run in fold.general}
        assert {run.context for task in fold.tasks for run in task.shown} <= {fold.context}


def test_no_cell_is_both_shown_and_tested() -> None:
    for fold in folds(RUNS, contexts=4, seed=0):
        for task in fold.tasks:
            shown = {run.workers for run in task.shown}
            assert len(shown) == len(task.shown)
            for test in task.tests:
                assert test.runs[0].workers not in shown
                inside = bool(shown) and min(shown) < test.runs[0].workers < max(shown)
                assert (test.kind == "interpolation") == inside


def test_the_same_seed_draws_the_same_tasks_and_another_seed_others() -> None:
    assert folds(RUNS, contexts=3, seed=5) == folds(RUNS, contexts=3, seed=5)
    assert folds(RUNS, contexts=3, seed=5) != folds(RUNS, contexts=3, seed=6)


def test_the_filter_keeps_only_other_sizes_and_other_parameters() -> None:
    for fold in folds(RUNS, contexts=None, seed=0, filtered=True):
        target = next(run for run in RUNS if run.context == fold.context)
        for run in fold.general:
            size, own = float(run.properties["bytes"]), float(target.properties["bytes"])
            assert abs(size - own) >= 0.2 * own
            assert run.properties["rounds"] != target.properties["rounds"]


def test_without_parameters_the_filter_asks_for_another_machine() -> None:
    plain = [replace(run, properties={"bytes": 1e9, "machine_type": "a"}, kinds={}) for run in RUNS[:1]]
    other = replace(plain[0], properties={"bytes": 2e9, "machine_type": "b"})
    same = replace(plain[0], properties={"bytes": 2e9, "machine_type": "a"})
    assert differs(other, plain[0])
    assert not differs(same, plain[0])


def test_the_floor_is_about_the_noise_that_was_put_in() -> None:
    scores = [
        one
        for fold in folds(RUNS, contexts=None, seed=0)
        for task in fold.tasks
        for one in floor_scores(task)
    ]
    assert 0.5 * synthetic.NOISE < summarise(scores)["extrapolation"]["0"]["mre"] / 100 < 2 * synthetic.NOISE


def test_public_records_have_the_contexts_that_they_are_said_to_have(shared_data: Path) -> None:
    runs = read_folder(shared_data / "c3o").executions
    contexts = {
        name: {run.context for run in runs if run.algorithm == name} for name in ("grep", "sort", "sgd")
    }
    assert {name: len(keys) for name, keys in contexts.items()} == {"grep": 27, "sort": 21, "sgd": 30}
