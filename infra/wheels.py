"""Wheels for a Lambda runtime, fetched by pip for that platform and unpacked: no Docker, and no Linux needed.

pip matches platform tags to the letter, so every manylinux tag that the runtime's C library satisfies is
named. A package with no wheel among them is an error: pip's other way out, an older release, is one that
nobody tested.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from infra.python_support import RUNTIMES

ELF_MACHINES = {"x86_64": 62, "arm64": 183}
_PIP_ARCHITECTURES = {"x86_64": "x86_64", "arm64": "aarch64"}
_OLDEST_GLIBC = (2, 17)


class PackagingError(RuntimeError):
    """The code of a function cannot be packed; the message names the package and says what to do."""


@dataclass(frozen=True)
class Target:
    """The platform of a function."""

    python: str
    """Minor version, e.g. ``3.12``."""
    architecture: str
    """``arm64`` or ``x86_64``."""

    def platforms(self) -> list[str]:
        """Wheel platform tags that load there, newest first."""
        arch = _PIP_ARCHITECTURES[self.architecture]
        major, newest = RUNTIMES[self.python].glibc
        tags = [f"manylinux_{major}_{minor}_{arch}" for minor in range(newest, _OLDEST_GLIBC[1] - 1, -1)]
        return [*tags, f"manylinux2014_{arch}"]


def requirements(*files: Path) -> list[str]:
    """The requirements in pip files, without comments."""
    lines = [
        re.sub(r"(^|\s)#.*", "", line).strip() for file in files for line in file.read_text().splitlines()
    ]
    return [line for line in lines if line]


def unpack(wanted: Iterable[str], target: Target, cache: Path) -> Path:
    """A folder with the wanted packages and all that they need, as a function's code has it.

    Each version is the one installed in the environment that deploys, where there is one, so what runs on
    Lambda is what was tested. The folder is made once for the same wishes and then kept in ``cache``.

    Raises:
        PackagingError: pip finds no wheel, or a wheel is for another platform.
    """
    wishes = sorted(wanted)
    pins = _installed_versions(unless_chosen_in=wishes)
    key = hashlib.sha256("\n".join([repr(target), *wishes, *pins]).encode()).hexdigest()[:16]
    folder = cache / f"{target.python}-{target.architecture}-{key}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            wheels, unpacked = Path(scratch, "wheels"), Path(scratch, "unpacked")
            _download(wishes, pins, target, wheels)
            unpacked.mkdir()
            for wheel in sorted(wheels.glob("*.whl")):
                _unzip(wheel, unpacked)
            check_binaries(unpacked, target)
            _publish(unpacked, folder)
    return folder


def check_binaries(folder: Path, target: Target) -> None:
    """See that every shared library is of the target's processor, and every extension module of its Python.

    Raises:
        PackagingError: naming the file that is not.
    """
    cpython = "cpython-" + target.python.replace(".", "")
    for path in sorted(folder.rglob("*.so*")):
        with path.open("rb") as file:
            header = file.read(20)
        machine = int.from_bytes(header[18:20], "little")
        if header[:4] != b"\x7fELF" or machine != ELF_MACHINES[target.architecture]:
            raise PackagingError(
                f"{path.relative_to(folder)} is not built for {target.architecture} (ELF machine {machine}); "
                "remove the build cache and synthesise again"
            )
        built_for = re.search(r"\.(cpython-\d+)", path.name)
        if built_for and built_for[1] != cpython:
            raise PackagingError(
                f"{path.relative_to(folder)} is built for {built_for[1]}, the function runs {cpython}"
            )


def _installed_versions(*, unless_chosen_in: list[str]) -> list[str]:
    """What is installed here, as constraints for pip, but for packages whose version the wishes say
    themselves.
    """
    chosen = {_normalised(wish) for wish in unless_chosen_in if re.search(r"[=<>~!@]", wish)}
    installed = {
        _normalised(dist.metadata["Name"]): dist.version
        for dist in importlib.metadata.distributions()
        if dist.metadata["Name"] and "+" not in dist.version  # a local version (+cpu) is on no index
    }
    return sorted(f"{name}=={version}" for name, version in installed.items() if name not in chosen)


def _normalised(requirement: str) -> str:
    """The name that a requirement begins with, as indexes compare names (PEP 503)."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def _download(wishes: list[str], pins: list[str], target: Target, wheels: Path) -> None:
    wheels.mkdir()
    constraints = wheels / "constraints.txt"
    constraints.write_text("\n".join(pins) + "\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={target.python}"]
    command += [f"--platform={tag}" for tag in target.platforms()]
    command += [f"--dest={wheels}", f"--constraint={constraints}", *wishes]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PIP_NO_INPUT": "1"}
    )
    if done.returncode:
        raise PackagingError(
            f"pip found no wheels of {', '.join(wishes)} for Python {target.python} on {target.architecture} "
            f"(glibc {'.'.join(map(str, RUNTIMES[target.python].glibc))}):\n{done.stderr.strip()}\n"
            "Choose another version of the package, another architecture, or deploy from another Python."
        )


def _unzip(wheel: Path, folder: Path) -> None:
    """Unpack as an installer would, but for scripts and headers, which a function has no use for."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            parts = Path(name).parts
            if len(parts) > 2 and parts[0].endswith(".data"):
                if parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            if name.endswith("/") or ".." in parts:
                continue
            path = folder.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, path.open("wb") as sink:
                shutil.copyfileobj(source, sink)


def _publish(folder: Path, name: Path) -> None:
    """Give a finished folder its name; another process may have been first, with the same content."""
    try:
        folder.rename(name)
    except OSError:
        if not name.is_dir():
            raise
