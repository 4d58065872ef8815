"""Folders below /tmp: an invocation's own, and what killed invocations left.

Lambda starts a killed process anew in the same environment and leaves /tmp as it is. What was left there would take the
space of every later invocation, so the next one deletes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def own_folder() -> Iterator[str]:
    """A folder until the block ends; before it is made, those whose owners are gone are deleted.

    A folder's owner holds a lock on it, which the system takes back however the owner ends. So workers that share a
    /tmp, as on the local cloud, leave each other's alone.
    """
    home = user_folder("work")
    with locked(os.path.join(home, "lock")):
        for entry in os.scandir(home):
            if entry.is_dir(follow_symlinks=False):
                _remove_if_left(entry.path)
        folder = tempfile.mkdtemp(dir=home)
        owner = os.open(folder, os.O_RDONLY)
        fcntl.flock(owner, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        remove(folder)
        os.close(owner)


def _remove_if_left(folder: str) -> None:
    try:
        owner = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # its owner has just deleted it
        return
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        remove(folder)
    finally:
        os.close(owner)


def user_folder(purpose: str) -> str:
    """``bellwren-<purpose>-<user id>`` in the folder for temporary files; only this user may enter it."""
    folder = os.path.join(tempfile.gettempdir(), f"bellwren-{purpose}-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """The block runs in one process at a time."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove(folder: str) -> None:
    """Delete the folder, also where its contents may not be written to."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(folder, 0o700)
    for place, folders, _ in os.walk(folder):
        for name in folders:
            inner = os.path.join(place, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
