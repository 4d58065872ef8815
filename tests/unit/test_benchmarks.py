"""What benchmarks leave behind: the last run of each, and a README that says nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.report import RESULTS, ROOT, Row, Run, document, keep, load, plot, with_summary

MARKS = "<!-- benchmarks: written by python -m benchmarks -->\n\nold\n\n<!-- end of benchmarks -->"


def run(name: str, value: float, **about: Any) -> Run:
    rows = [Row(name, "seconds", value, "s", "< 2 s", value < 2), Row(name, "load", 3.0, "")]
    return Run(name, f"python -m benchmarks {name}", {"date": "2026-01-01", "load": 0.5, **about}, rows, 1.0)


def test_the_readme_has_the_figures_that_were_measured() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert with_summary(readme, load()) == readme, "write it with: python -m benchmarks --tables"


def test_all_figures_are_listed_as_they_were_measured() -> None:
    assert (RESULTS / "latest.md").read_text("utf-8") == document(load())


def test_a_benchmark_that_is_not_run_keeps_its_figures_and_their_date(tmp_path: Path) -> None:
    keep([run("one", 1.0, date="2026-01-01", commit="aaaaaaa"), run("two", 1.5)], tmp_path)
    path = keep([run("two", 3.0, date="2026-02-02", commit="bbbbbbb")], tmp_path)
    one, two = load(tmp_path)
    assert (one.rows[0].value, one.about["date"], one.about["commit"]) == (1.0, "2026-01-01", "aaaaaaa")
    assert (two.rows[0].value, two.about["date"], two.about["commit"]) == (3.0, "2026-02-02", "bbbbbbb")
    assert "aaaaaaa" in path.read_text("utf-8")


def test_the_table_has_each_figure_with_a_bar_met_or_not() -> None:
    made = with_summary(f"before\n{MARKS}\nbehind", [run("one", 1.0), run("two_more", 2.5)])
    assert made.startswith("before\n<!-- benchmarks")
    assert made.endswith("end of benchmarks -->\nbehind")
    assert "| one | seconds | 1 s | < 2 s | yes | 2026-01-01, 0.5 |" in made
    assert "| two more | seconds | 2.5 s | < 2 s | no | 2026-01-01, 0.5 |" in made
    assert "load |  |" not in made
    assert "old" not in made


def test_marks_that_are_missing_are_named() -> None:
    with pytest.raises(ValueError, match="benchmarks: written by"):
        with_summary("no marks", [])


def test_a_name_that_is_no_benchmark_is_told_those_that_are() -> None:
    with pytest.raises(SystemExit, match=r"no benchmark sorts; there are imports, .*sort_spark"):
        main(["imports", "sorts"])


def test_contenders_of_one_task_are_drawn_together(tmp_path: Path) -> None:
    rows = [
        Row("maps", "100 items", value, "s", contender=name)
        for name, value in (("Bellwren", 1.0), ("other", 9.0))
    ]
    about = {"date": "2026-01-01", "load": 0.5}
    drawn = plot([Run("maps", "command", about, rows), run("alone", 1.0)], tmp_path)
    assert [path.name for path in drawn] == ["maps.png"]
    assert "100 items: other | 9 s" in document([Run("maps", "command", about, rows)])
