"""Which layer may import which: the library knows nothing of how it is deployed, and a worker starts with little."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ABOVE_THE_LIBRARY = {"aws_cdk", "constructs", "torch", "infra", "functions", "training"}
# Each of these costs a worker more start-up time than all of its own code.
SLOW_TO_IMPORT = {"boto3", "botocore", "numpy", "pydantic", "click", "rich", "tqdm"}
OF_THE_WORKER = ("engine", "inputs", "algorithms", "layout.py", "errors.py", "store.py", "__init__.py")


def modules(*places: str) -> list[Path]:
    found = []
    for place in places:
        path = ROOT / place
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def imports(nodes: list[ast.stmt], *, inside_functions: bool) -> Iterator[str]:
    """Top-level names of what a module imports; what is imported for the type checker alone is not."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node.orelse, inside_functions=inside_functions)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not inside_functions:
            continue
        else:
            for _, value in ast.iter_fields(node):
                if isinstance(value, list):
                    inner = [
                        one for one in value if isinstance(one, (ast.stmt, ast.ExceptHandler, ast.match_case))
                    ]
                    yield from imports(inner, inside_functions=inside_functions)


def imported(path: Path, *, inside_functions: bool) -> set[str]:
    return set(imports(ast.parse(path.read_text()).body, inside_functions=inside_functions))


@pytest.mark.parametrize("path", modules("bellwren"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_library_imports_nothing_that_deploys_or_trains_it(path):
    assert not imported(path, inside_functions=True) & ABOVE_THE_LIBRARY


@pytest.mark.parametrize("path", modules("functions"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_handler_imports_nothing_that_deploys_it(path):
    assert not imported(path, inside_functions=True) & (
        ABOVE_THE_LIBRARY - {"functions", "torch", "training"}
    )


@pytest.mark.parametrize(
    "path",
    modules("functions/worker.py", *(f"bellwren/{name}" for name in OF_THE_WORKER)),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_worker_starts_without_the_slow_packages(path):
    assert not imported(path, inside_functions=False) & SLOW_TO_IMPORT


def test_an_import_is_seen_wherever_it_stands():
    source = """
import a.b
if TYPE_CHECKING:
    import typed
else:
    import other
try:
    from c import d
except ImportError:
    import e
class K:
    import f
    def method(self):
        import g
with x:
    for y in z:
        import h
"""
    nodes = ast.parse(source).body
    assert set(imports(nodes, inside_functions=True)) == {"a", "other", "c", "e", "f", "g", "h"}
    assert set(imports(nodes, inside_functions=False)) == {"a", "other", "c", "e", "f", "h"}
