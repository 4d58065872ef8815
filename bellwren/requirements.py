"""Packages for one job: resolved and built by the client for the workers' Python and platform, before anything starts.

pip takes wheels only, so nothing is compiled and nothing of the packages runs here. What comes out is one zip,
the same bytes for the same packages, named by its checksum: it is uploaded once, and each warm worker unpacks it once.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bellwren.deployment import Deployment
from bellwren.errors import PayloadError
from bellwren.payload.distributions import ALWAYS

MAX_UNPACKED_BYTES = 400_000_000
"""A worker has 512 MB of disk, and user code wants some of it."""
KEPT_S = 24 * 3600.0
"""So long what was resolved for the same wishes is used again; then pip is asked for newer releases."""
_FORGOTTEN_S = 30 * KEPT_S
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_ADVICE = (
    "Only wheels are taken, since nothing is compiled on the way: name a version that has one, or build the package "
    "into a wheel"
)


@dataclass(frozen=True)
class Target:
    """What the workers run."""

    python: str
    """Minor version, e.g. ``3.12``."""
    platforms: tuple[str, ...]
    """Wheel platform tags that load there, best first; empty for this machine's own."""

    @staticmethod
    def of(deployment: Deployment) -> Target:
        """That of a deployment."""
        return Target(deployment.python or _here(), deployment.worker_platforms)

    def __str__(self) -> str:
        where = f"on {self.platforms[0]}" if self.platforms else "on this machine's platform"
        return f"for Python {self.python} {where}"


@dataclass(frozen=True)
class Bundle:
    """Packages in one zip."""

    path: Path
    sha256: str
    python: str
    unpacked_bytes: int
    resolved: tuple[str, ...]
    """``name==version`` of each distribution in it."""

    def reference(self, key: str) -> dict[str, object]:
        """How a job document names the bundle that was stored under ``key``."""
        return {
            "key": key,
            "sha256": self.sha256,
            "python": self.python,
            "unpacked_bytes": self.unpacked_bytes,
            "resolved": list(self.resolved),
        }


def build(requirements: Sequence[str], target: Target, *, cache: Path | None = None) -> Bundle:
    """Resolve requirements and build their bundle, or find it where it was built lately.

    Args:
        requirements: as pip takes them, such as ``pandas>=2``; no options.
        target: what the workers run.
        cache: folder for bundles; by default ``bellwren`` below the user's cache folder.

    Raises:
        PayloadError: naming what cannot be resolved, or how large the packages are and how large they may be.
    """
    home = cache or _cache()
    home.mkdir(parents=True, exist_ok=True)
    _forget_old(home)
    wishes = sorted({one.strip() for one in requirements})
    key = hashlib.sha256(
        json.dumps([wishes, target.python, target.platforms, sys.version]).encode()
    ).hexdigest()
    described = home / f"{key[:32]}.json"
    if found := _recent(described, home):
        return found
    with tempfile.TemporaryDirectory(dir=home) as scratch:
        folder = Path(scratch, "packages")
        _install(wishes, target, folder)
        resolved = _prune(folder)
        _compile(folder, target)
        unpacked_bytes = _checked_size(folder, wishes)
        packed = Path(scratch, "bundle.zip")
        _zip(folder, packed)
        sha256 = _sha256(packed)
        path = home / f"{sha256}.zip"
        packed.replace(path)
    bundle = Bundle(path, sha256, target.python, unpacked_bytes, resolved)
    described.write_text(json.dumps(bundle.reference("")))
    return bundle


def _forget_old(home: Path) -> None:
    """Bundles that nobody has asked for in a month go."""
    for path in home.glob("*.*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _FORGOTTEN_S:
                path.unlink()


def _recent(described: Path, home: Path) -> Bundle | None:
    try:
        if time.time() - described.stat().st_mtime > KEPT_S:
            return None
        known = json.loads(described.read_text())
        path = home / f"{known['sha256']}.zip"
        if _sha256(path) != known["sha256"]:
            return None
        os.utime(path)
        return Bundle(
            path, known["sha256"], known["python"], known["unpacked_bytes"], tuple(known["resolved"])
        )
    except (OSError, ValueError, KeyError):
        return None


def _install(wishes: list[str], target: Target, folder: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise PayloadError(
            "requirements are resolved by pip, which this environment does not have; install it with "
            "`python -m ensurepip` (or `uv pip install pip`)"
        )
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--only-binary=:all:", "--no-compile", "--no-warn-conflicts", f"--target={folder}"]
    if target.platforms:
        command += ["--implementation=cp", f"--python-version={target.python}"]
        command += [f"--platform={tag}" for tag in target.platforms]
    done = subprocess.run([*command, "--", *wishes], capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join(line for line in done.stderr.splitlines() if line.strip())[-3000:]
        raise PayloadError(
            f"the requirements {', '.join(map(repr, wishes))} cannot be had {target}, so nothing was submitted. "
            f"{_ADVICE}. pip said:\n{said}"
        )


def _prune(folder: Path) -> tuple[str, ...]:
    """Leave out scripts, what differs from machine to machine, and what each worker has; name the rest."""
    resolved = []
    for info in sorted(folder.glob("*.dist-info")):
        distribution = importlib.metadata.PathDistribution(info)
        name, files = distribution.metadata["Name"], list(distribution.files or ())
        if re.sub(r"[-_.]+", "-", name).lower() in ALWAYS:
            for top in {file.parts[0] for file in files if file.parts[0] != ".."}:
                _remove(folder / top)
            continue
        resolved.append(f"{name}=={distribution.version}")
        for file in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"):
            (info / file).unlink(missing_ok=True)
    _remove(folder / "bin")
    for cache in list(folder.rglob("__pycache__")):
        _remove(cache)
    return tuple(resolved)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _compile(folder: Path, target: Target) -> None:
    """Bytecode once here, not in every runner; left out where this is another Python than the workers'."""
    if target.python != _here():
        return
    command = [sys.executable, "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    # What does not compile (templates, tests for other versions) is left to whoever imports it.
    subprocess.run(
        [*command, "-s", str(folder), "-p", "", str(folder)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


def _checked_size(folder: Path, wishes: list[str]) -> int:
    sizes = {
        entry.name: sum(path.stat().st_size for path in (entry, *entry.rglob("*")) if path.is_file())
        for entry in folder.iterdir()
    }
    total = sum(sizes.values())
    if total > MAX_UNPACKED_BYTES:
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
        told = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in largest)
        raise PayloadError(
            f"the requirements {', '.join(map(repr, wishes))} take {total / 1e6:.0f} MB on a worker, and at most "
            f"{MAX_UNPACKED_BYTES / 1e6:.0f} MB fit, so nothing was submitted. The largest are {told}. Require less "
            "(extras, a smaller build of the package), or deploy the packages with the workers "
            "(infra/requirements/worker-extra.txt)"
        )
    return total


def _zip(folder: Path, target: Path) -> None:
    """The same bytes for the same files: sorted, without their times and owners."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in _files(folder):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            with path.open("rb") as source, archive.open(entry, "w") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bellwren" / "requirements"


def _here() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"
