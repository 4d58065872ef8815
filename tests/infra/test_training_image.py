"""The container image of the training function, as far as it can be looked at without Docker."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from importlib import metadata

import pytest

from infra.packaging import REQUIREMENTS, ROOT, TRAIN, Packer
from infra.wheels import Target


@pytest.fixture(scope="module")
def packer(tmp_path_factory):
    return Packer(
        with_wheels=True, cache=tmp_path_factory.mktemp("cache")
    )  # its folders last as long as it does


@pytest.fixture(scope="module")
def folder(packer):
    """What `docker build` is given, made by somebody whose new files nobody else may read."""
    mask = os.umask(0o077)
    try:
        return packer.bundle(TRAIN, Target("3.12", "x86_64")).folder
    finally:
        os.umask(mask)


@pytest.fixture(scope="module")
def steps(folder):
    """(instruction, arguments) of the Dockerfile."""
    text = (folder / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line and line[0] != "#"]
    return [(name, " ".join(rest.split())) for name, rest in lines]


def of(steps, name):
    return [rest for step, rest in steps if step == name]


def pins(file):
    lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    return dict(line.split("==") for line in lines)


def test_training_is_a_container_image_of_this_source(templates, folder):
    train = templates.named("AWS::Lambda::Function", "FunctionName", "bellwren-test-train")
    assert train.properties["PackageType"] == "Image"
    assert {entry.name for entry in folder.iterdir()} == {
        *("bellwren", "functions", "training"),
        *("Dockerfile", "requirements.txt"),
    }


def test_all_that_is_copied_is_there_and_all_that_is_there_is_copied(folder, steps):
    copied = dict(rest.split() for rest in of(steps, "COPY"))
    assert set(copied) == {entry.name for entry in folder.iterdir()} - {"Dockerfile"}
    # Each where Python looks for it: the task root is on the path of Lambda's images.
    assert all(
        copied[name] == "${LAMBDA_TASK_ROOT}/" + name for name in ("bellwren", "functions", "training")
    )


def test_its_base_has_a_version_and_the_python_that_the_deployment_asks_for(steps):
    assert [name for name, _ in steps][:2] == ["ARG", "FROM"]
    assert of(steps, "ARG") == ["PYTHON=3.12"]
    assert of(steps, "FROM") == ["public.ecr.aws/lambda/python:${PYTHON}"]


def test_it_runs_without_rights_and_installs_nothing_but_pinned_wheels(folder, steps):
    names = [name for name, _ in steps]
    assert names[-2:] == ["USER", "CMD"]
    assert int(of(steps, "USER")[0]) > 0
    assert set(names) <= {"ARG", "FROM", "COPY", "RUN", "USER", "CMD"}, "nothing is fetched by ADD"
    (run,) = of(steps, "RUN")
    assert run.startswith("pip install ")
    assert {"--no-cache-dir", "--only-binary=:all:", "--requirement"} <= set(run.split())
    assert re.search(r"--extra-index-url https://download\.pytorch\.org/whl/cpu ", run)
    assert all(
        re.fullmatch(r"[0-9]+(\.[0-9]+)+", version) for version in pins(folder / "requirements.txt").values()
    )


def test_it_has_the_versions_that_are_tested():
    # Of PyTorch the image takes the build for the CPU, whose version has a part of its own.
    tested = {name: metadata.version(name).partition("+")[0] for name in pins(REQUIREMENTS / "train.txt")}
    assert pins(REQUIREMENTS / "train.txt") == tested


def test_whoever_runs_in_it_may_read_all_of_it(folder):
    modes = {path.relative_to(folder): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    shut = {str(path): oct(mode) for path, mode in modes.items() if not mode & stat.S_IROTH}
    assert shut == {}
    assert all(mode & stat.S_IXOTH for path, mode in modes.items() if (folder / path).is_dir())


def test_its_handler_is_there_and_imports_nothing_from_elsewhere(folder, steps):
    (command,) = of(steps, "CMD")
    module, _, name = command.strip('[]"').rpartition(".")
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}, training.learn\n"
        f"assert callable({module}.{name})\n"
        "own = ('bellwren', 'functions', 'training')\n"
        "for key, one in sys.modules.items():\n"
        "    path, top = getattr(one, '__file__', None) or '', key.partition('.')[0]\n"
        "    if top in own: assert path.startswith(sys.path[0]), path\n"
        "    elif 'site-packages' in path: print(top)"
    )
    ran = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    imported = {name for name in ran.stdout.split() if name[0] != "_"}
    # PyTorch and NumPy bring these along, where they are there.
    assert imported - set(pins(REQUIREMENTS / "train.txt")) <= {
        "torchgen",
        "tqdm",
        "typing_extensions",
        "charset_normalizer",
    }


def test_nothing_is_fetched_for_it_before_docker_does(packer, folder):
    assert not list(packer._cache.iterdir())
    assert (ROOT / TRAIN.image).is_file()
