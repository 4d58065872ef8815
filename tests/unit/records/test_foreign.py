from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bellwren.records.execution import Execution
from bellwren.records.foreign import record_of
from bellwren.records.labels import parse
from bellwren.records.schema import schema

VALIDATOR = Draft202012Validator(schema())
NUMBERS = st.floats(min_value=1e-3, max_value=1e15)
FEW = st.floats(min_value=1e-3, max_value=1e6)
NAMED = st.fixed_dictionaries(
    {},
    optional={
        "bytes": NUMBERS, "items": NUMBERS, "tasks": FEW, "memory_mb": FEW, "slots": FEW,
        "machine_type": st.text(min_size=1, max_size=9),
    },
)  # fmt: skip
OTHERS = st.dictionaries(st.sampled_from(["k", "pattern", "Ü"]), NUMBERS | st.text(max_size=9), max_size=3)


@given(FEW, FEW, NAMED, OTHERS, OTHERS)
def test_an_imported_run_is_read_back_with_all_that_it_had(
    workers: float,
    runtime_s: float,
    named: dict[str, float | str],
    params: dict[str, float | str],
    characteristics: dict[str, float | str],
) -> None:
    others = {key: value for key, value in characteristics.items() if key not in params}
    kinds = {**dict.fromkeys(params, "parameter"), **dict.fromkeys(others, "characteristic")}
    run = Execution("grep", workers, runtime_s, {**named, **params, **others}, kinds, "t.csv:2")  # type: ignore[arg-type]
    document = json.loads(json.dumps(record_of(run, "name")))
    VALIDATOR.validate(document)
    back = parse(json.dumps(document).encode(), "key").execution
    assert (back.algorithm, back.workers, back.runtime_s) == ("grep", workers, runtime_s)
    assert back.properties == {
        **named,
        **{f"params.{key}": value for key, value in params.items()},
        **{f"context.{key}": value for key, value in others.items()},
    }
    assert all(back.kind(f"params.{key}") == "parameter" for key in params)
