"""Fixtures that every tier shares."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Machines that run the tests are shared: how long one example takes says nothing.
settings.register_profile("bellwren", deadline=None)
settings.load_profile("bellwren")

# A shell's job in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of several processes one runs all tests of the one local cloud; beside it the rest run, file by file."""
    from xdist.scheduler import LoadScopeScheduling

    class OneCloud(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return "cloud" if file.startswith("tests/e2e/") else file

    return OneCloud(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real inputs with right answers, which lie beside the project and are no part of it."""
    folder = Path(os.environ.get("BELLWREN_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real inputs are not at {folder} (set BELLWREN_SHARED_DATA)")
    return folder
