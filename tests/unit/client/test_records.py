from __future__ import annotations

import json
from pathlib import Path

import pytest

from bellwren.client.records import FaultyRows, Records
from bellwren.records.mapping import MappingError
from tests.unit.learning.memory import Bucket, put

MAPPING = {
    "bellwren_mapping": 1,
    "algorithm": "grep",
    "columns": {
        "machines": {"as": "workers"},
        "seconds": {"as": "runtime", "unit": "s"},
        "size": {"as": "bytes", "unit": "GB"},
        "pattern": {"as": "parameter"},
    },
}
ROWS = "machines,seconds,size,pattern\n2,10.5,1,a\n4,6,1,a\n4,6,1,a\n"


@pytest.fixture
def bucket() -> Bucket:
    return Bucket("records")


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(MAPPING))
    return path


def table(folder: Path, text: str) -> Path:
    path = folder / "runs.csv"
    path.write_text(text)
    return path


def test_rows_become_records_and_a_second_import_writes_nothing(
    bucket: Bucket, mapping: Path, tmp_path: Path
) -> None:
    records = Records(bucket)  # type: ignore[arg-type]
    path = table(tmp_path, ROWS)
    assert records.import_table(path, mapping, dry_run=True).written == {"grep": 3}
    assert not bucket.objects
    first = records.import_table(path, mapping)
    assert (first.written, first.there, first.repeats) == ({"grep": 3}, 0, 1)
    kept = dict(bucket.objects)
    again = records.import_table(path, mapping)
    assert (again.written, again.there) == ({}, 3)
    assert bucket.objects == kept
    assert records.counts() == {"grep": 3}
    assert {row["runtime_s"] for row in records.latest("grep")} == {10.5, 6.0}


def test_a_wrong_row_is_named_and_keeps_the_rest_out_unless_it_may_be_skipped(
    bucket: Bucket, mapping: Path, tmp_path: Path
) -> None:
    path = table(tmp_path, ROWS + "4,fast,1,a\n")
    records = Records(bucket)  # type: ignore[arg-type]
    with pytest.raises(FaultyRows, match=r"runs\.csv:5: found seconds is 'fast'"):
        records.import_table(path, mapping)
    assert not bucket.objects
    found = records.import_table(path, mapping, skip_faulty=True)
    assert (len(bucket.objects), len(found.left_out)) == (3, 1)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("machines,seconds,size,pattern,extra", "column 'extra'"),
        ("machines,seconds,size,size", "column 'size' 2 times"),
        ("machines,seconds,size", "no column 'pattern'"),
    ],
)
def test_a_column_that_is_unknown_double_or_missing_is_named(
    bucket: Bucket, mapping: Path, tmp_path: Path, header: str, said: str
) -> None:
    with pytest.raises(MappingError, match=said):
        Records(bucket).import_table(table(tmp_path, header + "\n"), mapping)  # type: ignore[arg-type]


def test_an_import_that_was_wrong_is_undone_and_nothing_else_is(
    bucket: Bucket, mapping: Path, tmp_path: Path
) -> None:
    records = Records(bucket)  # type: ignore[arg-type]
    put(bucket, 1)
    before = dict(bucket.objects)
    path = table(tmp_path, ROWS)
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(MAPPING).replace('"unit": "s"', '"unit": "ms"'))
    records.import_table(path, wrong)
    assert records.undo_import(path, mapping) == {}, "in seconds they were never imported"
    assert records.undo_import(path, wrong, dry_run=True) == {"grep": 3}
    assert len(bucket.objects) == 4
    assert records.undo_import(path, wrong) == {"grep": 3}
    assert bucket.objects == before


def test_a_slip_that_makes_texts_of_a_column_of_numbers_is_said(
    bucket: Bucket, mapping: Path, tmp_path: Path
) -> None:
    path = table(tmp_path, "machines,seconds,size,pattern\n2,10,1,5\n4,6,1,7\n4,6,1,1O\n")
    found = Records(bucket).import_table(path, mapping)  # type: ignore[arg-type]
    assert found.mixed == (
        "runs.csv:4: pattern is '1O', so 2 number(s) of this column are read as texts too",
    )


def test_a_size_that_cannot_be_is_named_with_its_row(bucket: Bucket, mapping: Path, tmp_path: Path) -> None:
    path = table(tmp_path, 'machines,seconds,size,pattern\n2,10,1,"a\nb"\n2,10,-1,a\n')
    with pytest.raises(FaultyRows, match=r"runs\.csv:4: found bytes is -1000000000\.0"):
        Records(bucket).import_table(path, mapping)  # type: ignore[arg-type]


def test_an_algorithm_that_can_be_no_part_of_a_key_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps({**MAPPING, "algorithm": "a/b"}))
    with pytest.raises(FaultyRows, match="'a/b'"):
        Records(bucket).import_table(table(tmp_path, ROWS), mapping)  # type: ignore[arg-type]


def test_the_last_records_say_whether_they_are_learned_from(bucket: Bucket) -> None:
    put(bucket, 1)
    put(bucket, 2, outcome="FAILED")
    bucket.put("records/grep/2026/11/30/x.json", b"{")
    rows = Records(bucket).latest("grep", most=3)  # type: ignore[arg-type]
    assert [row["job_id"] for row in rows[:2]] != [None, None]
    said = {row["job_id"]: row["learned_from"] for row in rows}
    assert said["job-001"] is True
    assert "'FAILED'" in said["job-002"]
    assert "not JSON" in said[None]


def test_the_public_tables_import_without_a_mapping(bucket: Bucket, shared_data: Path) -> None:
    folders = [
        path for path in sorted(shared_data.glob("**/c3o*")) if path.is_dir() and any(path.glob("*.tsv"))
    ]
    if not folders:
        pytest.skip("the C3O tables are not among the shared data")
    found = Records(bucket).import_table(folders[0], dry_run=True)  # type: ignore[arg-type]
    assert sum(found.written.values()) > 100
