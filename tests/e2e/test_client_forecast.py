"""A forecast before there is a job: from Python and on the command line, the same answer as the job then gets."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from click.testing import CliRunner

import bellwren
from bellwren import Cloud, layout
from bellwren.cli import main
from bellwren.control.sizing import most_tasks
from bellwren.records.execution import context_key
from bellwren.records.labels import properties_of


def test_a_job_takes_what_was_forecast_for_it(cloud: Cloud, tmp_path: Path) -> None:
    folder = f"forecast/{uuid.uuid4().hex}/"
    cloud.data_store.put(f"{folder}a.txt", b"to be or not to be\n" * 20_000)
    uri = f"s3://{cloud.data_store.bucket}/{folder}"
    document = {"bellwren": 1, "algorithm": "wordcount", "input": {"lines": uri}, "deadline_s": 300}
    path = tmp_path / "job.json"
    path.write_text(json.dumps(document))

    before = cloud.forecast(document)
    assert before["source"] == "analytic prior"
    again = cloud.forecast("wordcount", bellwren.lines(uri), deadline_s=300)
    assert [row["workers"] for row in again.forecasts] == [row["workers"] for row in before.forecasts]
    assert before.choice["meets_deadline"]

    called = CliRunner().invoke(main, ["forecast", str(path), "--json", "--plot", str(tmp_path / "plot.png")])
    assert called.exit_code == 0, called.output
    assert set(json.loads(called.output)) == set(before)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")

    job = cloud.submit(document, progress=False)
    assert job.result() == {"to": 40_000, "be": 40_000, "or": 20_000, "not": 20_000}
    status, record = job.status(), job.record
    assert job.forecast is not None
    assert set(job.forecast) == set(before)
    assert status["forecast"] == job.forecast["choice"]
    assert status["reason"] == job.forecast["reason"]
    assert record is not None
    assert record["forecast"] == job.forecast["choice"]
    assert record["data"]["distinct_share"] < 0.01
    profile = cloud.jobs_store.get_json(layout.profile(job.id))
    asked, _ = properties_of({**profile, "tasks": most_tasks(profile), "context": {}}, "job")
    assert context_key(asked) == context_key(properties_of(record, "record")[0])
    assert (status["workers"], status["memory_mb"]) == (before.choice["workers"], before.choice["memory_mb"])
    assert job.forecast["choice"]["meets_deadline"]


def test_a_fault_is_told_on_the_command_line(cloud: Cloud, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(
        json.dumps({"bellwren": 1, "algorithm": "wordcount", "input": {"lines": "s3://else/in/"}})
    )
    called = CliRunner().invoke(main, ["forecast", str(path)])
    assert called.exit_code == 1
    assert "input.lines" in called.output
