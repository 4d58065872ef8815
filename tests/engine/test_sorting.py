"""Sorts as whole jobs: document or call in, parts out."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

import bellwren
from bellwren.algorithms.valsort import summed_up
from tests.engine.harness import Engine
from tests.engine.proxy import Action, Fault
from tests.engine.sorts import finely, folder, joined, part_sizes, run, sort

NAN = float("nan")


def records(count: int, seed: int = 1) -> list[bytes]:
    """100 bytes each, the first 10 of which are a random key; every tenth key is one of three."""
    rng = random.Random(seed)
    keys = (
        rng.randbytes(10) if at % 10 else b"same-key-%02d"[:8] + b"%02d" % (at % 3) for at in range(count)
    )
    return [key + b"%090d" % at for at, key in enumerate(keys)]


def test_fixed_size_records_are_sorted_checked_and_spread_evenly(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    finely(monkeypatch, 50_000)
    given = records(5_000)
    source = folder(engine, b"".join(given[:1_000]), b"".join(given[1_000:]))
    output = f"s3://{engine.data.bucket}/sorted-blocks/"
    params = {"record_bytes": 100, "key_bytes": 10}
    blocks = {"blocks": source, "chunk": 1_000}
    outcome = run(engine, algorithm="sort", input=blocks, params=params, output={"uri": output}, workers=2)
    assert outcome.status["status"] == "SUCCEEDED", outcome.status["error"]
    assert joined(engine, output) == b"".join(sorted(given, key=lambda record: record[:10]))
    sizes = part_sizes(engine, output)
    assert len(sizes) == outcome.plan["stages"]["merge"]["tasks"] >= 8
    assert max(sizes) <= 2 * min(sizes)
    assert outcome.result() == sorted(given, key=lambda record: record[:10])

    checks = [
        run(engine, algorithm="valsort", input={**blocks, "blocks": uri}, params=params).result()["valsort"]
        for uri in (source, output)
    ]
    assert [check["sorted"] for check in checks] == [False, True]
    assert [check["checksum"] for check in checks] == [summed_up(given).told()["checksum"]] * 2
    assert [check["records"] for check in checks] == [5_000] * 2


def test_requests_grow_with_runs_times_partitions_at_most(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W writes of runs, R of parts, W index reads of each worker, and W·R ranged reads."""
    finely(monkeypatch, 200_000)
    source = folder(engine, b"".join(records(20_000)))
    outcome = run(engine, algorithm="sort", input={"blocks": source, "chunk": 100}, workers=2)
    first, second = outcome.record["stages"]
    runs, parts = first["tasks"], second["tasks"]
    assert (runs, parts) == (10, 10)
    # Beside the data: a claim for each task, the plan, the status, the code, the report of a worker.
    assert first["requests"]["put"] <= 2 * runs + 4
    assert second["requests"]["put"] <= 2 * parts + 4
    assert second["requests"]["get"] <= runs * parts + 2 * runs + 2 * parts + 20


@pytest.mark.parametrize("chunk", [1, 7, 100_000])
def test_lines_of_any_chunk_size_are_those_of_one_pass(engine: Engine, chunk: int) -> None:
    data = [b"b\r\na\xc3\xa9\nb\n\n", b"\xef\xbb\xbfz\nz\xff\n", b"no newline at the end"]
    expected = [b"", b"a\xc3\xa9", b"b", b"b", b"no newline at the end", b"z", b"z\xff"]
    outcome = sort(engine, bellwren.lines(folder(engine, *data), chunk=chunk), workers=1)
    assert outcome.result() == [line.decode("utf-8", "surrogateescape") for line in expected]


def test_the_books_sorted_by_line_are_pythons_sort(
    engine: Engine, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text order of UTF-8 is that of code points. The parts joined are the sorted whole."""
    finely(monkeypatch, 300_000)
    files = [path.read_bytes() for path in sorted((shared_data / "text").glob("*.txt"))]
    lines = [line.removesuffix(b"\r") for data in files for line in data.removesuffix(b"\n").split(b"\n")]
    output = f"s3://{engine.data.bucket}/sorted-books/"
    source = folder(engine, *(data.removeprefix(b"\xef\xbb\xbf") for data in files))
    run(engine, kind="sort", input={"lines": source}, output={"uri": output}, workers=2)
    lines = [line.removeprefix(b"\xef\xbb\xbf") for line in lines]
    assert joined(engine, output) == b"".join(line + b"\n" for line in sorted(lines))


def test_items_come_back_in_order_with_nan_and_none_last(engine: Engine) -> None:
    assert sort(engine, [3.0, NAN, 1.0, None, NAN, 2.0], workers=3).result()[:3] == [1.0, 2.0, 3.0]
    found = sort(engine, [3.0, NAN, 1.0, None, NAN, 2.0], workers=3).result()
    assert [math.isnan(value) for value in found[3:5]] == [True, True]
    assert found[5:] == [None]
    assert [str(value) for value in sort(engine, [NAN]).result()] == ["nan"]
    assert sort(engine, []).result() == []
    assert engine.map_reduce(lambda x: [(x, 1)], [], lambda _, values: sum(values)).result() == {}


def test_ninety_percent_of_one_value_loses_no_duplicate(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    finely(monkeypatch, 40_000)
    items = [5] * 9_000 + list(range(1_000))
    outcome = sort(engine, items, workers=2)
    assert outcome.result() == sorted(items)
    assert outcome.plan["stages"]["merge"]["tasks"] > 1


class Version:
    """A user's own type of key."""

    def __init__(self, text: str) -> None:
        self.numbers = [int(part) for part in text.split(".")]

    def __lt__(self, other: Version) -> bool:
        return self.numbers < other.numbers


def test_a_key_function_may_give_any_type_that_compares(engine: Engine) -> None:
    texts = ["1.10", "1.9", "1.2.3", "1.2"] * 5
    outcome = sort(engine, texts, Version, workers=2)
    assert outcome.result() == sorted(texts, key=lambda text: [int(part) for part in text.split(".")])


def test_rows_are_sorted_by_the_column_that_the_key_function_names(engine: Engine) -> None:
    rows = "".join(f'{at},"x\n{at * 7 % 10}",{at % 3 or ""}\n' for at in range(30))
    source = folder(engine, ("id,text,group\n" + rows).encode())
    outcome = sort(
        engine,
        bellwren.csv(source, chunk=100),
        lambda row: (row["group"] or None, -int(row["id"])),
        output={"format": "jsonl"},
    )
    found = [(row["group"], int(row["id"])) for row in outcome.result()]
    assert found == sorted(found, key=lambda pair: (pair[0] == "", pair[0], -pair[1]))


def test_lines_sorted_by_a_function_are_written_as_they_were(engine: Engine) -> None:
    source = folder(engine, b"c 1\r\n\xffb 3\n", gzip.compress(b"a 2\n"))
    output = f"s3://{engine.data.bucket}/sorted-by-number/"
    sort(engine, bellwren.lines(source), lambda line: -int(line.split()[1]), output=output)
    assert joined(engine, output) == b"\xffb 3\na 2\nc 1\n"


def test_utf_16_is_written_as_utf_8(engine: Engine) -> None:
    source = folder(engine, "ક\na\n\U0001f600\n".encode("utf-16-le"))
    outcome = sort(engine, bellwren.lines(source, encoding="utf-16-le"))
    assert outcome.result() == ["a", "ક", "\U0001f600"]
    (part,) = outcome.store.list(f"jobs/{outcome.job_id}/results/")
    assert outcome.store.get(part.key).decode() == "a\nક\n\U0001f600\n"


def test_records_whose_key_fails_are_failures_of_those_records(engine: Engine) -> None:
    outcome = sort(engine, ["3", "x", "1", "y", "2"] * 4, int, tolerate=0.5, workers=2)
    assert outcome.result() == ["1"] * 4 + ["2"] * 4 + ["3"] * 4
    assert sorted(outcome.failures) == [at for at in range(20) if at % 5 in (1, 3)]
    assert {kind for kind, _ in outcome.failures.values()} == {"ValueError"}
    strict = sort(engine, ["3", "x"], int)
    assert strict.status["error"]["type"] == "TaskError"


def dies_on_seven(value: int) -> int:
    if value == 7:
        os._exit(1)
    return -value


def test_a_record_that_kills_its_runner_costs_that_record(engine: Engine) -> None:
    outcome = sort(engine, range(10), dies_on_seven, tolerate=0.1, retries=1, workers=1)
    assert outcome.result() == [9, 8, 6, 5, 4, 3, 2, 1, 0]
    assert outcome.failures[7][0] == "WorkerDied"


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([3, "x"], "int, such as 3; str, such as 'x'"),
        ([{"a": 1}, {"a": 2}], "type dict, such as"),
        ([object(), object()], "Give a key function"),
    ],
    ids=["mixed", "dicts", "objects"],
)
def test_values_without_an_order_are_refused_by_name(engine: Engine, items: list[Any], said: str) -> None:
    outcome = sort(engine, items, workers=1)
    assert outcome.status["status"] == "FAILED"
    assert said in outcome.status["error"]["message"]


def test_an_object_that_holds_no_whole_records_is_named_before_anything_runs(engine: Engine) -> None:
    source = folder(engine, bytes(200), bytes(250))
    outcome = run(engine, algorithm="sort", input={"blocks": source, "chunk": 100})
    assert outcome.status["status"] == "REJECTED"
    (fault,) = outcome.status["error"]["faults"]
    assert fault["field"] == "input.chunk"
    assert "001 has 250 bytes, which is no multiple of 100" in fault["found"]


def slow_key(value: int) -> int:
    time.sleep(0.05)
    return -value


def test_a_sort_that_takes_longer_than_a_worker_may_run_goes_on_in_the_next_round(engine: Engine) -> None:
    outcome = sort(engine, range(120), slow_key, workers=1, timeout_s=5.0)
    assert outcome.result() == list(reversed(range(120)))
    assert outcome.plan["rounds"] > 2


def test_workers_started_twice_change_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    finely(monkeypatch, 20_000)
    given = records(2_000)
    outcome = sort(
        engine,
        bellwren.blocks(folder(engine, b"".join(given)), 100),
        workers=2,
        launch=lambda workers: workers * 2,
    )
    assert outcome.result() == sorted(given)


def test_a_worker_that_dies_between_commit_and_report_leaves_a_right_account(engine: Engine) -> None:
    """What it did is read from the run, and from what stands beside the part."""
    lost = [Fault("kill", path=f"/{stage}/workers/", method="PUT") for stage in ("sort", "merge")]
    with engine.proxy.disturbed_by(*lost):
        outcome = sort(engine, ["2", "x", "1"], int, tolerate=0.5, workers=1)
    assert outcome.lost == 2
    assert outcome.result() == ["1", "2"]
    record = outcome.record
    assert (record["failed"], [stage["items"] for stage in record["stages"]]) == (1, [3, 2])


@pytest.mark.parametrize(
    ("action", "path"),
    [
        ("kill", "sort/out/"),
        ("late-kill", "results/part"),
        ("tear", "sort/out/"),
        ("lose", "merge/claims"),
        ("refuse", "results/part"),
    ],
)
def test_a_fault_at_a_step_of_a_sort_changes_nothing(engine: Engine, action: Action, path: str) -> None:
    with engine.proxy.disturbed_by(Fault(action, path=path, times=2)):
        outcome = sort(engine, [n * 7919 % 101 for n in range(200)], workers=2)
    assert outcome.result() == sorted(n * 7919 % 101 for n in range(200))


def test_any_output_format_holds_the_sorted_records(engine: Engine) -> None:
    source = folder(engine, b"b\xc3\xa9\na\n")
    for format_ in ("jsonl", "pickle", "raw"):
        outcome = sort(engine, bellwren.lines(source), output={"format": format_})
        assert outcome.result() == ["a", "bé"]
    as_bytes = sort(engine, bellwren.lines(source, encoding=None))
    assert as_bytes.result() == [b"a", b"b\xc3\xa9"]


def test_sorted_items_of_a_document_are_json_lines(engine: Engine) -> None:
    outcome = run(engine, kind="sort", items=["b", "a", "\t", ""])
    assert outcome.result() == ["", "\t", "a", "b"]
    (part,) = outcome.store.list(f"jobs/{outcome.job_id}/results/")
    assert [json.loads(line) for line in outcome.store.get(part.key).splitlines()] == ["", "\t", "a", "b"]
