"""What code imports is read from its text or byte code, and nothing is run."""

from __future__ import annotations

import textwrap

import pytest

from bellwren.payload import imports
from bellwren.payload.imports import Import


def of_text(text: str, package: str = "pkg") -> set[Import]:
    return set(imports.of_module(textwrap.dedent(text).encode(), "f.py", package).imports)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a", {("a", True, False)}),
        ("import a.b as c, d", {("a.b", True, False), ("d", True, False)}),
        ("from a import b", {("a", True, False), ("a.b", True, True)}),
        ("from . import b", {("pkg", True, False), ("pkg.b", True, True)}),
        ("from .x import *", {("pkg.x", True, False)}),
        ("from ..... import b", set()),
        ("with x:\n  import a", {("a", True, False)}),
        ("class C:\n  import a", {("a", True, False)}),
        ("def f():\n  import a", {("a", False, False)}),
        ("async def f():\n  async with x:\n    import a", {("a", False, False)}),
        ("try:\n  import a\nexcept ImportError:\n  import b\nelse:\n  import c\nfinally:\n  import d",
         {("a", False, False), ("b", False, False), ("c", False, False), ("d", False, False)}),
        ("if x:\n  import a\nelse:\n  import b", {("a", False, False), ("b", False, False)}),
        ("for x in y:\n  import a", {("a", False, False)}),
        ("match x:\n  case 1:\n    import a", {("a", False, False)}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import a\nelse:\n  import b",
         {("typing", True, False), ("typing.TYPE_CHECKING", True, True), ("b", True, False)}),
        ("x = lambda: import_module('a.b')", {("a.b", False, True)}),
        ("x = 'a.b'", set()),
    ],
)  # fmt: skip
def test_imports_of_a_text(text: str, found: set[tuple[str, bool, bool]]) -> None:
    assert of_text(text) == {Import(*entry) for entry in found}


def test_computed_imports_are_noticed() -> None:
    assert imports.of_module(b"import importlib\nimportlib.import_module(name)", "f.py", "").computed
    assert imports.of_module(b"__import__(name)", "f.py", "").computed
    assert imports.of_module(b"load = importlib.import_module", "f.py", "").computed
    assert imports.of_module(b"importlib.import_module('.x', __name__)", "f.py", "").computed
    assert imports.of_module(b"for m in pkgutil.walk_packages(): pass", "f.py", "").computed
    assert not imports.of_module(b"__import__('threading').Lock()", "f.py", "").computed
    assert not imports.of_module(b"import a\nname.load()", "f.py", "").computed


def test_imports_of_byte_code() -> None:
    def function(x: int) -> None:
        import alpha  # noqa: F401
        import beta.gamma as delta  # type: ignore[import-not-found]  # noqa: F401
        from epsilon import zeta  # type: ignore[import-not-found]  # noqa: F401

        from .. import up  # type: ignore[import-not-found]  # noqa: F401
        from .side import more  # type: ignore[import-not-found]  # noqa: F401

        try:
            import maybe  # type: ignore[import-not-found]  # noqa: F401
        except ImportError as error:
            raise RuntimeError("not there") from error

        def inner() -> None:
            import nested  # type: ignore[import-not-found]  # noqa: F401

        _ = __import__("by.name")

    assert set(imports.of_code(function.__code__, "top.pkg")) == {
        Import(*entry)
        for entry in [
            ("alpha", True, False),
            ("beta.gamma", True, False),
            ("epsilon", True, False),
            ("epsilon.zeta", True, True),
            ("top", True, False),
            ("top.up", True, True),
            ("top.pkg.side", True, False),
            ("top.pkg.side.more", True, True),
            ("maybe", False, False),
            ("nested", True, False),
            ("by.name", False, True),
        ]
    }
