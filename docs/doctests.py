"""For the site's API reference: examples in docstrings are code, although no heading stands above them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from griffe import Extension, Object


class Doctests(Extension):
    """Fences every paragraph that begins with a prompt."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called for each object that was found."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The docstring with its doctests in fences."""
    parts = []
    for blank, group in groupby(text.splitlines(), key=lambda line: not line.strip()):
        lines = list(group)
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        if not blank and lines[0].lstrip().startswith(">>> "):
            lines = [f"{indent}```pycon", *lines, f"{indent}```"]
        parts += lines
    return "\n".join(parts)
