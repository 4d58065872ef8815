"""Wheels for another platform than this one: which are taken, how they are unpacked, and what is refused."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import zipfile

import pytest

from infra import python_support, wheels
from infra.packaging import CONTROL, PREDICT, WORKER, Packer
from infra.python_support import LambdaPython
from infra.wheels import ELF_MACHINES, PackagingError, Target

ARM = Target("3.13", "arm64")
X86 = Target("3.13", "x86_64")


def elf(machine):
    return b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little") + bytes(44)


def write_wheel(folder, name, version, files, tag="py3-none-any"):
    path = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes for all there is."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


def test_every_tag_that_the_c_library_of_the_runtime_satisfies_is_named():
    tags = ARM.platforms()
    assert {f"manylinux_2_{minor}_aarch64" for minor in (28, 27, 24, 17)} <= set(tags)
    assert "manylinux2014_aarch64" in tags
    assert not [tag for tag in tags if tag.endswith("x86_64")]
    assert tags[0] == "manylinux_2_34_aarch64"


def test_a_runtime_on_amazon_linux_2_takes_no_wheel_for_a_newer_c_library():
    assert Target("3.11", "x86_64").platforms()[0] == "manylinux_2_26_x86_64"


def test_requirements_are_read_without_their_comments(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("# why\nobstore  # for data\n\nnumpy>=2\n")
    assert wheels.requirements(file) == ["obstore", "numpy>=2"]


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """A folder whose wheels are what pip downloads, whatever it is asked for."""
    folder = tmp_path / "fetched"
    folder.mkdir()

    def download(wishes, pins, target, wheels_folder):
        shutil.copytree(folder, wheels_folder)

    monkeypatch.setattr(wheels, "_download", download)
    return folder


def test_a_wheel_is_unpacked_as_an_installer_would_but_for_scripts(fetched, tmp_path):
    write_wheel(
        fetched,
        "tiny",
        "1.0",
        {
            "tiny/__init__.py": "",
            "tiny-1.0.data/purelib/beside.py": "x = 1",
            "tiny-1.0.data/scripts/tiny": "#!python",
            "../escaped.py": "",
        },
    )
    folder = wheels.unpack(["tiny"], ARM, tmp_path / "cache")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {file for file in files if "dist-info" not in file} == {"tiny/__init__.py", "beside.py"}
    assert not list(tmp_path.rglob("escaped.py"))


def test_the_same_wishes_are_fetched_once(fetched, tmp_path):
    write_wheel(fetched, "tiny", "1.0", {"tiny.py": "x = 1"})
    first = wheels.unpack(["tiny"], ARM, tmp_path / "cache")
    shutil.rmtree(fetched)
    assert wheels.unpack(["tiny"], ARM, tmp_path / "cache") == first
    for wishes, target in ((["tiny"], X86), (["tiny", "other"], ARM), (["tiny"], Target("3.12", "arm64"))):
        with pytest.raises(FileNotFoundError):
            wheels.unpack(wishes, target, tmp_path / "cache")


def test_a_package_without_a_wheel_for_the_platform_is_an_error_that_names_it(index, tmp_path):
    write_wheel(index, "tiny", "1.0", {"tiny.py": ""}, tag="cp311-abi3-manylinux_2_28_x86_64")
    with pytest.raises(PackagingError, match=r"no wheels of tiny for Python 3\.11 on x86_64 \(glibc 2\.26\)"):
        wheels.unpack(["tiny"], Target("3.11", "x86_64"), tmp_path / "cache")


def test_a_package_is_of_the_version_installed_here_unless_the_requirement_says_another(index, tmp_path):
    installed = importlib.metadata.version("cloudpickle")
    for version in (installed, "99.0"):
        write_wheel(index, "cloudpickle", version, {"cloudpickle.py": f"version = {version!r}"})
    as_here = wheels.unpack(["cloudpickle"], ARM, tmp_path / "cache")
    assert (as_here / "cloudpickle.py").read_text() == f"version = {installed!r}"
    as_asked = wheels.unpack(["CloudPickle==99.0"], ARM, tmp_path / "cache")
    assert (as_asked / "cloudpickle.py").read_text() == "version = '99.0'"


def test_a_library_for_another_processor_is_found_whatever_its_wheel_says(fetched, tmp_path):
    files = {"tiny/core.abi3.so": elf(ELF_MACHINES["x86_64"])}
    write_wheel(fetched, "tiny", "1.0", files, tag="cp313-abi3-manylinux_2_17_aarch64")
    with pytest.raises(PackagingError, match=r"tiny/core\.abi3\.so is not built for arm64"):
        wheels.unpack(["tiny"], ARM, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_an_extension_module_of_another_python_is_found(tmp_path):
    module = tmp_path / "core.cpython-312-aarch64-linux-gnu.so"
    module.write_bytes(elf(ELF_MACHINES["arm64"]))
    with pytest.raises(PackagingError, match=r"built for cpython-312, the function runs cpython-313"):
        wheels.check_binaries(tmp_path, ARM)
    wheels.check_binaries(tmp_path, Target("3.12", "arm64"))


HERE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
HANDLERS = {
    CONTROL: ("prepare", "plan", "finish", "conclude", "collect"),
    WORKER: ("worker",),
    PREDICT: ("predict",),
}
ENVIRONMENT = {
    "BELLWREN_STAGE": "test",
    "BELLWREN_MAX_WORKERS": "1",
    "BELLWREN_WORKER_MEMORY_MB": "[512]",
    **{f"BELLWREN_{what}_BUCKET": "a-bucket" for what in ("JOBS", "DATA", "RECORDS", "MODELS")},
}


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_a_worker_for_either_processor_is_built_without_docker(architecture):
    packer = Packer(with_wheels=True)
    target = Target(python_support.running(), architecture)
    bundle = packer.bundle(WORKER, target)
    assert {"bellwren", "functions", "obstore", "cloudpickle"} <= set(bundle.sizes_bytes)
    (library,) = (bundle.folder / "obstore").glob("*.so")
    assert int.from_bytes(library.read_bytes()[18:20], "little") == ELF_MACHINES[architecture]
    assert bundle.size_bytes < 30_000_000
    # Another machine, another day: the same inputs give the same bundle.
    assert Packer(with_wheels=True).bundle(WORKER, target).sha256 == bundle.sha256


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Lambda's libraries load on Linux alone")
@pytest.mark.parametrize("group", HANDLERS, ids=lambda group: group.name)
def test_a_bundle_imports_every_handler_with_nothing_else_on_the_path(group, monkeypatch):
    python = python_support.running()
    if group is PREDICT and python_support.for_prediction(python) != python:
        # Lambda would run another Python, for whose C library onnxruntime has wheels; this machine's has them.
        monkeypatch.setitem(
            python_support.RUNTIMES, python, LambdaPython((3, int(python[2:])), glibc=(2, 34))
        )
    packer = Packer(with_wheels=True)
    bundle = packer.bundle(group, Target(python, HERE))
    for module in HANDLERS[group]:
        program = (
            "import sys; "
            f"sys.path = [{str(bundle.folder)!r}, *(one for one in sys.path if one and 'site-packages' not in one)]; "
            f"import functions.{module}, obstore; print(obstore.__file__)"
        )
        done = subprocess.run(
            [sys.executable, "-S", "-I", "-c", program],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(str(bundle.folder))
