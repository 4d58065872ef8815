"""The command line on a real deployment: what it prints, for people and for programs, and how it exits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bellwren import Cloud
from bellwren.cli import COMMANDS, main

QUIET = {"progress": False, "workers": 1}


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_a_document_is_submitted_and_its_result_read(cloud: Cloud, tmp_path: Path) -> None:
    path = tmp_path / "books.json"
    path.write_text('{"bellwren": 1, "name": "books", "algorithm": "wordcount", "items": ["a b a"]}')
    submitted = run("submit", str(path), "--json")
    assert submitted.exit_code == 0, submitted.output
    status = json.loads(submitted.stdout)
    assert status["status"] == "SUCCEEDED"
    job_id = status["job_id"]
    shown = run("status", job_id)
    assert shown.exit_code == 0
    assert "SUCCEEDED" in shown.stdout
    assert job_id in run("status").stdout
    assert job_id in run("jobs", "--watch", "--last", "1").stdout
    assert job_id in [one["job_id"] for one in json.loads(run("status", "--json").stdout)]
    assert sorted(run("result", job_id).stdout.splitlines()) == ["a\t2", "b\t1"]
    assert json.loads(run("result", job_id, "--json").stdout) == {"a": 2, "b": 1}
    target = tmp_path / "counts.json"
    assert run("result", job_id, "--json", "-o", str(target)).stdout == ""
    assert json.loads(target.read_text()) == {"a": 2, "b": 1}
    assert "nothing was printed" in run("logs", job_id).stdout
    page = tmp_path / "books.html"
    assert str(page) in run("report", job_id, "-o", str(page)).stdout
    assert job_id in page.read_text()
    cancelled = run("cancel", job_id)
    assert cancelled.exit_code == 0
    assert "had ended already" in cancelled.stdout


def test_a_job_is_tuned_on_the_beginnings_of_its_lines(cloud: Cloud, tmp_path: Path) -> None:
    for number in range(2):
        cloud.data_store.put(f"tuned/{number}.txt", b"to be or not to be\n" * 100)
    source = f"s3://{cloud.deployment.data_bucket}/tuned/"
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps({"bellwren": 1, "algorithm": "wordcount", "input": {"lines": source}}))
    how = ("--memory", "512", "--workers", "1,2", "--sample", "0.5", "--repeats", "1", "--json")
    how += ("--strategy", "cost", "--write", str(path))
    tuned = run("tune", str(path), *how)
    assert tuned.exit_code == 0, tuned.output
    found = json.loads(tuned.stdout)
    assert found["sample"] == 0.5
    assert [one["workers"] for one in found["measured"]] == [1, 2]
    assert [row["workers"] for row in found["forecasts"]] == [1, 2, 4]
    assert list(cloud.data_store.list("tune/")) == []
    written = json.loads(path.read_text())
    chosen = {name: found["choices"]["cost"][name] for name in ("workers", "memory_mb")}
    assert written == {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": source}, **chosen}


def test_results_that_json_does_not_have_are_shown(cloud: Cloud) -> None:
    def pairs(x: int) -> list[Any]:
        print(f"item {x}")
        return [((x, "k"), {x})]

    job = cloud.map_reduce(pairs, [1], lambda key, values: list(values), **QUIET)
    assert job.wait()
    assert json.loads(run("result", job.id, "--json").stdout) == [{"key": [1, "k"], "value": ["{1}"]}]
    assert "item 1" in run("logs", job.id).stdout


def test_a_job_that_failed_is_exit_code_1_and_its_own_error(cloud: Cloud) -> None:
    job = cloud.map(lambda x: 1 / x, [0], **QUIET)
    result = run("result", job.id)
    assert result.exit_code == 1
    assert "item 0 failed with ZeroDivisionError" in result.stderr
    assert "bellwren/cli" not in result.stderr


def test_a_job_is_resumed_unless_there_is_nothing_to_resume(cloud: Cloud, tmp_path: Path) -> None:
    mended = tmp_path / "mended"

    def item(x: int) -> int:
        import pathlib

        if not pathlib.Path(mended).exists():
            raise ValueError("not yet")
        return x

    job = cloud.map(item, [7], **QUIET)
    assert job.exception() is not None
    failed = run("resume", job.id)
    assert failed.exit_code == 1
    assert "not yet" in failed.stdout
    mended.touch()
    resumed = run("resume", job.id, "--json")
    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["status"] == "SUCCEEDED"
    assert run("result", job.id).stdout == "7\n"
    refused = run("resume", job.id)
    assert refused.exit_code == 1
    assert "can be resumed" in refused.stderr


@pytest.mark.parametrize("command", ["status", "result", "logs", "cancel", "resume"])
def test_a_job_that_is_not_there_is_one_message(cloud: Cloud, command: str) -> None:
    result = run(command, "no-such-job")
    assert result.exit_code == 1
    assert "there is no job 'no-such-job'" in result.stderr
    assert "Traceback" not in result.stderr


def test_every_fault_of_a_document_is_told_and_nothing_starts(cloud: Cloud, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text('{"bellwren": 1, "algorithm": "wordcuont", "items": ["a"], "wrokers": 3}')
    result = run("submit", str(path))
    assert result.exit_code == 1
    assert "wordcount" in result.stderr
    assert "workers" in result.stderr
    assert run("submit", str(tmp_path / "missing.json")).exit_code == 2


def test_help_teaches_by_example() -> None:
    for name in set(COMMANDS) & {"submit", "status", "result", "logs", "cancel"}:
        text = run(name, "--help").stdout
        assert f"bellwren {name}" in text
        assert "Example" in text
        assert "--json" in text


def test_in_a_pipe_there_is_only_the_result(cloud: Cloud) -> None:
    job = cloud.map(str.upper, ["a", "b"], **QUIET)
    done = subprocess.run(
        [sys.executable, "-m", "bellwren", "result", job.id], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "A\nB\n", "")
