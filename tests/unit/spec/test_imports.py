from __future__ import annotations

import subprocess
import sys

import pytest

import bellwren.spec


def loaded_by(statement: str) -> set[str]:
    """Top-level packages that a fresh interpreter has after the statement."""
    script = f"{statement}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    [
        "spec",
        "spec.identity",
        "spec.sizes",
        "spec.uris",
        "spec.strict_json",
        "spec.available",
        "algorithms.parameters",
    ],
)
def test_what_workers_may_import_needs_the_standard_library_only(module: str) -> None:
    heavy = {
        "pydantic",
        "pydantic_core",
        "numpy",
        "boto3",
        "botocore",
        "click",
        "rich",
        "tqdm",
        "cloudpickle",
    }
    assert loaded_by(f"import bellwren.{module}") & heavy == set()


def test_reading_documents_needs_pydantic_and_no_more() -> None:
    loaded = loaded_by("import bellwren.spec.validate")
    assert "pydantic" in loaded
    assert loaded & {"numpy", "boto3", "botocore", "obstore", "click", "rich", "cloudpickle"} == set()


def test_the_package_offers_its_names_and_no_others() -> None:
    for name in bellwren.spec.__all__:
        assert getattr(bellwren.spec, name) is not None
        assert name in dir(bellwren.spec)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = bellwren.spec.nonsense
