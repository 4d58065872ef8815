"""Required packages are resolved and built before anything is submitted, the same bytes for the same packages.

The packages are wheels made here and found in a folder, so nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bellwren.deployment import Deployment
from bellwren.errors import PayloadError
from bellwren.requirements import KEPT_S, Bundle, Target, build
from tests.wheels import greeting, make_wheel, use_only

HERE = Target(f"{sys.version_info[0]}.{sys.version_info[1]}", ())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip knows."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    greeting(folder)
    use_only(folder, monkeypatch)
    return folder


def built(tmp_path: Path, *requirements: str, target: Target = HERE, cache: str = "cache") -> Bundle:
    return build(requirements, target, cache=tmp_path / cache)


def test_a_bundle_holds_what_was_required_and_all_that_it_needs(index: Path, tmp_path: Path) -> None:
    bundle = built(tmp_path, "greeting>=1")
    assert bundle.resolved == ("greeting==1.2", "words==1.1")
    assert bundle.sha256 == hashlib.sha256(bundle.path.read_bytes()).hexdigest()
    with zipfile.ZipFile(bundle.path) as archive:
        archive.extractall(tmp_path / "unpacked")
        assert bundle.unpacked_bytes == sum(one.file_size for one in archive.infolist())
    code = "import greeting, importlib.metadata as m; print(greeting.greet('you'), m.version('greeting'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "unpacked", capture_output=True, text=True, check=True
    )
    assert done.stdout == "Hello you 1.2\n"


def test_the_same_packages_are_the_same_bytes(index: Path, tmp_path: Path) -> None:
    one = built(tmp_path, "greeting", "words", cache="one")
    other = built(tmp_path, " words", "greeting", cache="other")
    assert one.path != other.path
    assert one.sha256 == other.sha256


def test_bytecode_comes_along_and_holds_whatever_the_times_of_files(index: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tmp_path, "words").path) as archive:
        (compiled,) = [name for name in archive.namelist() if name.endswith(".pyc")]
        flags = int.from_bytes(archive.read(compiled)[4:8], "little")
    assert flags == 0b01  # hash-based, unchecked


def test_what_was_built_lately_is_not_built_again(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = built(tmp_path, "words")
    make_wheel(index, "words", "2.0", {"words.py": "HELLO = 'Ciao '\n"})
    assert built(tmp_path, "words") == first
    for described in (tmp_path / "cache").glob("*.json"):
        os.utime(described, (0, described.stat().st_mtime - KEPT_S - 1))
    assert built(tmp_path, "words").resolved == ("words==2.0",)


def test_a_damaged_bundle_is_built_anew(index: Path, tmp_path: Path) -> None:
    first = built(tmp_path, "words")
    first.path.write_bytes(b"cut off")
    assert built(tmp_path, "words") == first
    assert hashlib.sha256(first.path.read_bytes()).hexdigest() == first.sha256


@pytest.mark.parametrize("wish", ["no-such-package", "words>=7", "only-source"])
def test_what_cannot_be_had_is_said_before_anything_is_submitted(
    index: Path, tmp_path: Path, wish: str
) -> None:
    (index / "only_source-1.0.tar.gz").write_bytes(b"")
    with pytest.raises(PayloadError, match="nothing was submitted") as raised:
        built(tmp_path, wish)
    assert wish in str(raised.value)
    assert "for Python 3." in str(raised.value)
    assert "Only wheels are taken" in str(raised.value)


def test_wheels_are_those_of_the_workers_platform_and_python(index: Path, tmp_path: Path) -> None:
    for tag in ("cp312-cp312-manylinux_2_28_aarch64", "cp312-cp312-manylinux_2_28_x86_64"):
        make_wheel(index, "native", "1.0", {"native.py": f"TAG = {tag!r}\n"}, tag=tag)
    target = Target("3.12", ("manylinux_2_34_aarch64", "manylinux_2_28_aarch64"))
    with zipfile.ZipFile(built(tmp_path, "native", target=target).path) as archive:
        assert b"aarch64" in archive.read("native.py")
    with pytest.raises(PayloadError, match=r"for Python 3\.14 on manylinux_2_34_aarch64"):
        built(tmp_path, "native", target=Target("3.14", target.platforms))


def test_what_is_too_large_is_said_with_what_takes_the_room(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(index, "huge", "1.0", {"huge/data.txt": "x" * 3_000_000, "huge/__init__.py": ""})
    monkeypatch.setattr("bellwren.requirements.MAX_UNPACKED_BYTES", 2_000_000)
    with pytest.raises(PayloadError, match=r"take 3 MB on a worker, and at most 2 MB fit.*huge 3 MB"):
        built(tmp_path, "huge")


def test_what_each_worker_has_stays_the_workers(index: Path, tmp_path: Path) -> None:
    make_wheel(index, "cloudpickle", "9.9", {"cloudpickle/__init__.py": "raise ImportError"})
    make_wheel(index, "user", "1.0", {"user.py": ""}, requires="cloudpickle")
    bundle = built(tmp_path, "user")
    assert bundle.resolved == ("user==1.0",)
    with zipfile.ZipFile(bundle.path) as archive:
        assert not [name for name in archive.namelist() if "cloudpickle" in name]


def test_the_target_is_what_the_deployment_says_of_its_workers() -> None:
    parameter = (
        '{"stage": "s", "jobs_bucket": "", "data_bucket": "", "records_bucket": "", "models_bucket": "",'
        ' "max_workers": 1, "worker_functions": {}, "python": "3.13", "worker_platforms": ["manylinux_2_34_aarch64"],'
        ' "worker_packages": ["obstore"]}'
    )
    deployment = Deployment.from_parameter(parameter)
    assert Target.of(deployment) == Target("3.13", ("manylinux_2_34_aarch64",))
    assert deployment.worker_packages == ("obstore",)
