"""How places and values of a document are put into words: short, printable, and the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

Place = tuple[str | int, ...]
"""Keys and positions from the top of a document to one of its values."""

MAX_PATH_CHARACTERS = 120
MAX_FOUND_CHARACTERS = 90

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_LIKE_A_NUMBER = re.compile(r"\s*[-+]?\d[\d_,.]*([eE][-+]?\d+)?\s*")
_SORTS = ((str, "text"), (bool, "true or false"), (int | float, "a number"), (type(None), "null"))
_WORDS_OF_JSON = {"true", "false", "null"}


def path(place: Place) -> str:
    """``("input", "columns", 3)`` as ``input.columns[3]``; keys that would be unclear stand in quotes."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step[:MAX_PATH_CHARACTERS]) and len(step) <= MAX_PATH_CHARACTERS:
            text += f".{step}" if text else step
        else:
            text += f"[{quoted(step, 60)}]"
        if len(text) > MAX_PATH_CHARACTERS:
            return text[: MAX_PATH_CHARACTERS - 1] + "…"
    return text


def quoted(text: str, limit: int = MAX_FOUND_CHARACTERS) -> str:
    """The text in quotes, cut to the limit, with everything escaped that a terminal might obey."""
    shown = escaped(text[:limit].replace("\\", "\\\\").replace('"', '\\"'))
    more = f"… ({len(text):,} characters)" if len(text) > limit else ""
    return f'"{shown[: 2 * limit]}"{more}'


def escaped(text: str) -> str:
    """The text with everything escaped that a terminal might obey or a reader could not see."""
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def found(value: Any) -> str:
    """A value of a document in a few words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        misleading = value in _WORDS_OF_JSON or _LIKE_A_NUMBER.fullmatch(value[:40])
        return quoted(value) + (" (text)" if misleading else "")
    if isinstance(value, int):
        return f"{value}" if value.bit_length() < 200 else f"a whole number of {value.bit_length():,} bits"
    if isinstance(value, float):
        return repr(value)
    return kind_of(value)


def kind_of(value: Any) -> str:
    """What sort of value it is, without the value."""
    if isinstance(value, Mapping):
        return f"an object with {count(len(value), 'field')}"
    if isinstance(value, list | tuple):
        return f"a list of {count(len(value), 'value')}"
    for sort, name in _SORTS:
        if isinstance(value, sort):
            return name
    return f"a Python {type(value).__module__}.{type(value).__qualname__}"[:MAX_FOUND_CHARACTERS]


def count(number: int, noun: str) -> str:
    """``1 field``, ``2 fields``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(words: Iterable[str], *, last: str = "or") -> str:
    """``a``, ``a or b``, ``a, b or c``; ``nothing`` where there are no words."""
    every = list(words)
    if len(every) < 2:
        return every[0] if every else "nothing"
    return f"{', '.join(every[:-1])} {last} {every[-1]}"


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that was probably meant, if one is near."""
    # difflib's cost grows with the square of the length, and no known word is long.
    close = get_close_matches(word[:40].lower().replace("-", "_"), known, n=1, cutoff=0.6)
    return close[0] if close else None


def _escape(character: str) -> str:
    code = ord(character)
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or (
        f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    )
