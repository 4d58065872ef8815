"""A bare S3: MiniStack on a port of its own, in a process that ends with the tests."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from bellwren.local.settings import server_environment

_PATIENCE_S = 60.0
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class Server:
    """MiniStack, for its S3 alone: no deployment, no permissions, objects in memory."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.endpoint = f"http://127.0.0.1:{self.port}"
        (folder / "tmp").mkdir()
        # A marker of its own: when the tests that own a server end, every process that bears its marker does.
        environment = server_environment(folder, self.port, secrets.token_hex(8))
        environment |= {"AUTH": "false", "PERSIST_STATE": "0", "S3_PERSIST": "0", **CREDENTIALS}
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bellwren.local.server", str(folder), str(os.getpid())],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        until = time.monotonic() + _PATIENCE_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"MiniStack did not start; see {folder / 'log'}")
            time.sleep(0.05)

    def create_bucket(self, name: str) -> None:
        request = urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")
        urllib.request.urlopen(request, timeout=10).close()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.endpoint}/_bellwren", timeout=5).close()
        except (urllib.error.URLError, OSError):
            return False
        return True
