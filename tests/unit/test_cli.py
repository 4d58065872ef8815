from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from botocore.exceptions import NoCredentialsError
from click.testing import CliRunner, Result

from bellwren import __version__, cost
from bellwren.cli import COMMANDS, main
from bellwren.cli.group import Entry, LazyGroup
from bellwren.cli.output import json_option, show, table
from bellwren.errors import BellwrenError
from bellwren.local.access import LocalCloud


@click.command()
@click.argument("ending")
@json_option
def fragile(ending: str, as_json: bool) -> None:
    """Ends as it is told to."""
    if ending == "ours":
        raise BellwrenError("the thing is missing; make one")
    if ending == "aws":
        raise NoCredentialsError
    if ending == "bug":
        raise KeyError("a bug")
    show({"ending": ending}, f"ended {ending}", as_json=as_json)


def run(*words: str) -> Result:
    entries = {
        "fragile": Entry(f"{__name__}:fragile", "Ends as it is told to."),
        "absent": Entry("bellwren.cli.no_such_module:command", "Is never imported."),
    }
    return CliRunner().invoke(LazyGroup("bellwren", entries=entries), words)


def test_help_imports_no_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "absent   Is never imported." in result.output


def test_a_mistake_of_the_user_is_one_message_and_exit_code_1() -> None:
    result = run("fragile", "ours")
    assert result.exit_code == 1
    assert result.stderr == "Error: the thing is missing; make one\n"
    assert result.stdout == ""


def test_an_error_of_the_aws_client_is_one_message_too() -> None:
    result = run("fragile", "aws")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: Unable to locate credentials")


def test_a_bug_keeps_its_traceback() -> None:
    assert isinstance(run("fragile", "bug").exception, KeyError)


def test_a_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELLWREN_TRACEBACK", "1")
    assert isinstance(run("fragile", "ours").exception, BellwrenError)


@pytest.mark.parametrize("words", [["unknown"], ["fragile"], ["fragile", "well", "--unknown"]])
def test_a_wrong_call_is_exit_code_2(words: list[str]) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_json_is_for_programs_and_text_for_people() -> None:
    assert json.loads(run("fragile", "well", "--json").stdout) == {"ending": "well"}
    assert run("fragile", "well").stdout == "ended well\n"


def test_a_table_leaves_out_what_is_unknown() -> None:
    assert table([("state", "running"), ("port", 4566), ("log", None)]) == "state  running\nport   4566"


def test_every_listed_command_exists_and_its_summary_is_a_sentence() -> None:
    for name, entry in COMMANDS.items():
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert entry.summary[0].isupper()
        assert entry.summary.endswith(".")


def test_help_waits_for_no_heavy_import() -> None:
    code = (
        "import sys; from bellwren.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted({'boto3', 'botocore', 'obstore', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.fixture
def a_job(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    job = SimpleNamespace(id="books-1", record=None, status=lambda: {"status": "RUNNING"})
    cloud = SimpleNamespace(job=lambda _: job)
    monkeypatch.setattr("bellwren.cli.cost.connected", lambda stage, local: cloud)
    return job


def test_cost_shows_how_much_of_what_a_job_paid_for(a_job: SimpleNamespace) -> None:
    lines = cost.lines(cost.Usage(worker_gb_s=12.5, lambda_requests=9, sfn_transitions=30))
    a_job.record = {"cost": lines, "cost_usd": sum(lines.values())}
    told = json.loads(CliRunner().invoke(main, ["cost", "books-1", "--json"]).stdout)
    assert told["total_usd"] == pytest.approx(12.5 * 0.0000133334 + 9 * 2e-7 + 30 * 2.5e-5)
    assert {one["line"]: one["quantity"] for one in told["lines"]}["workers"] == pytest.approx(12.5)
    text = CliRunner().invoke(main, ["cost", "books-1"]).stdout
    assert "GB-second" in text
    assert f"list prices of us-east-1 of {told['prices_of']}" in text


def test_cost_of_a_job_that_runs_says_when_it_is_known(a_job: SimpleNamespace) -> None:
    result = CliRunner().invoke(main, ["cost", "books-1"])
    assert result.exit_code == 1
    assert "RUNNING" in result.stderr
    assert "when the job has ended" in result.stderr


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(main, ["--version"]).output == f"bellwren, version {__version__}\n"


@pytest.fixture
def nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BELLWREN_LOCAL_DIR", str(tmp_path / "cloud"))
    return tmp_path / "cloud"


def test_env_without_a_cloud_prints_nothing_that_a_shell_would_run(nothing_runs: Path) -> None:
    result = CliRunner().invoke(main, ["local", "env"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "bellwren local start" in result.stderr


def test_status_without_a_cloud_says_how_to_start_one(nothing_runs: Path) -> None:
    result = CliRunner().invoke(main, ["local", "status", "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["state"], found["directory"]) == ("stopped", str(nothing_runs))
    assert "bellwren local start" in CliRunner().invoke(main, ["local", "status"]).stdout


def test_stop_without_a_cloud_is_no_error(nothing_runs: Path) -> None:
    result = CliRunner().invoke(main, ["local", "stop", "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"stopped": False})


def test_a_setting_without_a_value_is_a_wrong_call(nothing_runs: Path) -> None:
    result = CliRunner().invoke(main, ["local", "start", "-c", "max_workers"])
    assert result.exit_code == 2
    assert "KEY=VALUE" in result.stderr


def test_env_unsets_what_would_lead_a_client_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cloud = LocalCloud(4711, "it's dev", tmp_path, 1)
    monkeypatch.setattr("bellwren.cli.local.running", lambda _: cloud)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another account")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy")
    printed = CliRunner().invoke(main, ["local", "env"]).stdout
    shell = f'{printed}\necho "$AWS_ENDPOINT_URL|$BELLWREN_STAGE|$NO_PROXY|${{AWS_SESSION_TOKEN-unset}}"'
    said = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True).stdout
    assert said == "http://127.0.0.1:4711|it's dev|127.0.0.1,localhost|unset\n"
