"""Job documents for the tests: small whole ones, and strategies that draw valid, mutated and arbitrary ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import strategies as st

from bellwren.errors import Fault, SpecError
from bellwren.spec import KINDS, JobSpec, from_dict, parse
from bellwren.spec.sections import SOURCES

SHA = "9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015"
CODE = {"uri": "s3://bucket/mycode.zip", "sha256": SHA}
PICKLE = {"key": f"code/{SHA}", "sha256": SHA, "python": "3.11", "cloudpickle": "3.1.2"}
WORDCOUNT: dict[str, Any] = {
    "bellwren": 1,
    "algorithm": "wordcount",
    "input": {"lines": "s3://bucket/books/"},
}
OWN_MAP: dict[str, Any] = {
    "bellwren": 1,
    "kind": "map",
    "code": CODE,
    "map": "mymodule:tokenise",
    "items": [1, 2],
}


def read(document: Any) -> JobSpec:
    """Through the text, as documents come in; every kind and input is taken to be available."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return parse(data, available_kinds=KINDS, available_inputs=SOURCES)


def reread(document: dict[str, Any]) -> JobSpec:
    return from_dict(document, available_kinds=KINDS, available_inputs=SOURCES)


def faults(document: Any) -> dict[str, Fault]:
    """The faults of a document that has some, by their fields."""
    with pytest.raises(SpecError) as caught:
        read(document)
    return {fault.field: fault for fault in caught.value.faults}


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
JSON_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)

BUNDLE = {"key": PICKLE["key"], "sha256": PICKLE["sha256"], "python": "3.12", "unpacked_bytes": 10}
"""What the client built of requirements."""

_BUCKETS = st.from_regex(r"\A[a-z0-9][a-z0-9-]{1,20}[a-z0-9]\Z")
_KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_FUNCTIONS = st.sampled_from(["m:f", "pkg.mod:Class.method", "módulo:función"])


_URIS = st.builds("s3://{}/{}".format, _BUCKETS, _KEYS)


@st.composite
def _inputs(draw: st.DrawFn) -> dict[str, Any]:
    format_ = draw(st.sampled_from(["lines", "csv", "parquet", "objects", "blocks"]))
    section: dict[str, Any] = {format_: draw(_URIS)}
    if format_ == "blocks" or draw(st.booleans()):
        section["chunk"] = draw(st.sampled_from(["32MB", "1.5 GiB", 1, 7.0, 4 * 2**30]))
    if format_ in ("lines", "csv") and draw(st.booleans()):
        section["encoding"] = draw(st.sampled_from(["utf-8", "latin-1", "UTF-16"]))
        section["compression"] = draw(st.sampled_from(["auto", "none", "gzip"]))
    if format_ == "lines" and draw(st.booleans()):
        section |= draw(
            st.sampled_from(
                [{"newline": "||"}, {"newline": None}, {"newline": {"hex": "00"}, "encoding": None}]
            )
        )
    if format_ == "csv" and draw(st.booleans()):
        section |= {"header": draw(st.booleans()), "delimiter": ";", "quote": None}
    if format_ in ("csv", "parquet") and draw(st.booleans()):
        section["columns"] = ["a", "b"]
    return section


_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
        "workers": st.just("auto") | st.integers(1, 10_000) | st.just(4.0),
        "memory_mb": st.just("auto") | st.integers(128, 10_240),
        "deadline_s": st.none() | st.integers(1, 86_400) | st.floats(0.1, 1e6),
        "budget_usd": st.none() | st.floats(0.01, 1e6),
        "objective": st.sampled_from(["cost", "time"]),
        "retries": st.integers(0, 10),
        "retry_on": st.lists(st.sampled_from(["ValueError", "botocore.exceptions.ClientError"]), max_size=3),
        "tolerate": st.floats(0, 1) | st.integers(0, 1),
        "item_timeout_s": st.none() | st.floats(0.1, 900),
        "context": st.dictionaries(
            st.text(min_size=1, max_size=9), st.text(max_size=9) | st.integers() | st.booleans(), max_size=3
        ),
        "requirements": st.lists(
            st.sampled_from(["networkx>=3", "pkg[extra]~=1.0 ; python_version>'3'"]), max_size=2
        ),
        "env": st.dictionaries(
            st.sampled_from(["A", "_B2", "lower"]), st.text("abc é=\n", max_size=9), max_size=2
        ),
    },
)


@st.composite
def valid_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Documents of every kind, built-in and with functions of the user's own, in code and pickled."""
    work = draw(
        st.sampled_from(
            [
                {"algorithm": "wordcount"},
                {"algorithm": "wordcount", "params": {"pattern": r"\w+", "lower": False}},
                {"algorithm": "grep", "kind": "map", "params": {"pattern": "error"}},
                {"kind": "map", "code": CODE, "map": draw(_FUNCTIONS)},
                {
                    "kind": "map_reduce",
                    "code": CODE,
                    "map": "m:f",
                    "reduce": draw(_FUNCTIONS),
                    "combine": "m:c",
                },
                {"kind": "map", "payload": {"map": PICKLE}, "algorithm": "my-label.v2"},
                {"kind": "map_reduce", "payload": {"map": PICKLE, "reduce": PICKLE}},
                {"kind": "sort"},
                {"kind": "sort", "code": CODE, "key": "m:key", "output": {"format": "raw"}},
                {"kind": "bsp", "code": CODE, "step": "m:step", "partitions": draw(st.integers(1, 99))},
                {"kind": "bsp", "code": CODE, "step": "m:step", "max_supersteps": 7, "resident": False},
                {
                    "kind": "parameter_server",
                    "code": CODE,
                    "train": "m:t",
                    "shards": 3,
                    "parameters": {"w": [[1, 2.5]]},
                },
            ]
        )
    )
    document = {"bellwren": 1, **work, **draw(_OPTIONS)}
    if document.get("requirements"):
        document["bundle"] = {**BUNDLE, "resolved": draw(st.just([]) | st.just(["networkx==3.4"]))}
    if "algorithm" in work and "params" not in work and draw(st.booleans()):
        document["params"] = {}
    if work.get("code") or work.get("payload"):
        document["params"] = draw(st.dictionaries(st.text(max_size=6), JSON_VALUES, max_size=3))
    parts = {"bsp": "partitions", "parameter_server": "shards"}.get(str(work.get("kind")))
    if work.get("algorithm") in ("wordcount", "grep") or work.get("kind") == "sort":
        document["input"] = {"lines": draw(_URIS)}
    elif parts:
        if parts not in work:
            document[parts] = draw(st.lists(JSON_VALUES, max_size=3))
    elif draw(st.booleans()):
        document["input"] = draw(_inputs())
    else:
        document |= draw(
            st.fixed_dictionaries({"items": st.lists(JSON_VALUES, max_size=3)})
            | st.just({"items_payload": {**PICKLE, "count": 3}})
        )
    if draw(st.booleans()):
        document["output"] = {"uri": "s3://elsewhere-bucket/out", **document.get("output", {})}
    return document


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(deeper for step, part in inner for deeper in _places(part, (*place, step)))]


@st.composite
def mutated_documents(draw: st.DrawFn) -> Any:
    """A valid document in which something, at some place, was replaced, removed, renamed or added."""
    document = copy.deepcopy(draw(valid_documents()))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(_places(document)))
        if not place:
            if draw(st.integers(0, 9)) == 0:
                return draw(JSON_VALUES)
            continue
        *way, last = place
        around = document
        for step in way:
            around = around[step]
        action = draw(st.sampled_from(["replace", "remove", "rename", "add"]))
        if action == "replace":
            around[last] = draw(
                JSON_VALUES | st.sampled_from(["", 0, -1, 1e308, "auto", [], {}, "s3://", True])
            )
        elif action == "remove":
            del around[last]
        elif isinstance(around, dict):
            name = draw(
                st.text(max_size=9) | st.sampled_from([*document, "chunk", "uri", "wrokers", "map", "step"])
            )
            around[name] = around.pop(last) if action == "rename" else draw(JSON_VALUES)
    return document
