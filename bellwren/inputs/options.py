"""Reading and checking the options of an input, one by one and against each other.

Each parser returns the value to keep and raises ``ValueError`` with what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from bellwren.inputs.compression import COMPRESSIONS
from bellwren.inputs.encodings import ERROR_HANDLERS, encoding
from bellwren.spec.sizes import parse_size
from bellwren.spec.uris import parse_s3_uri

if TYPE_CHECKING:
    from bellwren.inputs.spec import InputSpec

_SHOWN_CHARACTERS = 80


def uri(value: Any) -> str:
    """The address of an object or a prefix."""
    if not isinstance(value, str):
        raise ValueError("an S3 address such as s3://bucket/folder/")  # noqa: TRY004  it becomes a Fault
    return str(parse_s3_uri(value))


def as_json(value: Any) -> Any:
    """An option's value as it stands in a document; ``bytes`` as ``{"hex": ...}``."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return list(value) if isinstance(value, tuple) else value


def shown(value: Any) -> str:
    """A value in an error, shortened."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _chunk(value: Any) -> int:
    size = parse_size(value)
    if size < 1:
        raise ValueError('a size of at least one byte, such as "32MB"')
    return size


def _encoding(value: Any) -> str | None:
    try:
        return None if value is None else encoding(value).codec
    except (LookupError, TypeError):
        raise ValueError('a text encoding that Python knows, such as "utf-8", or null for bytes') from None


def _newline(value: Any) -> str | bytes | None:
    if isinstance(value, dict) and list(value) == ["hex"] and isinstance(value["hex"], str):
        value = bytes.fromhex(value["hex"])
    if value is None or (isinstance(value, str | bytes) and value):
        return value
    raise ValueError(
        'the text that ends a line, or {"hex": "0d0a"} for bytes, or null for LF with or without CR'
    )


def _columns(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = list(value) if isinstance(value, list | tuple) else []
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("a list of one or more different column names")
    return tuple(names)


def _character(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0":
        raise ValueError("one character that is no line end and not NUL")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004  it becomes a Fault
    return value


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return str(value)

    return parse


PARSERS: dict[str, Callable[[Any], Any]] = {
    "chunk": _chunk,
    "encoding": _encoding,
    "errors": _one_of(*ERROR_HANDLERS),
    "newline": _newline,
    "compression": _one_of("auto", *COMPRESSIONS),
    "header": _flag,
    "columns": _columns,
    "delimiter": _character,
    "quote": lambda value: None if value is None else _character(value),
    "quoted_newlines": _flag,
}


def conflicts(spec: InputSpec) -> Iterator[tuple[str, str, str]]:
    """Options that are right by themselves and wrong together: (option, what was found, what is allowed)."""
    if spec.format == "csv" and spec.encoding is None:
        yield "encoding", "null", "a text encoding; CSV is read as text"
    if spec.format == "csv" and spec.delimiter == spec.quote:
        yield "quote", shown(spec.quote), "another character than the delimiter"
    if spec.format != "lines" or spec.newline is None or spec.encoding is None:
        return
    known = encoding(spec.encoding)
    codec = known.codec if known.settled else f"{known.codec}-le"
    try:
        size, empty = len(spec.newline_bytes(codec)), not spec.newline_text(codec)
    except UnicodeError:
        yield "newline", shown(spec.newline), f"characters that {spec.encoding} has"
        return
    if empty or size % known.unit:
        yield "newline", shown(spec.newline), f"whole characters of {spec.encoding}"
    elif not known.settled and isinstance(spec.newline, bytes):
        yield (
            "newline",
            shown(spec.newline),
            f"text, since the byte order of {spec.encoding} differs by object",
        )
