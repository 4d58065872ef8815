"""The functions' code: what is in a bundle, what is not, and how large it may be."""

from __future__ import annotations

import pytest

from infra import packaging, wheels
from infra.packaging import CONTROL, PREDICT, WORKER, Packer
from infra.wheels import PackagingError, Target

TARGET = Target("3.13", "arm64")


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """A folder that stands for the unpacked wheels."""
    folder = tmp_path / "unpacked"
    folder.mkdir()
    monkeypatch.setattr(wheels, "unpack", lambda wanted, target, cache: folder)
    return folder


def write(folder, *names, content=b"x"):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def files(bundle):
    return {path.relative_to(bundle.folder).as_posix() for path in bundle.folder.rglob("*") if path.is_file()}


def test_a_bundle_holds_the_source_as_it_is_imported():
    packer = Packer(with_wheels=False)
    found = files(packer.bundle(CONTROL, TARGET))
    assert {"bellwren/__init__.py", "bellwren/layout.py", "functions/__init__.py"} <= found
    assert {file.split("/")[0] for file in found} == {"bellwren", "functions"}
    assert not [file for file in found if "__pycache__" in file or file.endswith(".pyc")]


def test_source_alone_is_one_bundle_for_all_functions():
    packer = Packer(with_wheels=False)
    assert packer.bundle(CONTROL, TARGET) is packer.bundle(WORKER, Target("3.12", "x86_64"))


def test_wheels_make_a_bundle_for_each_group_and_platform(fetched):
    packer = Packer(with_wheels=True)
    bundles = [packer.bundle(*wanted) for wanted in ((CONTROL, TARGET), (WORKER, TARGET))]
    bundles.append(packer.bundle(WORKER, Target("3.13", "x86_64")))
    assert len({bundle.folder for bundle in bundles}) == 3
    assert packer.bundle(CONTROL, TARGET) is bundles[0]


def test_what_no_function_imports_is_left_out(fetched):
    write(
        fetched,
        "numpy/__init__.py",
        "numpy/tests/test_a.py",
        "numpy/_core/tests/test_b.py",
        "numpy/f2py/x.py",
    )
    write(fetched, "onnxruntime/capi/libonnxruntime.so.1.32.0", "onnxruntime/capi/state.so")
    write(fetched, "onnxruntime/tools/convert.py", "other/tests/needed_at_run_time.py", "other/stub.pyi")
    packer = Packer(with_wheels=True)
    found = files(packer.bundle(PREDICT, TARGET))
    assert {file for file in found if not file.startswith(("bellwren", "functions"))} == {
        "numpy/__init__.py",
        "onnxruntime/capi/state.so",
        "other/tests/needed_at_run_time.py",
    }


def test_the_same_files_give_the_same_hash_and_any_change_another(fetched):
    def sha256():
        return Packer(with_wheels=True).bundle(WORKER, TARGET).sha256

    write(fetched, "a.py", "b.py")
    first = sha256()
    assert sha256() == first
    write(fetched, "a.py", content=b"y")
    changed = sha256()
    assert changed != first
    write(fetched, "a.py")
    (fetched / "b.py").rename(fetched / "c.py")
    assert sha256() not in (first, changed)


def test_a_bundle_too_large_for_lambda_is_refused_with_what_each_package_takes(fetched, monkeypatch):
    monkeypatch.setattr(packaging, "MAX_UNZIPPED_BYTES", 5_000_000)
    write(fetched, "huge/data.bin", content=bytes(6_000_000))
    with pytest.raises(PackagingError, match=r"larger than Lambda's 5 MB") as refused:
        Packer(with_wheels=True).bundle(WORKER, TARGET)
    assert "6.0 MB  huge" in str(refused.value)
    assert "worker-extra.txt" in str(refused.value)


def test_the_workers_packages_include_what_the_user_adds_in_one_file():
    assert WORKER.requirement_files == ("worker.txt", "worker-extra.txt")
    for name in WORKER.requirement_files:
        assert (packaging.REQUIREMENTS / name).is_file()


def test_the_worker_carries_no_package_that_slows_its_start():
    needed = wheels.requirements(*(packaging.REQUIREMENTS / name for name in WORKER.requirement_files))
    assert needed == ["cloudpickle", "obstore"]
