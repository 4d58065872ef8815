from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.spec.identity import JOB_ID_PATTERN, fresh, from_event, from_execution, is_job_id, slug

texts = st.text(max_size=300)


def is_good(job_id: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", job_id)) and is_job_id(job_id) and len(job_id) <= 64


@given(texts, texts, texts)
def test_any_names_give_an_id_that_keys_and_executions_can_bear(
    bucket: str, key: str, sequencer: str
) -> None:
    for job_id in (from_event(bucket, key, sequencer), from_execution(key), fresh(key)):
        assert is_good(job_id)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("books", "books"),
        ("My Books 2024", "my-books-2024"),
        ("a+b", "a-b"),
        ("100%25", "100-25"),
        ("Été à Zürich", "ete-a-zurich"),
        ("日本 1", "1"),
        ("日本", "job"),
        ("!!! ???", "job"),
        ("", "job"),
        ("../../etc/passwd", "etc-passwd"),
        ("--a--", "a"),
        ("\ud800x", "x"),
        ("x" * 300, "x" * 46),
        ("ﬁne ①", "fine-1"),
    ],
)
def test_a_slug_is_what_people_recognise(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_the_id_of_an_event_starts_with_the_name_of_its_file() -> None:
    assert from_event("jobs", "specs/team a/My Books (v+1).json", "0061A2").startswith("my-books-v-1-")
    assert from_event("jobs", "specs/.json", "0061A2").startswith("job-")


@given(texts, texts, texts)
def test_every_delivery_of_one_event_gives_the_same_id(bucket: str, key: str, sequencer: str) -> None:
    assert from_event(bucket, key, sequencer) == from_event(bucket, key, sequencer)


@given(st.lists(st.tuples(texts, texts, texts), min_size=2, max_size=6, unique=True))
def test_different_events_give_different_ids(events: list[tuple[str, str, str]]) -> None:
    assert len({from_event(*event) for event in events}) == len(events)


def test_parts_of_an_event_do_not_run_into_each_other() -> None:
    assert from_event("b", "xy", "z") != from_event("b", "x", "yz")
    assert from_event("b", "specs/a.json", "1") != from_event("b", "specs/A.json", "1")


def test_an_id_that_names_an_execution_is_the_id_of_its_job() -> None:
    job_id = fresh("My Books")
    assert job_id.startswith("my-books-")
    assert from_execution(job_id) == job_id
    assert from_execution("n1") == "n1"


@given(texts, texts)
def test_different_executions_give_different_ids(one: str, other: str) -> None:
    assert (from_execution(one) == from_execution(other)) == (one == other)


def test_fresh_ids_do_not_repeat() -> None:
    assert len({fresh("books") for _ in range(2_000)}) == 2_000


@pytest.mark.parametrize("text", ["", "-a", "A", "a_b", "a" * 64, "a\n", "é", "a b", "../a"])
def test_what_is_no_id_is_told_from_ids(text: str) -> None:
    assert not is_job_id(text)
    assert not re.search(JOB_ID_PATTERN.replace("$", r"\Z"), text)


def test_awkward_file_names_give_distinct_readable_ids(shared_data: Path) -> None:
    names = set(json.loads((shared_data / "naughty" / "blns.json").read_text(encoding="utf-8")))
    ids = {from_event("jobs", f"specs/{name}.json", "1") for name in names}
    assert len(ids) == len(names)
    assert all(is_good(job_id) for job_id in ids)
