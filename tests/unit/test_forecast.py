"""A forecast as the user gets it: a dictionary, a table, a picture."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bellwren.cli import main
from bellwren.errors import BellwrenError
from bellwren.forecast import Forecast
from bellwren.forecasting.answer import Question, answer


def cost(workers: int, memory_mb: int, runtime_s: float) -> float:
    return workers * memory_mb / 1024 * runtime_s * 1.3e-5


@pytest.fixture
def forecast() -> Forecast:
    asked = Question(
        "books", {"bytes": 4e9, "tasks": 40.0}, 16, [1769, 3538], deadline_s=500.0, budget_usd=1.0
    )
    return Forecast(answer(asked, cost))


def test_it_is_the_answer_itself(forecast: Forecast) -> None:
    assert json.loads(json.dumps(forecast)) == forecast
    assert forecast.choice == forecast["choice"]
    assert forecast.reason == forecast["reason"]
    assert forecast.forecasts == forecast["forecasts"]


def test_the_table_has_a_line_for_each_candidate_and_marks_the_choice(forecast: Forecast) -> None:
    lines = forecast.table().splitlines()
    rows = lines[1 : 1 + len(forecast.forecasts)]
    assert [int(line.replace(">", " ").split()[0]) for line in rows] == [
        row["workers"] for row in forecast.forecasts
    ]
    marked = [line for line in rows if line.startswith(">")]
    assert len(marked) == 1
    assert marked[0].split()[1:3] == [str(forecast.choice["workers"]), str(forecast.choice["memory_mb"])]
    assert forecast.reason in lines


def test_the_table_says_which_candidates_keep_the_deadline(forecast: Forecast) -> None:
    rows = forecast.table().splitlines()[1 : 1 + len(forecast.forecasts)]
    assert [line.split()[-1] == "yes" for line in rows] == [
        row["meets_deadline"] for row in forecast.forecasts
    ]
    assert len({line.split()[-1] for line in rows}) == 2


def test_a_notebook_shows_no_markup_of_the_users(forecast: Forecast) -> None:
    shown = Forecast({**forecast, "reason": "<b>no</b>", "flags": ["<i>"]})._repr_html_()
    assert "<b>no" not in shown
    assert "<i>" not in shown


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".PDF", b"%PDF")])
def test_it_draws_itself(forecast: Forecast, tmp_path: Path, suffix: str, start: bytes) -> None:
    path = forecast.plot(tmp_path / f"plot{suffix}")
    assert path.read_bytes().startswith(start)


def test_a_format_that_is_none_is_named(forecast: Forecast, tmp_path: Path) -> None:
    with pytest.raises(BellwrenError, match=r"plot\.txt: a plot is written as .*\.png"):
        forecast.plot(tmp_path / "plot.txt")


def test_without_matplotlib_it_says_what_to_install(
    forecast: Forecast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(BellwrenError, match=r"pip install 'bellwren\[plot\]'"):
        forecast.plot(tmp_path / "plot.png")


def test_one_candidate_can_be_drawn(tmp_path: Path) -> None:
    one = Question("books", {"bytes": 1e6}, 1, [1769], workers=1)
    assert Forecast(answer(one, cost)).plot(tmp_path / "one.png").stat().st_size > 1000


def test_the_command_prints_the_table_or_the_answer_and_draws(
    forecast: Forecast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    class Connected:
        def forecast(self, document: Path) -> Forecast:
            asked.append(document)
            return forecast

    monkeypatch.setattr("bellwren.cli.connection.connect", lambda *_, **__: Connected())
    job, plot = tmp_path / "job.json", tmp_path / "plot.png"
    job.write_text("{}")
    shown = CliRunner().invoke(main, ["forecast", str(job), "--plot", str(plot)])
    assert shown.exit_code == 0, shown.output
    assert forecast.table() in shown.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    machine = CliRunner().invoke(main, ["forecast", str(job), "--json"])
    assert json.loads(machine.output) == forecast
    assert asked == [job, job]
