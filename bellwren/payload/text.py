"""Texts of other people's objects, of bounded length, that never fail."""

from __future__ import annotations

import reprlib

MESSAGE_LIMIT = 10_000
"""Most characters of a failure's message."""
TRACEBACK_LIMIT = 64_000
"""Most characters of a failure's traceback."""


class _Short(reprlib.Repr):
    """`repr` that stops early; bytes and arrays are shortened before they are written out."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 160
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 8

    def repr_bytes(self, value: bytes, level: int) -> str:
        """Called for bytes."""
        return repr(value) if len(value) <= 60 else f"{value[:50]!r}... ({len(value)} bytes)"

    repr_bytearray = repr_bytes


_short = _Short()


def short_repr(value: object) -> str:
    """A repr of at most about 200 characters; the type where the object's own repr fails."""
    try:
        return _clip(_short.repr(value), 200)
    except BaseException as error:  # noqa: BLE001 - a broken repr must not hide what is being told
        return f"<{type(value).__qualname__} whose repr raises {type(error).__qualname__}>"


def message_of(error: BaseException) -> str:
    """The exception's text."""
    try:
        return clip(str(error), MESSAGE_LIMIT)
    except BaseException as broken:  # noqa: BLE001 - a broken __str__ must not hide what is being told
        return f"<its __str__ raises {type(broken).__qualname__}>"


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters and a mark, of both ends."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
