"""Strict JSON (RFC 8259 in UTF-8), with every objection named by its place.

Python's own parser takes more than JSON (NaN, 1e400 as infinity) and is silent about what other readers see
differently (repeated names, lone surrogates). Here those are faults. A value at a faulty place is read as null,
so that the rest of the document can still be judged; the places are told, so that the null is not.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from bellwren.errors import Fault, SpecError
from bellwren.spec import syntax
from bellwren.spec.inspection import (
    MAX_DOCUMENT_BYTES,
    MAX_NUMBER_BITS,
    MAX_VALUES,
    TOO_DEEP,
    Inspector,
    NotFinite,
    Reading,
    Repeated,
    too_large,
    too_many_values,
)

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def read(data: bytes) -> Reading:
    """Read one JSON text. Raises :class:`SpecError` with one fault where the bytes are no JSON at all."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise SpecError([too_large()])
    text = syntax.decode(data)
    if _values_at_most(text) > MAX_VALUES:
        raise SpecError([too_many_values()])
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as refused:
        raise SpecError([syntax.explain(text, refused)]) from None
    except RecursionError:
        raise SpecError([Fault("", *TOO_DEEP)]) from None
    return Inspector(owned=True).read(value)


def adopt(value: Any) -> Reading:
    """The same for a value built in Python: a copy, with lists for tuples; a fault for what JSON cannot say.

    Whole and real numbers of other libraries (numpy) become Python's; nothing else is converted.
    """
    return Inspector(owned=False).read(value)


def _values_at_most(text: str) -> int:
    """A bound on the number of values, told without building them: each follows a comma or opens a bracket."""
    bound = _marks(text)
    # Marks inside of strings open nothing; looking for them is dear, and only done where it could matter.
    return bound if bound <= MAX_VALUES else _marks(_STRING.sub("0", text))


def _marks(text: str) -> int:
    return text.count(",") + text.count("[") + text.count("{") + 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else Repeated(pairs)


def _real(text: str) -> float | NotFinite:
    value = float(text)
    return value if math.isfinite(value) else NotFinite(text)


def _whole(text: str) -> int | NotFinite:
    # int() refuses more than 4,300 digits with an error that names no place.
    if len(text) > 320:
        return NotFinite(text)
    value = int(text)
    return value if value.bit_length() <= MAX_NUMBER_BITS else NotFinite(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_real, parse_int=_whole, parse_constant=NotFinite
)
