"""What the documentation points at is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("examples/*.md"),
    *ROOT.glob("benchmarks/results/*.md"),
]
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", re.MULTILINE)
SHOWN_BY = re.compile(r'^\[[^\]]+\]: (\S+\.py) "([^"]+)"$', re.MULTILINE)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    dead = []
    for link in ("".join(groups) for groups in LINK.findall(text)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            dead.append(link)
        elif part and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)", target.read_text("utf-8"), re.MULTILINE)
            dead += [link] if part not in map(anchor, headings) else []
    assert dead == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'bellwren[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    reference = (tmp_path / "api" / "index.html").read_text("utf-8")
    assert 'id="bellwren.Cloud.map_reduce"' in reference
    assert "&gt;&gt;&gt;" in reference
    assert (tmp_path / "repository" / "tests" / "unit" / "test_tuning.py").is_file()


def test_each_claim_names_tests_that_are_there() -> None:
    text = (ROOT / "docs" / "compare.md").read_text("utf-8")
    named = SHOWN_BY.findall(text)
    assert len(named) > 15
    missing = [
        name
        for path, names in named
        for name in names.split()
        if f"def {name}(" not in (ROOT / "docs" / path).resolve().read_text("utf-8")
    ]
    assert missing == []


def test_each_claim_that_names_a_test_names_one_that_is_there() -> None:
    text = (ROOT / "docs" / "compare.md").read_text("utf-8")
    homes = dict(re.findall(r"^\[([^\]]+)\]: (\S+\.py)", text, re.MULTILINE))
    wrong = []
    for said, label in re.findall(r"\[(test_\w+)…?\]\[(\w+)\]", text):
        home = (ROOT / "docs" / homes[label]).resolve()
        if said != home.stem and f"def {said}" not in home.read_text("utf-8"):
            wrong.append((said, label))
    assert wrong == []
