"""The packages that a job requires: fetched and unpacked once in a warm environment, then on its runners' path.

The client has built the bundle for this Python and platform. It lies under its checksum below the temporary folder,
which the environment keeps from invocation to invocation, and nobody writes to it again: bytecode is in it already.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sys
import tempfile
from typing import Any

from bellwren.engine.crew import Refused
from bellwren.engine.io import Pool
from bellwren.engine.scratch import locked, remove, user_folder

_ROOM = 1.1
"""So much more than its files a bundle takes on disk."""


async def provide(pool: Pool, bundle: dict[str, Any] | None) -> str:
    """The folder of the bundle, unpacked if it was not yet; empty where there is none.

    Raises:
        Refused: if it is gone, is not what its checksum says, is for another Python, or finds no room.
    """
    if bundle is None:
        return ""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if bundle["python"] != here:
        raise Refused(
            {
                "type": "VersionMismatch",
                "message": f"the job's requirements were built for Python {bundle['python']}, the worker runs {here}",
            }
        )
    folder = os.path.join(user_folder("bundles"), bundle["sha256"])
    if not os.path.isdir(folder):
        data = await _fetch(pool, bundle)
        await pool.call(_unpack, data, folder, int(bundle["unpacked_bytes"]))
    os.utime(os.path.dirname(folder))
    return folder


async def _fetch(pool: Pool, bundle: dict[str, Any]) -> bytes:
    try:
        data = await pool.get(pool.jobs.bucket, bundle["key"])
    except FileNotFoundError as error:
        raise Refused(
            {"type": "InputError", "message": f"the job's requirements are gone: {error}"}
        ) from error
    found = hashlib.sha256(data).hexdigest()
    if found != bundle["sha256"]:
        message = (
            f"{bundle['key']} has SHA-256 {found}, but the job names {bundle['sha256']}; nothing was unpacked"
        )
        raise Refused({"type": "InputError", "message": message})
    return data


def _unpack(data: bytes, folder: str, size_bytes: int) -> None:
    """Unpack beside the folder and give it its name when it is whole; of several processes one does it."""
    import zipfile  # noqa: PLC0415  few jobs bring packages

    home = os.path.dirname(folder)
    with locked(os.path.join(home, "lock")):
        if os.path.isdir(folder):
            return
        _make_room(home, int(size_bytes * _ROOM))
        scratch = tempfile.mkdtemp(dir=home, prefix="new-")
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                archive.extractall(scratch)
                programs = {one.filename for one in archive.infolist() if one.external_attr >> 16 & 0o111}
            _protect(scratch, programs)
            os.rename(scratch, folder)
        except OSError as error:
            remove(scratch)
            raise Refused(
                {
                    "type": "OutOfDisk",
                    "message": f"the job's requirements cannot be unpacked in {home}: {error}",
                }
            ) from error


def _make_room(home: str, size_bytes: int) -> None:
    """Where there is too little, other bundles go: an environment runs one job at a time."""
    if shutil.disk_usage(home).free >= size_bytes:
        return
    for name in os.listdir(home):
        place = os.path.join(home, name)
        if os.path.isdir(place):
            remove(place)


def _protect(folder: str, programs: set[str]) -> None:
    """What one job changed would be there for the next."""
    for place, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(place, name)
            os.chmod(path, 0o500 if os.path.relpath(path, folder) in programs else 0o400)
        os.chmod(place, 0o500)
