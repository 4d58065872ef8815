"""What an invocation writes below /tmp ends with it, also when it is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from bellwren.engine.scratch import own_folder, user_folder


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def folders() -> list[str]:
    return [entry.path for entry in os.scandir(user_folder("work")) if entry.is_dir()]


def in_a_killed_process(write: Callable[[Path], None]) -> None:
    pid = os.fork()
    if not pid:
        with own_folder() as folder:
            write(Path(folder))
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def test_a_folder_ends_with_its_block_also_by_an_error() -> None:
    def use() -> None:
        with own_folder() as folder:
            assert folders() == [folder]
            (Path(folder) / "file").write_text("x")
            raise KeyError("an item")

    with pytest.raises(KeyError, match="an item"):
        use()
    assert folders() == []


def test_what_a_killed_process_left_is_deleted_by_the_next() -> None:
    in_a_killed_process(lambda folder: (folder / "large").write_bytes(bytes(1000)))
    assert len(folders()) == 1
    with own_folder() as folder:
        assert folders() == [folder]


def test_what_may_not_be_entered_is_deleted_too_and_nothing_outside(temporary: Path) -> None:
    outside = temporary / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")

    def write(folder: Path) -> None:
        (folder / "link").symlink_to(outside)
        inner = folder / "closed" / "inner"
        inner.mkdir(parents=True)
        (inner / "file").write_text("x")
        inner.chmod(0)
        inner.parent.chmod(0o500)

    in_a_killed_process(write)
    with own_folder() as folder:
        assert folders() == [folder]
    assert (outside / "kept").read_text() == "kept"


def test_the_folder_of_a_worker_beside_is_left_alone() -> None:
    with own_folder() as first:
        (Path(first) / "file").write_text("x")
        with own_folder() as second:
            assert sorted(folders()) == sorted([first, second])
        assert (Path(first) / "file").read_text() == "x"
