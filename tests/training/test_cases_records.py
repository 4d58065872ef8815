"""Faults that users of comparable systems reported of runtime models and their records: group I of the case list."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bellwren.forecasting.features import Choices
from bellwren.forecasting.model import RuntimeModel
from bellwren.records.execution import Execution
from bellwren.records.importing import read_folder, read_table
from bellwren.records.labels import BadRecord, Label, NotALabel, parse
from bellwren.records.mapping import MappingError
from tests.training import synthetic
from training.bell import Bell
from training.ernest import Ernest
from training.export import Published, export
from training.families import Family
from training.ours.family import Ours
from training.protocol import folds
from training.publish import exportable

torch.set_num_threads(1)
SCALE_OUTS = (1.0, 2.0, 12.0, 40.0, 1000.0)


@pytest.fixture(scope="module")
def falling(shared_data: Path) -> list[Execution]:
    """Runs of two contexts on one machine that a straight line through would foresee below zero at 40 machines."""
    runs = read_table(shared_data / "c3o" / "sgd.tsv").executions
    mine = [run for run in runs if run.properties["machine_type"] == "m4.2xlarge"]
    chosen = sorted({run.context for run in mine})[:2]
    return [run for run in mine if run.context in chosen]


@pytest.fixture(scope="module")
def made() -> Published:
    return export(exportable(Ours(), synthetic.runs(sizes=(2e9, 4e9, 8e9), rounds=(1.0, 5.0), repeats=2)))


@pytest.mark.parametrize("family", [Ours(), Ernest(), Bell()], ids=lambda family: family.name)
def test_i01_no_forecast_is_negative_or_absurd_however_far_it_reaches(
    falling: list[Execution], family: Family
) -> None:
    mine = [run for run in falling if run.context == falling[0].context]
    line = np.polyfit([run.workers for run in mine], [run.runtime_s for run in mine], 1)
    assert np.polyval(line, 40.0) < 0
    slowest = max(run.runtime_s for run in mine)
    said = (
        family.fit(falling)
        .adapt(mine)
        .predict(mine[0].properties, Choices.grid((x, None) for x in SCALE_OUTS))
    )
    for quantile in (said.low_s, said.median_s, said.point_s, said.high_s):
        assert np.all(np.isfinite(quantile))
        assert np.all(quantile > 0)
    assert np.all(said.median_s < 100 * slowest)


def test_i01_scale_outs_that_cannot_be_are_refused_and_far_ones_flagged_with_a_wider_band(
    made: Published,
) -> None:
    served = RuntimeModel(made.model, made.card)
    for workers in (0.0, -3.0):
        with pytest.raises(ValueError, match="above 0"):
            Choices.grid([(workers, None)])
    said = served.outlook(synthetic.runs()[0].properties, Choices.grid((x, 4000.0) for x in (4, 1000)))
    assert said.extrapolated == (False, True)
    width = said.prediction.high_s / said.prediction.median_s
    assert width[1] > width[0]


def test_i04_equal_rows_never_stand_on_both_sides_of_a_split(shared_data: Path) -> None:
    imported = read_table(shared_data / "c3o" / "sgd.tsv")
    rows = Counter((run.context, run.cell, run.runtime_s) for run in imported.executions)
    assert sum(count - 1 for count in rows.values()) == imported.duplicates == 412
    for fold in folds(imported.executions, contexts=5, seed=0):
        learned = {run.context for run in fold.general}
        assert fold.context not in learned
        assert {run.context for task in fold.tasks for test in task.tests for run in test.runs} == {
            fold.context
        }


def test_i05_milliseconds_and_seconds_do_not_mix(shared_data: Path, tmp_path: Path) -> None:
    shutil.copy(shared_data / "c3o" / "grep.tsv", tmp_path / "grep.tsv")
    seconds = read_folder(tmp_path).executions
    bell = next((shared_data / "bell").glob("grep*.csv"))
    shutil.copy(bell, tmp_path / bell.name)
    milliseconds = read_table(tmp_path / bell.name).executions
    medians = [float(np.median([run.runtime_s for run in runs])) for runs in (seconds, milliseconds)]
    assert 0.1 < medians[0] / medians[1] < 10
    shutil.copy(bell, tmp_path / "grep.csv")
    with pytest.raises(MappingError, match="grep"):
        read_folder(tmp_path)


GOOD: dict[str, Any] = {
    "schema": 1,
    "algorithm": "x",
    "outcome": "SUCCEEDED",
    "workers": 4,
    "runtime_s": 10.0,
    "params": {},
    "context": {},
}
DAMAGED = (
    *(b"", b"{", b"\x00" * 9, b"<html>", b"[]", b"null"),
    *(json.dumps(GOOD).replace("10.0", runtime).encode() for runtime in ("NaN", "-1", "1e400")),
)


def outcome(content: bytes) -> Label | Exception:
    try:
        return parse(content, "record")
    except (BadRecord, NotALabel) as error:
        return error


def test_i07_damaged_records_are_each_refused_with_a_reason_and_the_sound_one_counts() -> None:
    found = [outcome(content) for content in (*DAMAGED, json.dumps(GOOD).encode())]
    assert [type(one) for one in found] == [BadRecord] * 9 + [Label]
    assert all(str(one).startswith("record: ") for one in found[:9])


def test_i08_failed_and_disturbed_runs_are_no_labels_and_cold_ones_are_known_as_such() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"outcome": "FAILED", "runtime_s": 0.01},
        {"outcome": "CANCELLED", "runtime_s": 900.0},
        {"contended": True},
        {"cold_starts": 3, "runtime_s": 14.0},
    ]
    found = [outcome(json.dumps({**GOOD, **change}).encode()) for change in changes]
    assert [type(one) for one in found] == [Label, NotALabel, NotALabel, NotALabel, Label]
    assert [one.cold for one in found if isinstance(one, Label)] == [False, True]


@pytest.mark.parametrize("batch", [0, 1, 2, 7])
def test_i10_the_file_answers_every_batch_as_the_model_does(made: Published, batch: int) -> None:
    served = RuntimeModel(made.model, made.card)
    properties = {**synthetic.runs()[0].properties, "bytes": 1.5e10}
    alone = served.outlook(properties, Choices.grid([(4.0, 4000.0)])).prediction.median_s
    many = served.outlook(properties, Choices.grid([(4.0, 4000.0)] * batch)).prediction.median_s
    np.testing.assert_allclose(many, np.repeat(alone, batch), rtol=1e-12)
    assert made.card.gap <= 1e-5
