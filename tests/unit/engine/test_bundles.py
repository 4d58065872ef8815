"""The packages of a job on a worker: unpacked once, whole or not at all, and nobody's to write to."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bellwren.engine import bundles
from bellwren.engine.crew import Refused

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def zipped(files: dict[str, str], program: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if name == program else 0o100644) << 16
            archive.writestr(entry, text)
    return out.getvalue()


DATA = zipped({"one/__init__.py": "A = 1\n", "two.py": "B = 2\n", "one/tool": "#!"}, program="one/tool")
SHA256 = hashlib.sha256(DATA).hexdigest()
BUNDLE = {"key": f"code/{SHA256}", "sha256": SHA256, "python": HERE, "unpacked_bytes": 100}


class Storage:
    """Storage that counts its reads."""

    def __init__(self, **objects: bytes) -> None:
        self.objects = {f"code/{SHA256}": DATA, **objects}
        self.reads = 0
        self.jobs = SimpleNamespace(bucket="jobs")

    async def get(self, bucket: str, key: str) -> bytes:
        self.reads += 1
        if key not in self.objects:
            raise FileNotFoundError(key)
        return self.objects[key]

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(function, *arguments)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"bellwren-bundles-{os.getuid()}"


def provide(storage: Any, bundle: dict[str, Any] | None = BUNDLE) -> str:
    return asyncio.run(bundles.provide(storage, bundle))


def test_a_job_without_requirements_asks_for_nothing(home: Path) -> None:
    storage = Storage()
    assert provide(storage, None) == ""
    assert storage.reads == 0
    assert not home.exists()


def test_a_bundle_is_fetched_once_and_stays_for_the_next_invocation(home: Path) -> None:
    storage = Storage()
    folder = Path(provide(storage))
    assert provide(storage) == str(folder)
    assert storage.reads == 1
    assert (folder / "two.py").read_text() == "B = 2\n"
    assert folder.parent == home


def test_nobody_may_write_to_it_and_programs_may_be_run() -> None:
    folder = Path(provide(Storage()))
    modes = {path.relative_to(folder).as_posix(): path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert modes == {"one": 0o500, "one/__init__.py": 0o400, "one/tool": 0o500, "two.py": 0o400}
    assert folder.stat().st_mode & 0o777 == 0o500


def test_of_many_at_once_one_unpacks_and_all_find_it_whole(home: Path) -> None:
    async def many() -> list[str]:
        return await asyncio.gather(*(bundles.provide(storage, BUNDLE) for _ in range(8)))  # type: ignore[arg-type]

    storage = Storage()
    assert len(set(asyncio.run(many()))) == 1
    assert sorted(path.name for path in home.iterdir()) == sorted([SHA256, "lock"])


@pytest.mark.parametrize(
    ("change", "type_", "said"),
    [
        ({"python": "3.9"}, "VersionMismatch", f"3.9, the worker runs {HERE}"),
        ({"key": "code/elsewhere"}, "InputError", "gone"),
        ({"sha256": "0" * 64}, "InputError", "nothing was unpacked"),
    ],
)
def test_what_is_not_what_it_should_be_is_refused(
    home: Path, change: dict[str, str], type_: str, said: str
) -> None:
    with pytest.raises(Refused) as raised:
        provide(Storage(), {**BUNDLE, **change})
    assert raised.value.failure["type"] == type_
    assert said in raised.value.failure["message"]
    assert not [path for path in home.glob("*") if path.is_dir()] if home.exists() else True


def test_a_zip_that_cannot_be_unpacked_leaves_nothing_behind(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", full)
    with pytest.raises(Refused, match=r"OutOfDisk.*No space left"):
        provide(Storage())
    assert [path.name for path in home.iterdir()] == ["lock"]


def test_other_bundles_make_room(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = zipped({"other.py": "C = 3\n"})
    sha256 = hashlib.sha256(other).hexdigest()
    storage = Storage(**{f"code/{sha256}": other})
    first = provide(storage)
    monkeypatch.setattr(bundles.shutil, "disk_usage", lambda _: SimpleNamespace(free=50))
    second = provide(storage, {**BUNDLE, "key": f"code/{sha256}", "sha256": sha256})
    assert not os.path.exists(first)
    assert os.listdir(second) == ["other.py"]
