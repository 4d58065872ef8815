"""Inputs as whole jobs: what a single pass over the objects gives is what the job gives, or it fails by name."""

from __future__ import annotations

import bz2
import gzip
import json
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest

import bellwren
from tests.engine.counting import once, total
from tests.engine.harness import Engine
from tests.engine.sorts import folder, run


def counted(engine: Engine, source: Any, **options: Any) -> Any:
    """How often each record is there."""
    return engine.map_reduce(once, source, total, total, **options).result()


def put(engine: Engine, objects: dict[str, bytes]) -> str:
    """Objects by name, under a prefix of their own; its address. boto3 takes every name that S3 does."""
    prefix = f"in-{uuid.uuid4().hex[:8]}/"
    client = boto3.client("s3")
    for name, data in objects.items():
        client.put_object(Bucket=engine.data.bucket, Key=prefix + name, Body=data)
    return f"s3://{engine.data.bucket}/{prefix}"


# -- group F: text and objects ---------------------------------------------------------------------------------------


def test_f02_a_cut_between_cr_and_lf_changes_nothing(engine: Engine) -> None:
    source = folder(engine, b"a\r\nb\r\nc\r\n")
    assert counted(engine, bellwren.lines(source, chunk=1), workers=1) == {"a": 1, "b": 1, "c": 1}


def test_f04_a_letter_that_holds_the_byte_of_a_newline_ends_no_line(engine: Engine) -> None:
    source = folder(engine, "a\nક\nc\n".encode("utf-16-le"))
    lines = bellwren.lines(source, chunk=3, encoding="utf-16-le")
    assert counted(engine, lines, workers=1) == {"a": 1, "ક": 1, "c": 1}


def test_f06_newlines_within_quotes_end_no_row_and_the_header_is_no_row(engine: Engine) -> None:
    rows = "".join(f'{n},"x\n{n},""fake""\ny"\n' for n in range(50))
    source = folder(engine, ("id,txt\n" + rows).encode())
    found = engine.map(lambda row: (int(row["id"]), row["txt"]), bellwren.csv(source, chunk=64), workers=1)
    assert found.plan["stages"]["map"]["tasks"] > 10
    assert found.result() == [(n, f'x\n{n},"fake"\ny') for n in range(50)]


def test_f07_compressed_objects_are_known_by_their_bytes_and_all_members_are_read(engine: Engine) -> None:
    objects = {
        "a.gz": gzip.compress(b"a\n") + gzip.compress(b"b\n"),
        "b.txt": gzip.compress(b"c\n"),
        "c.gz": b"plain\n",
        "d.txt": bz2.compress(b"d\n"),
    }
    assert counted(engine, bellwren.lines(put(engine, objects), chunk=5)) == dict.fromkeys(
        ["a", "b", "c", "d", "plain"], 1
    )


def test_f07_a_truncated_object_fails_the_job_by_its_name(engine: Engine) -> None:
    source = put(engine, {"whole.gz": gzip.compress(b"y\n"), "cut.gz": gzip.compress(b"x\n" * 9999)[:-20]})
    outcome = engine.map_reduce(once, bellwren.lines(source), total)
    assert outcome.status["status"] == "FAILED"
    assert f"{source}cut.gz" in outcome.status["error"]["message"]


def test_f10_an_empty_object_holds_no_line_and_is_a_whole_object(engine: Engine) -> None:
    source = put(engine, {"empty": b"", "x": b"1\n"})
    assert counted(engine, bellwren.lines(source)) == {"1": 1}
    names = engine.map(lambda record: record[1], bellwren.objects(source)).result()
    assert names == [b"", b"1\n"]


def test_f11_markers_and_neighbours_are_no_data_and_output_within_the_input_is_refused(
    engine: Engine,
) -> None:
    markers = {"in/": b"", "in/sub/": b"", "in/_SUCCESS": b""}
    source = put(engine, {**markers, "in/a": b"1\n", "in2/b": b"9\n"})
    assert counted(engine, bellwren.lines(source + "in/")) == {"1": 1}
    assert counted(engine, bellwren.lines(source + "in")) == {"1": 1}
    assert [data for _, data in engine.map(tuple, bellwren.objects(source + "in")).result()] == [b"1\n"]
    document = {"algorithm": "wordcount", "input": {"lines": source + "in/"}}
    with pytest.raises(bellwren.SpecError, match="or the next run would read these results"):
        run(engine, **document, output={"uri": source + "in/out/"})


AWKWARD_NAMES = [
    *("a b.txt", "a+b.txt", "100%25.csv", "é/日本 1.txt", "a%2Fb", "x=1/dt=2018-05-04", "#?&;'\"<>.txt"),
    *(" lead", "trail ", "..", ".", "/x", "y//z", "x\\y", "~", "*", "{a}", "a\tb", "e\u0301", "full/"),
]


def test_f12_every_object_is_read_once_whatever_its_name(engine: Engine) -> None:
    source = put(engine, {name: name.encode() + b"\n" for name in AWKWARD_NAMES})
    assert counted(engine, bellwren.lines(source)) == dict.fromkeys(AWKWARD_NAMES, 1)
    prefix = source.removeprefix(f"s3://{engine.data.bucket}/")
    found = engine.map(lambda record: record, bellwren.objects(source)).result()
    assert dict(found) == {prefix + name: name.encode() + b"\n" for name in AWKWARD_NAMES}


def test_every_object_of_a_prefix_is_read_where_there_are_more_than_s3_lists_at_once(engine: Engine) -> None:
    count = 1_100
    prefix = f"in-{uuid.uuid4().hex[:8]}/"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: engine.data.put(f"{prefix}{n:04d}", b"%d\n" % n), range(count)))
    found = engine.map(int, bellwren.lines(f"s3://{engine.data.bucket}/{prefix}"), workers=2)
    assert found.result() == list(range(count))


def test_f14_a_page_that_is_called_csv_fails_with_its_key_line_and_beginning(engine: Engine) -> None:
    page = b"<!DOCTYPE HTML>\n<html>ratings, and so on</html>\n"
    source = put(engine, {"ratings.csv": page})
    outcome = engine.map(lambda row: float(row["rating"]), bellwren.csv(source))
    assert outcome.status["status"] == "FAILED"
    said = outcome.status["error"]["message"]
    assert f"{source}ratings.csv, line 1: this is an HTML page, not CSV: '<!DOCTYPE HTML>" in said


def test_f14_rows_that_do_not_fit_are_failed_items_in_their_places_within_tolerance(engine: Engine) -> None:
    source = put(engine, {"t.csv": b"a,b\n1,1\n2\n3,3\n4,4,4\n" + b"5,5\n" * 6})
    options: dict[str, Any] = {"workers": 1, "tolerate": 0.2}
    mapped = engine.map(lambda row: row["a"], bellwren.csv(source + "t.csv"), **options)
    found = mapped.result()
    assert [one.type if isinstance(one, bellwren.TaskFailure) else one for one in found] == [
        *("1", "BadRow", "3", "BadRow"),
        *("5",) * 6,
    ]
    assert mapped.failures[1] == ("BadRow", f"{source}t.csv, line 3: 1 field(s) where 2 are named: '2'")
    grouped = engine.map_reduce(lambda row: [(row["a"], 1)], bellwren.csv(source + "t.csv"), total, **options)
    assert grouped.result() == {"1": 1, "3": 1, "5": 6}
    assert sorted(grouped.failures) == [1, 3]
    strict = engine.map(dict, bellwren.csv(source + "t.csv"))
    assert (strict.status["status"], strict.status["failed"]) == ("FAILED", 2)
    assert "line 3: 1 field(s)" in strict.failures[1][1]


@pytest.mark.parametrize("change", ["deleted", "overwritten"])
def test_f16_an_object_that_changes_after_the_plan_fails_the_job_by_its_name(
    engine: Engine, change: str
) -> None:
    source = put(engine, {"a": b"1\n", "b": b"2\n", "c": b"3\n"})
    prefix = source.removeprefix(f"s3://{engine.data.bucket}/")

    def disturb(_: dict[str, Any]) -> None:
        if change == "deleted":
            engine.data.delete([prefix + "b"])
        else:
            engine.data.put(prefix + "b", b"4\n")

    outcome = engine.map_reduce(once, bellwren.lines(source), total, before_round=disturb)
    assert outcome.status["status"] == "FAILED"
    assert f"{source}b" in outcome.status["error"]["message"]


# -- reading beside computing, and memory -----------------------------------------------------------------------------


def test_the_next_tasks_input_is_read_while_a_task_is_computed(engine: Engine) -> None:
    def slow(record: tuple[str, bytes]) -> int:
        time.sleep(0.4)
        return record[1][0]

    count = 4
    source = put(engine, {f"object-{n}": bytes([n]) * 1_500_000 for n in range(count)})
    with engine.proxy.disturbed_by() as script:
        outcome = engine.map(slow, bellwren.objects(source), workers=1)
    assert outcome.result() == list(range(count))
    steps = [(request.method, request.path) for request in script.seen]

    def first(method: str, path: str) -> int:
        return next(at for at, step in enumerate(steps) if step[0] == method and path in step[1])

    for task in range(count - 1):
        assert first("GET", f"object-{task + 1}") < first("PUT", f"results/part-{task:06d}"), task


def test_memory_of_a_worker_follows_the_chunk_and_not_the_input(engine: Engine) -> None:
    """96 MB in chunks of 2 MB, in a worker of 192 MB."""

    def pairs(line: str) -> list[tuple[str, int]]:
        return [(line[0], len(line) + 1)]

    peaks_mb = []
    for objects in (1, 12):
        block = b"".join(b"%d" % (n % 10) + b"x" * 9_998 + b"\n" for n in range(800))
        lines = bellwren.lines(folder(engine, *[block] * objects), chunk="2MB")
        outcome = engine.map_reduce(pairs, lines, total, total, workers=1, memory_mb=192)
        assert sum(outcome.result().values()) == objects * len(block)
        peaks_mb.append(outcome.record["stages"][0]["peak_mb"])
    assert peaks_mb[1] < peaks_mb[0] + 16
    assert peaks_mb[1] < 150


# -- real data --------------------------------------------------------------------------------------------------------


def test_naughty_strings_are_words_lines_and_names_of_objects(engine: Engine, shared_data: Path) -> None:
    """All those that S3 takes as the name of an object."""
    strings = json.loads((shared_data / "naughty" / "blns.json").read_text("utf-8"))
    lines = [text for text in strings if "\n" not in text and not text.endswith("\r")]
    source = folder(engine, "".join(f"{text}\n" for text in lines).encode())
    assert counted(engine, bellwren.lines(source, chunk=1000), workers=2) == Counter(lines)
    names = [f"{number:03d}-{text}" for number, text in enumerate(strings) if is_name(text)]
    assert len(names) > 350
    prefix = f"in-{uuid.uuid4().hex[:8]}/"
    for name in names:
        engine.data.put(prefix + name, name.encode())
    source = f"s3://{engine.data.bucket}/{prefix}"
    found = engine.map(lambda record: (record[0], record[1]), bellwren.objects(source)).result()
    assert [(key.removeprefix(prefix), data.decode()) for key, data in found] == [
        (name, name) for name in sorted(names, key=str.encode)
    ]


def is_name(text: str) -> bool:
    """Whether S3 takes it within a key: no control characters, at most 1,024 bytes, no empty or relative part."""
    parts = text.split("/")
    return text.isprintable() and len(text.encode()) < 900 and not {".", "..", ""} & set(parts)


def test_system_logs_give_their_records_and_grep_finds_what_python_finds(
    engine: Engine, shared_data: Path
) -> None:
    files = {path.name: path.read_bytes() for path in sorted((shared_data / "logs").glob("*.log"))}
    lines = [line for data in files.values() for line in data.decode().replace("\r\n", "\n").splitlines()]
    answers = json.loads((shared_data / "answers.json").read_text())
    source = put(engine, files)
    assert len(lines) == sum(answers[f"logs/{name}"]["records"] for name in files) == 8_000
    assert counted(engine, bellwren.lines(source, chunk=50_000), workers=2) == Counter(lines)
    grep = {
        "algorithm": "grep",
        "input": {"lines": source, "chunk": 60_000},
        "params": {"pattern": "[Ff]ail"},
    }
    assert run(engine, **grep, workers=2).result() == [
        line for line in lines if "Fail" in line or "fail" in line
    ]


def test_books_have_the_lines_and_the_words_that_one_process_counts(
    engine: Engine, shared_data: Path
) -> None:
    answers = json.loads((shared_data / "answers.json").read_text())
    files = {path.name: path.read_bytes() for path in sorted((shared_data / "text").glob("*.txt"))}
    source = put(engine, files)
    words = run(engine, algorithm="wordcount", input={"lines": source, "chunk": 300_000}, workers=2).result()
    expected = answers["text_gutenberg ALL"]
    assert (sum(words.values()), len(words)) == (expected["words"], expected["distinct"])
    assert [[word, words[word]] for word, _ in expected["top10"]] == expected["top10"]


def test_csv_spectrum_gives_its_expected_rows_through_a_job(engine: Engine, shared_data: Path) -> None:
    """Each object with a header of its own."""
    files = sorted((shared_data / "csv" / "csvs").glob("*.csv"), key=lambda path: path.name.encode())
    expected = [
        row
        for path in files
        for row in json.loads((shared_data / "csv" / "json" / f"{path.stem}.json").read_text("utf-8"))
    ]
    source = put(engine, {path.name: path.read_bytes() for path in files})
    assert engine.map(dict, bellwren.csv(source, chunk=10), workers=1).result() == expected
