from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.local import state
from bellwren.local.errors import LocalCloudError
from bellwren.local.state import State

A_STATE = State(4566, "dev", "/a/checkout", "/a/python", "marker", 42, ("dev", "prod"))

states = st.builds(
    State,
    port=st.integers(1, 65535),
    stage=st.text(),
    checkout=st.text(),
    python=st.text(),
    marker=st.text(),
    pid=st.none() | st.integers(1),
    deployed=st.lists(st.text()).map(tuple),
)


@given(states)
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, written: State) -> None:
    place = tmp_path_factory.mktemp("cloud")
    state.write(place, written)
    assert state.read(place) == written


def test_no_state_is_none(tmp_path: Path) -> None:
    assert state.read(tmp_path) is None
    assert state.read(tmp_path / "never-made") is None


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"port": 1}', '{"deployed": [], "unknown": 1}'])
def test_a_damaged_state_names_the_file_and_a_way_out(tmp_path: Path, damage: str) -> None:
    (tmp_path / "cloud.json").write_text(damage)
    with pytest.raises(LocalCloudError, match=r"cloud\.json .*damaged.*--fresh"):
        state.read(tmp_path)


def test_a_write_that_breaks_off_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.write(tmp_path, A_STATE)

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        state.write(tmp_path, State(1, "x", "", "", "", None))
    assert state.read(tmp_path) == A_STATE


def test_the_directory_is_what_the_caller_names_before_what_the_environment_names(tmp_path: Path) -> None:
    environment = {"BELLWREN_LOCAL_DIR": str(tmp_path / "environment")}
    assert state.directory(tmp_path / "caller", environment) == tmp_path / "caller"
    assert state.directory(None, environment) == tmp_path / "environment"


def test_a_relative_directory_does_not_depend_on_where_the_next_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert state.directory("here", {}) == tmp_path / "here"


def test_the_default_directory_lies_in_the_checkout_that_the_package_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "checkout_of_package", lambda: tmp_path)
    assert state.directory(None, {}) == tmp_path / ".bellwren"


def test_without_a_checkout_the_default_directory_lies_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "checkout_of_package", lambda: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state.directory(None, {}) == tmp_path / ".bellwren"


def test_only_one_command_at_a_time_works_in_a_directory(tmp_path: Path) -> None:
    said: list[str] = []
    entered = threading.Event()

    def second() -> None:
        with state.locked(tmp_path, said.append):
            entered.set()

    with state.locked(tmp_path, said.append):
        thread = threading.Thread(target=second)
        thread.start()
        assert not entered.wait(0.3)
    thread.join(10)
    assert entered.is_set()
    assert said == ["waiting for another `bellwren local` command to end"]
