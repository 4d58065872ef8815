"""The code that goes to Lambda: Bellwren's source, and for AWS the wheels it needs, pruned and measured.

Everything here is plain files: no Docker, no CDK. The same inputs give the same bundle and the same hash, on
any machine and at any time, so that a deployment that changes nothing uploads nothing.
"""

from __future__ import annotations

import fnmatch
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from infra import wheels
from infra.wheels import PackagingError, Target

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = Path(__file__).resolve().parent / "requirements"
MAX_UNZIPPED_BYTES = 262_144_000
"""Lambda's limit on a zip function's code, unzipped, layers included."""

_SOURCE = ("bellwren", "functions")
_PACKAGES = (*_SOURCE, "training")
# Never imported when a function runs; sizes are of onnxruntime 1.32 and numpy 2.5.
_PRUNED = (
    "*/__pycache__/*",
    "*.pyc",
    "*.pyi",
    "*.a",
    "onnxruntime/tools/*",
    "onnxruntime/transformers/*",
    "onnxruntime/quantization/*",
    "onnxruntime/datasets/*",
    "onnxruntime/backend/*",
    "onnxruntime/capi/libonnxruntime.so*",  # the C library for other languages: 30 MB, not linked
    "numpy/*tests/*",
    "numpy/f2py/*",
    "numpy/_core/include/*",
    "numpy/random/_examples/*",
)


@dataclass(frozen=True)
class Group:
    """Functions that share their dependencies, and so one bundle for each platform."""

    name: str
    requirement_files: tuple[str, ...]
    source: tuple[str, ...] = _SOURCE
    """Packages of this repository."""
    image: str | None = None
    """For what fits no zip: the Dockerfile that makes an image of the source and the requirements. Docker fetches the
    wheels, when it is deployed."""


CONTROL = Group("control", ("control.txt",))
WORKER = Group("worker", ("worker.txt", "worker-extra.txt"))
PREDICT = Group("predict", ("predict.txt",))
TRAIN = Group("train", ("train.txt",), source=_PACKAGES, image="training/Dockerfile")


@dataclass(frozen=True)
class Bundle:
    """A folder that is the code of a function."""

    folder: Path
    sha256: str
    """Of every path and every byte in it."""
    sizes_bytes: dict[str, int]
    """What each top-level package or file takes, the largest first."""

    @property
    def size_bytes(self) -> int:
        """Unzipped."""
        return sum(self.sizes_bytes.values())

    def table(self) -> str:
        """Sizes as text, one line for each package."""
        rows = [f"{size / 1e6:8.1f} MB  {name}" for name, size in self.sizes_bytes.items()]
        return "\n".join([*rows, f"{self.size_bytes / 1e6:8.1f} MB  in all"])


class Packer:
    """Makes bundles in a folder of its own, which lasts as long as the packer."""

    def __init__(self, *, with_wheels: bool, cache: Path = ROOT / ".build" / "wheels") -> None:
        self._with_wheels = with_wheels
        self._cache = cache
        self._scratch = tempfile.TemporaryDirectory(prefix="bellwren-bundles-")
        self._made: dict[tuple[str, str, str], Bundle] = {}

    def bundle(self, group: Group, target: Target) -> Bundle:
        """The code for a group of functions on a platform.

        Raises:
            PackagingError: a wheel is missing or wrong, or the bundle is too large for Lambda.
        """
        # Source alone is the same for all that need the same; one bundle then serves them.
        source = "source-" + "-".join(group.source)
        key = (group.name, target.python, target.architecture) if self._with_wheels else (source, "", "")
        if key not in self._made:
            # No dot in the folder's name: CDK would take what follows for a file's extension.
            folder = Path(self._scratch.name, "-".join(key).replace(".", ""))
            self._made[key] = self._make(folder, group, target)
        return self._made[key]

    def _make(self, folder: Path, group: Group, target: Target) -> Bundle:
        for package in group.source:
            _copy(ROOT / package, folder / package)
        if group.image:
            shutil.copyfile(ROOT / group.image, folder / "Dockerfile")
            for name in group.requirement_files:
                shutil.copyfile(REQUIREMENTS / name, folder / "requirements.txt")
        elif self._with_wheels:
            wanted = wheels.requirements(*(REQUIREMENTS / name for name in group.requirement_files))
            _copy(wheels.unpack(wanted, target, self._cache), folder)
        _open_up(folder)
        bundle = Bundle(folder, _digest(folder), _sizes(folder))
        if bundle.size_bytes > MAX_UNZIPPED_BYTES:
            raise PackagingError(
                f"the code of the {group.name} functions is larger than Lambda's "
                f"{MAX_UNZIPPED_BYTES / 1e6:.0f} MB:\n{bundle.table()}\n"
                f"Leave packages out of infra/requirements/{group.requirement_files[-1]}."
            )
        return bundle


def _copy(source: Path, folder: Path) -> None:
    for path in _files(source):
        target = folder / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _open_up(folder: Path) -> None:
    """Let everybody read: whoever deploys has an umask of their own, and functions run under another account."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _files(folder: Path) -> Iterator[Path]:
    """Files that a function can use, in an order that is the same everywhere."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder.parent if folder.name in _PACKAGES else folder).as_posix()
        if path.is_file() and not any(fnmatch.fnmatchcase(name, pattern) for pattern in _PRUNED):
            yield path


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _sizes(folder: Path) -> dict[str, int]:
    sizes = {
        entry.name: sum(path.stat().st_size for path in (entry, *entry.rglob("*")) if path.is_file())
        for entry in folder.iterdir()
    }
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
