"""What is written down about a local cloud, and where: one directory holds everything of it.

``cloud.json`` (this module), ``cloud.log``, ``deploy.log``, ``cdk.out/``, and what MiniStack keeps:
``services/``, ``objects/``, ``tmp/``.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bellwren.local.errors import LocalCloudError
from bellwren.local.settings import DIRECTORY_VARIABLE

_STATE_FILE = "cloud.json"
_LOCK_FILE = "lock"
_LOCK_WAIT_S = 600.0


@dataclass(frozen=True)
class State:
    """One local cloud, as the next command needs to know it."""

    port: int
    """Stays the same between starts, because URLs with it are stored in the cloud."""
    stage: str
    """The stage that was started last."""
    checkout: str
    """The directory of the ``app.py`` that is deployed."""
    python: str
    """The interpreter that runs the server and the functions."""
    marker: str
    """Stands in the environment of the server and of every process below it."""
    pid: int | None
    """Process of the server; None when it was stopped."""
    deployed: tuple[str, ...] = ()
    """Stages whose deployment was once complete."""


def checkout_of_package() -> Path | None:
    """The checkout that this package is imported from, or None where it was installed by itself."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "app.py").is_file() and (root / "cdk.json").is_file() else None


def directory(explicit: Path | str | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """The directory of the local cloud.

    What the caller names; else ``BELLWREN_LOCAL_DIR``; else ``.bellwren/`` in the checkout that the package
    comes from, so that two checkouts never share a cloud and it is found from every working directory; else
    ``~/.bellwren``.
    """
    named = explicit or environment.get(DIRECTORY_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    return (checkout_of_package() or Path.home()) / ".bellwren"


def read(place: Path) -> State | None:
    """The state written in ``place``, or None when there is none.

    Raises:
        LocalCloudError: the file is damaged.
    """
    file = place / _STATE_FILE
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return State(**{**found, "deployed": tuple(found["deployed"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise LocalCloudError(
            f"the state file {file} of the local cloud is damaged ({error}); "
            "`bellwren local start --fresh` deletes it with this cloud's jobs and buckets, and begins anew"
        ) from error


def write(place: Path, state: State) -> None:
    """Write ``state`` down, whole or not at all."""
    place.mkdir(parents=True, exist_ok=True)
    draft = place / f"{_STATE_FILE}.new"
    draft.write_text(json.dumps(asdict(state), indent=2) + "\n", encoding="utf-8")
    draft.replace(place / _STATE_FILE)


def forget(place: Path) -> None:
    """Remove the state file."""
    (place / _STATE_FILE).unlink(missing_ok=True)


@contextmanager
def locked(place: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Keep every other start and stop in ``place`` waiting meanwhile.

    Raises:
        LocalCloudError: another one did not end within ten minutes.
    """
    place.mkdir(parents=True, exist_ok=True)
    with (place / _LOCK_FILE).open("w", encoding="utf-8") as file:
        deadline = time.monotonic() + _LOCK_WAIT_S
        waiting = False
        while not _take(file.fileno()):
            if not waiting:
                report("waiting for another `bellwren local` command to end")
                waiting = True
            if time.monotonic() > deadline:
                raise LocalCloudError(
                    f"another `bellwren local` command has been at work in {place} for {_LOCK_WAIT_S:.0f} s; "
                    "end it and try again"
                )
            time.sleep(0.1)
        yield  # closing the file gives the lock back


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
