from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.forecasting.bits import WIDTH, encode, encode_number, encode_text
from bellwren.forecasting.features import FIT, LOAD, Choices, Schema, derived, learn_schema
from bellwren.forecasting.text import text_code
from bellwren.records.execution import Execution

RUNS = [
    Execution("a", workers, 10.0, {"bytes": size, "k": k, "kind": kind, "memory_mb": 1769.0, "slots": 1.0})
    for workers in (1.0, 4.0)
    for size, k, kind in ((1e9, 1.0, "logs"), (4e9, 0.0, "images"))
]


def test_load_and_fit_are_what_they_say() -> None:
    known = derived({"bytes": 8e9}, Choices.grid([(4, 1000.0)], slots=2.0))
    assert known[LOAD][0] == 1e9
    assert known[FIT][0] == 2.0


def test_the_last_wave_of_tasks_is_seen() -> None:
    known = derived({"tasks": 9.0}, Choices.grid([(4, None), (9, None)]))
    assert known["imbalance"].tolist() == [pytest.approx(12 / 9), 1.0]


def test_a_change_of_unit_shifts_nothing_once_it_is_centred() -> None:
    in_mb = [Execution("a", run.workers, 1.0, {"size": float(run.properties["bytes"]) / 1e6}) for run in RUNS]
    in_bytes = [Execution("a", run.workers, 1.0, {"size": run.properties["bytes"]}) for run in RUNS]
    one, other = learn_schema(in_mb), learn_schema(in_bytes)
    np.testing.assert_allclose(one.properties({"size": 2e3}), other.properties({"size": 2e9}), atol=1e-12)


def test_a_schema_survives_json() -> None:
    schema = learn_schema(RUNS)
    assert Schema.from_dict(json.loads(json.dumps(schema.as_dict(), allow_nan=False))) == schema


def test_unseen_texts_far_numbers_missing_and_new_properties_are_named() -> None:
    flags = " | ".join(learn_schema(RUNS).flags({"bytes": 1e12, "kind": "video", "new": 1.0}))
    for part in (
        "bytes=1e+12 is outside",
        "kind='video' was never seen",
        "k is missing",
        "new was not among",
    ):
        assert part in flags


def test_a_context_as_in_training_has_no_flag() -> None:
    assert learn_schema(RUNS).flags(RUNS[0].properties) == []


@given(st.one_of(st.none(), st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_whatever_a_property_holds_its_code_is_finite(value: str | float | None) -> None:
    schema = learn_schema(RUNS)
    given_ = {} if value is None else {"bytes": value, "kind": value, "k": value}
    code = schema.properties(given_)
    assert np.all(np.isfinite(code))
    assert np.abs(code).max() <= 1e3, "no number is so far away that sums of squares lose the others"


def test_numbers_hundreds_of_orders_apart_make_a_schema_that_is_json() -> None:
    runs = [Execution("a", 2, 1.0, {"k": k}) for k in (1e-300, 1.0, 1e300)]
    schema = learn_schema(runs)
    assert Schema.from_dict(json.loads(json.dumps(schema.as_dict(), allow_nan=False))) == schema


def test_what_a_data_sheet_says_of_a_machine_stands_in_each_row() -> None:
    given_ = {"machine_type": "r4.2xlarge", "slots": 8.0}
    known = derived(given_, Choices.grid([(2, None), (4, None)], slots=8.0))
    assert known["clock"].tolist() == [2.3, 2.3]
    assert known["disk"].tolist() == [1700 / 8, 1700 / 8]
    assert not {"clock", "disk"} & set(derived({"machine_type": "my-box"}, Choices.grid([(2, None)])))


@pytest.mark.parametrize("workers", [0.0, -3.0, math.nan, math.inf])
def test_scale_outs_that_cannot_be_are_refused(workers: float) -> None:
    with pytest.raises(ValueError, match="workers is"):
        Choices.grid([(workers, None)])


def test_texts_spelt_alike_lie_nearer_than_others_and_none_coincide() -> None:
    def distance(a: str, b: str) -> float:
        return float(np.linalg.norm(text_code(a) - text_code(b)))

    assert 0 < distance("r4.xlarge", "r4.2xlarge") < distance("r4.xlarge", "eu-west")
    assert distance("m4.2xlarge", "c4.2xlarge") > 0.3


def test_a_number_is_its_bits_and_a_text_a_vector_of_length_one() -> None:
    assert encode_number(5)[[0, -3, -2, -1]].tolist() == [1.0, 1.0, 0.0, 1.0]
    assert len(encode_number(0)) == WIDTH == 40
    assert np.linalg.norm(encode_text("m4.2xlarge")) == pytest.approx(1.0)
    assert encode(0.25)[0] == 0.0
    assert not encode(None).any()
    with pytest.raises(ValueError, match="39 bits"):
        encode_number(2**39)


def test_no_records_make_no_schema() -> None:
    with pytest.raises(ValueError, match="no execution records"):
        learn_schema([])


def test_what_differs_by_a_unit_only_is_seen_once() -> None:
    """On Lambda slots are memory in another unit; elsewhere both say something of their own."""

    def names(slots: tuple[float, float]) -> set[str]:
        runs = [
            Execution("x", workers, 10.0, {"bytes": 1e9, "memory_mb": memory, "slots": own})
            for workers in (2.0, 4.0)
            for memory, own in zip((1769.0, 3538.0), slots, strict=True)
        ]
        return {feature.name for feature in learn_schema(runs).features if feature.level == "row"}

    assert {"memory_mb", "load"} <= names((1.0, 2.0))
    assert not {"slots", "fit"} & names((1.0, 2.0))
    assert {"memory_mb", "slots", "load", "fit"} <= names((1.0, 4.0))
