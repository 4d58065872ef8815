"""Worker side: from the bytes of a payload back to the function.

Nothing is unpickled before the SHA-256 and the versions of Python and cloudpickle are found to be right: byte code
of another minor version ends in a crash that looks like anything but what it is.
"""

from __future__ import annotations

import hashlib
import os
import sys

from bellwren.errors import PayloadError, VersionMismatch
from bellwren.payload import lines, shipped
from bellwren.payload.envelope import unseal
from bellwren.payload.fresh import Function
from bellwren.payload.outcome import traceback_text
from bellwren.payload.text import message_of


def check_versions(python: str, cloudpickle: str) -> None:
    """Compare the versions that a payload was made with to this process's; a patch level may differ.

    VersionMismatch names both sides. Loads cloudpickle and nothing of the payload.
    """
    import cloudpickle as ours  # noqa: PLC0415 - workers of built-in algorithms never need it

    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if python.split(".")[:2] != here.split("."):
        raise VersionMismatch(
            f"the function was packed by Python {python}, the worker runs Python {here}; run the client with Python "
            f"{here}, or deploy again with Python {python} (nothing was unpickled)"
        )
    if cloudpickle.split(".")[:2] != ours.__version__.split(".")[:2]:
        raise VersionMismatch(
            f"the function was packed by cloudpickle {cloudpickle}, the worker has cloudpickle {ours.__version__}; "
            f"install cloudpickle {ours.__version__} where the client runs, or deploy again (nothing was unpickled)"
        )


def _new_folder() -> str:
    import tempfile  # noqa: PLC0415 - 20 ms, and workers name a folder

    return tempfile.mkdtemp(prefix="bellwren-code-")


def load(data: bytes | memoryview, *, sha256: str, folder: str | None = None) -> Function:
    """The function of a payload.

    Args:
        data: the payload, as `pack.Payload.data` had it. Large read-only arrays of the function stay in it.
        sha256: what its SHA-256 must be.
        folder: where the sources of the user's own modules are written; runners of one payload may share it. A new
            temporary folder by default, which is the caller's to remove with the runner's others.

    Raises:
        PayloadError: the bytes are not the ones named, need a module that the worker does not have, or a module
            of the user's own cannot be imported there; the traceback is in the message.
        VersionMismatch: client and worker differ in Python minor version or cloudpickle.
    """
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise PayloadError(f"the payload has SHA-256 {found}, {sha256} was expected; nothing was unpickled")
    envelope = unseal(data)
    check_versions(envelope.python, envelope.cloudpickle)
    if envelope.modules:
        shipped.install(envelope.modules, os.path.join(folder or _new_folder(), sha256[:16]))
    lines.remember(envelope.lines)
    try:
        return Function(envelope)
    except ModuleNotFoundError as error:
        raise PayloadError(
            f"function {envelope.name!r} needs the module {error.name!r}, which the worker does not have; "
            f"pass requirements=[...] with the package that provides it\n{traceback_text(error)}"
        ) from error
    except (Exception, SystemExit) as error:
        raise PayloadError(
            f"function {envelope.name!r} cannot be loaded on the worker: {type(error).__name__}: "
            f"{message_of(error)}. Modules of your own are imported there anew, so what they read when they are "
            "imported (files, arguments, environment variables) must be there, or be read within the function\n"
            f"{traceback_text(error)}"
        ) from error
