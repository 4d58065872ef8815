from __future__ import annotations

import json
from pathlib import Path

import pytest

from bellwren.records.importing import read_folder, read_table, record_ids
from bellwren.records.mapping import MappingError, parse_mapping

C3O = "instance_count\tmachine_type\tslots\tmemory\tdata_size_MB\tk\tgross_runtime\n"


def table(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mapping(**columns: object) -> dict[str, object]:
    return {
        "bellwren_mapping": 1,
        "columns": {"n": {"as": "workers"}, "t": {"as": "runtime", "unit": "ms"}, **columns},
    }


def test_cluster_totals_become_those_of_one_worker_and_sizes_bytes(tmp_path: Path) -> None:
    run = read_table(table(tmp_path, "kmeans.tsv", C3O + "4\tm4\t32\t128000\t10\t3\t90\n")).executions[0]
    assert (run.algorithm, run.workers, run.runtime_s) == ("kmeans", 4.0, 90.0)
    expected = {"machine_type": "m4", "slots": 8.0, "memory_mb": 32000.0, "bytes": 1e7, "k": 3.0}
    assert run.properties == expected
    assert run.kind("k") == "parameter"


def test_bell_is_in_milliseconds(tmp_path: Path) -> None:
    runs = read_table(table(tmp_path, "grep.spark.csv", "Nodes,Runtime\r\n4,846235\r\n")).executions
    assert (runs[0].algorithm, runs[0].runtime_s) == ("grep.spark", 846.235)


def test_a_header_that_nobody_knows_needs_a_mapping(tmp_path: Path) -> None:
    path = table(tmp_path, "x.csv", "n,t\n2,1500\n")
    with pytest.raises(MappingError, match="schema and units are unknown"):
        read_table(path)
    assert read_table(path, parse_mapping(mapping(), "m")).executions[0].runtime_s == 1.5


def test_an_unknown_column_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, "x.csv", "n,t,colour\n2,1500,red\n")
    with pytest.raises(MappingError, match="'colour'"):
        read_table(path, parse_mapping(mapping(), "m"))


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"as": "runtime", "unit": "fortnights"}, "fortnights"),
        ({"as": "bytes"}, "explicit"),
        ({"as": "colour"}, "one of"),
        ({"as": "workers"}, "twice"),
        ({"as": "bytes", "unit": "MB", "typo": 1}, "only"),
    ],
)
def test_what_is_wrong_with_a_mapping_is_named(said: object, named: str) -> None:
    with pytest.raises(MappingError, match=named):
        parse_mapping(mapping(x=said), "m")


def test_a_column_twice_is_named(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match=r"'Nodes' 2 times"):
        read_table(table(tmp_path, "x.csv", "Nodes,Nodes,Runtime\n1,1,2\n"))


@pytest.mark.parametrize("runtime", ["NaN", "inf", "-1", "0", "", "1e400", "12s", "1_0"])
def test_a_row_that_is_wrong_is_named_with_its_line_and_left_out(tmp_path: Path, runtime: str) -> None:
    said = read_table(table(tmp_path, "x.csv", f"Nodes,Runtime\n2,1000\n4,{runtime}\n"))
    assert [run.workers for run in said.executions] == [2.0]
    assert [fault.field for fault in said.faults] == ["x.csv:3"]


@pytest.mark.parametrize("workers", ["0", "-2", "NaN"])
def test_sums_over_no_workers_are_a_wrong_row_and_not_the_end_of_the_import(
    tmp_path: Path, workers: str
) -> None:
    said = read_table(
        table(tmp_path, "a.tsv", f"{C3O}{workers}\tm4\t32\t128000\t10\t3\t90\n2\tm4\t16\t64000\t10\t3\t9\n")
    )
    assert [run.workers for run in said.executions] == [2.0]
    assert [fault.field for fault in said.faults] == ["a.tsv:2"]


def test_equal_rows_are_repeats_and_their_number_is_said(tmp_path: Path) -> None:
    said = read_table(table(tmp_path, "x.csv", "Nodes,Runtime\n2,1000\n2,1000\n2,1000\n"))
    assert (len(said.executions), said.duplicates) == (3, 2)


def test_importing_twice_gives_the_same_names_and_repeats_stay_apart(tmp_path: Path) -> None:
    path = table(tmp_path, "x.csv", "Nodes,Runtime\n2,1000\n2,1000\n4,700\n")
    first, second = (list(record_ids(read_table(path).executions)) for _ in range(2))
    assert first == second
    assert len(set(first)) == 3


def test_one_algorithm_in_two_schemas_is_refused(tmp_path: Path) -> None:
    table(tmp_path, "grep.tsv", C3O + "4\tm4\t32\t128000\t10\t3\t90\n")
    table(tmp_path, "grep.csv", "Nodes,Runtime\n4,846235\n")
    with pytest.raises(MappingError, match="two schemas"):
        read_folder(tmp_path)


def test_a_folders_own_mapping_is_used(tmp_path: Path) -> None:
    table(tmp_path, "job.csv", "n,t\n2,1500\n")
    table(tmp_path, "mapping.json", json.dumps({**mapping(), "algorithm": "named"}))
    assert read_folder(tmp_path).executions[0].algorithm == "named"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"<html>"])
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(MappingError):
        read_table(table(tmp_path, "x.csv", content))


def test_public_records_are_read_whole_and_their_duplicates_counted(shared_data: Path) -> None:
    c3o = read_folder(shared_data / "c3o")
    assert (len(c3o.executions), c3o.duplicates, c3o.faults) == (3750, 1113, ())
    bell = read_folder(shared_data / "bell")
    assert len(bell.executions) == 630
    assert all(10 < run.runtime_s < 10_000 for run in bell.executions)
