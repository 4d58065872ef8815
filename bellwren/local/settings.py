"""What the local cloud is by default, and the environment in which MiniStack and its Lambda processes run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

HOST = "127.0.0.1"
DEFAULT_PORT = 4566
DEFAULT_STAGE = "dev"
REGION = "us-east-1"
ACCOUNT = "000000000000"
# Not secrets: the cloud listens on this machine only, and AWS knows no such key.
ACCESS_KEY_ID = "test"
SECRET_ACCESS_KEY = "test"  # noqa: S105

MARKER_VARIABLE = "BELLWREN_LOCAL_MARKER"
"""Stands in the environment of the server, and so of every process below it: ours are recognised by it."""
DIRECTORY_VARIABLE = "BELLWREN_LOCAL_DIR"
"""Chooses the directory of the local cloud; see :func:`bellwren.local.state.directory`."""

# A function reaches the network as the user's own programs do.
_PASSED_ON = (
    "HOME",
    "LANG",
    "LC_ALL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
)


def no_proxy(environment: Mapping[str, str]) -> dict[str, str]:
    """``NO_PROXY`` in both spellings, extended so that no proxy stands before the local cloud."""
    given = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    hosts = [host for host in given.split(",") if host]
    value = ",".join(dict.fromkeys([*hosts, HOST, "localhost"]))
    return {"NO_PROXY": value, "no_proxy": value}


def server_environment(
    directory: Path, port: int, marker: str, inherited: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The whole environment of the server, which its Lambda processes inherit.

    It is made from nothing, as on AWS a function does not see the variables of whoever deployed it: no
    PYTHONHASHSEED that would make hashes agree between processes, no PYTHONPATH, no credentials. UTC, as in
    Lambda.
    """
    return {
        **{name: inherited[name] for name in _PASSED_ON if name in inherited},
        **no_proxy(inherited),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "TMPDIR": str(directory / "tmp"),
        "TZ": "UTC",
        MARKER_VARIABLE: marker,
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "AUTH": "true",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "MINISTACK_REGION": REGION,
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "PERSIST_STATE": "1",
        "STATE_DIR": str(directory / "services"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(directory / "objects"),
        # Listeners of services that Bellwren does not use; their fixed ports would stop a second local cloud.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "LAMBDA_WARM_TTL_SECONDS": "120",
    }
