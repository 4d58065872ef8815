"""Notices that a module was edited after the client imported it: workers run the new text, the client the old."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from bellwren.payload.sources import Source


def warn_if_edited(source: Source) -> None:
    """Warn if a function of the loaded module is not the one in its file any more."""
    module = source.module
    # Others than the plain loader (pytest's) compile something else than the text.
    if module is None or type(getattr(module, "__loader__", None)) is not SourceFileLoader:
        return
    written = _functions(source.text, source.file)
    for value in vars(module).values():
        if isinstance(value, FunctionType) and value.__code__.co_filename == source.file:
            code = written.get(value.__code__.co_qualname)
            if value.__module__ == source.name and code is not None and code != value.__code__:
                warnings.warn(
                    f"{source.file} was edited after module {source.name!r} was imported: workers run it as it is "
                    f"now, this process as it was (function {value.__name__!r} differs); importlib.reload makes "
                    "them one",
                    stacklevel=2,
                )
                return


@lru_cache(maxsize=256)
def _functions(text: bytes, file: str) -> dict[str, CodeType]:
    """The code of the functions of a module by their names; of a name that is defined twice, none."""
    found: list[CodeType] = []
    queue = [compile(text, file, "exec", dont_inherit=True)]
    while queue:
        inner = [constant for constant in queue.pop().co_consts if isinstance(constant, CodeType)]
        found += inner
        queue += inner
    names = Counter(code.co_qualname for code in found)
    return {code.co_qualname: code for code in found if names[code.co_qualname] == 1}
