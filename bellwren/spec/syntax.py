"""Why some bytes are no JSON text, in the words of a person who sees them for the first time."""

from __future__ import annotations

import codecs
import json
import re

from bellwren.errors import Fault, SpecError
from bellwren.spec.wording import escaped

_MARKS = (
    (codecs.BOM_UTF8, "a byte order mark (EF BB BF) at the start"),
    (codecs.BOM_UTF32_LE, "the byte order mark of UTF-32"),
    (codecs.BOM_UTF32_BE, "the byte order mark of UTF-32"),
    (codecs.BOM_UTF16_LE, "the byte order mark of UTF-16"),
    (codecs.BOM_UTF16_BE, "the byte order mark of UTF-16"),
)
_FORMATS = (
    (b"\x1f\x8b", "a gzip file"),
    (b"PK\x03\x04", "a zip file"),
    (b"%PDF", "a PDF file"),
    (b"PAR1", "a Parquet file"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
)
_UTF8 = "UTF-8 without a byte order mark; save the document so (editors call it UTF-8, not UTF-8 with BOM)"
_JSON = "one JSON object in UTF-8, which begins with {"
_AROUND = 24
_SPOILT_NUMBER = re.compile(r"^.?\|[-+.]|^[0-9.]\|[0-9.eExX_]", re.DOTALL)
_NUMBERS = (
    "a number is written 12, -1.5 or 1e9: no + sign, no leading zero, digits on both sides of the point"
)


def decode(data: bytes) -> str:
    """The text of a document. Raises :class:`SpecError` where it is empty, or not plain UTF-8."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            raise SpecError([Fault("", name, _UTF8)])
    for start, name in _FORMATS:
        if data.startswith(start):
            raise SpecError([Fault("", name, _JSON)])
    if not data.strip(b" \t\r\n"):
        raise SpecError([Fault("", "an empty document" if not data else "only white space", _JSON)])
    if len(data) >= 4 and (data[0] == data[2] == 0) != (data[1] == data[3] == 0):
        raise SpecError([Fault("", "text in UTF-16 (every other byte is zero)", _UTF8)])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as refused:
        line, column = _position(data[: refused.start].decode("utf-8", "replace"))
        wrong = f"byte {data[refused.start]:#04x} at line {line}, column {column}, which is no UTF-8"
        raise SpecError([Fault("", wrong, _UTF8)]) from None


def explain(text: str, refused: json.JSONDecodeError) -> Fault:
    """The parser's objection as a fault with line, column, the text around it, and what to write instead."""
    at = min(refused.pos, len(text))
    line, column = _position(text[:at])
    rest = text[at : at + _AROUND]
    if not rest.strip():
        shown = "the end of the document"
    else:
        after = f" after `{escaped(text[max(0, at - _AROUND) : at])}`" if at else ""
        shown = f"`{escaped(rest)}`{after}"
    return Fault("", f"line {line}, column {column}: {shown}", f"JSON; {_advice(text, at, refused.msg)}")


def _position(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _advice(text: str, at: int, message: str) -> str:
    rest = text[at : at + _AROUND]
    before = text[max(0, at - 200) : at].rstrip()
    for matches, advice in (
        (message.startswith("Extra data"), "nothing may follow the end of the document's object"),
        (message.startswith("Unterminated string"), 'this text has no closing "'),
        (message.startswith("Invalid control"), "write line breaks in a text as \\n and tabs as \\t"),
        (
            "escape" in message,
            'write \\\\ for a backslash; escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u1234',
        ),
        (not rest.strip(), "something is missing at the end, such as a closing } or ]"),
        (
            "trailing comma" in message or (rest[:1] in "}]" and before.endswith(",")),
            "leave out the last comma",
        ),
        (rest.startswith("'"), 'texts and names stand in "double quotes"'),
        (rest.startswith(("//", "/*", "#")), "JSON has no comments"),
        (re.match(r"True|False|None|undefined", rest) is not None, "write true, false and null"),
        (rest.startswith("<"), "this looks like HTML or XML"),
        (_SPOILT_NUMBER.search(before[-1:] + "|" + rest) is not None, _NUMBERS),
        ("':' delimiter" in message, "a colon belongs here, between a name and its value"),
        ("delimiter" in message, "a comma or the closing bracket belongs here"),
        ("property name" in message, 'the name of a field in "double quotes" belongs here'),
        (
            True,
            "a value belongs here: text in double quotes, a number, true, false, null, a list or an object",
        ),
    ):
        if matches:
            return advice
    raise AssertionError("the last row always matches")
