"""Which partition a key belongs to.

Two keys that Python holds equal must land in the same partition, in every process, on every machine: ``1``,
``1.0``, ``True`` and ``numpy.int64(1)`` are one key, ``0.0`` and ``-0.0`` are one key, a frozenset has no order.
``hash()`` gives that for numbers (its value for numbers is fixed by the language, see "Hashing of numeric types" in
the library reference) but is salted per process for text, so text and bytes are hashed by BLAKE2b, and containers
by their members. What is equal by a rule that we do not know is refused: it would fall apart silently.
"""

from __future__ import annotations

import datetime
import enum
import math
import numbers
import struct
import sys
import uuid
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePath, PureWindowsPath
from typing import Any

_MASK = (1 << 64) - 1
_NAN = 0x6E616E
_NONE = 0x4E6F6E65
_EMPTY_SET = 0x736574
_NEVER_NAN = frozenset({str, int, bool, bytes, type(None)})
_U64 = struct.Struct("<Q")
_WELL_KNOWN = frozenset(
    {"builtins", "datetime", "decimal", "enum", "fractions", "numpy", "pandas", "pathlib", "uuid"}
)
"""Packages whose ``__eq__`` is the one that is meant below; a subclass may have another."""
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROSECOND = 10**12
"""In attoseconds, the finest unit of NumPy's times."""
_ATTOSECONDS = {
    **{"W": 7 * 86_400 * 10**18, "D": 86_400 * 10**18, "h": 3_600 * 10**18, "m": 60 * 10**18, "s": 10**18},
    **{"ms": 10**15, "us": _MICROSECOND, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1},
}
_MONTHS = {"Y": 12, "M": 1}


def stable_hash(key: Hashable) -> int:
    """A 64-bit hash of ``key``, equal for equal keys and the same in every process.

    Raises:
        TypeError: for a key whose equality Bellwren does not know (an instance of a user's class that is neither an
            enum nor a frozen dataclass, or that compares in a way of its own); the message says what to use instead.
    """
    if type(key) is str:
        return _digest(b"s", key.encode("utf-8", "surrogatepass"))
    if not _compares_as_known(type(key)):
        raise _unknown(key)
    if _is_numpys_time(key):
        return _of_numpys_time(key)
    if isinstance(key, numbers.Number | Decimal):
        return _of_number(key)
    return _of_other(key)


def partition_of(key: Hashable, partitions: int) -> int:
    """Index of the partition of ``key``, in ``range(partitions)``."""
    return partition_of_hash(stable_hash(key), partitions)


def partition_of_hash(hashed: int, partitions: int) -> int:
    """As ``partition_of``, for a key's hash. The high bits choose, so that a partition is a range of hashes."""
    return (hashed * partitions) >> 64


def canonical(key: Any) -> Any:
    """The key under which a NaN groups with every other NaN, as missing values do in SQL's GROUP BY.

    A NaN differs from itself, so without this each one would be a group of its own: of whatever type it is (``float``,
    ``Decimal``, ``complex``, NumPy's, the NaT of times), and within tuples and frozensets. Only keys that hold a NaN
    change.
    """
    if type(key) in _NEVER_NAN:
        return key
    if isinstance(key, tuple):
        members = [canonical(member) for member in key]
        same = all(one is other for one, other in zip(members, key, strict=True))
        return key if same else tuple.__new__(type(key), members)
    if isinstance(key, frozenset):
        return (
            frozenset(map(canonical, key)) if any(canonical(member) is not member for member in key) else key
        )
    may_be_nan = isinstance(key, numbers.Number | Decimal | datetime.datetime) or _is_numpys_time(key)
    if may_be_nan and key != key:  # noqa: PLR0124  that is how a NaN is known
        return math.nan
    return key


@lru_cache(maxsize=1024)
def _compares_as_known(kind: type) -> bool:
    """Whether two instances are equal by a rule that is known here."""
    owner = next(cls for cls in kind.__mro__ if "__eq__" in vars(cls))
    if owner.__module__.partition(".")[0] in _WELL_KNOWN:
        return True
    if is_dataclass(owner):
        # What ``@dataclass`` writes has no file; it compares the fields.
        code = getattr(owner.__eq__, "__code__", None)
        return code is not None and code.co_filename == "<string>"
    return issubclass(kind, numbers.Number)  # see ``_of_number``


def _of_number(key: Any) -> int:
    if key != key:  # noqa: PLR0124
        return _NAN
    # The modulus of Python's numeric hash differs between 32- and 64-bit builds; workers and clients are all 64-bit.
    return _digest(b"n", _U64.pack(hash(_number_of_python(key)) & _MASK))


def _number_of_python(key: Any) -> Any:
    """The number itself if it hashes as Python's do; of other libraries' the one that it is equal to."""
    kind = type(key)
    owner = next(cls for cls in kind.__mro__ if "__eq__" in vars(cls))
    if owner.__module__.partition(".")[0] in _WELL_KNOWN:
        return key
    try:
        if isinstance(key, numbers.Rational):
            same: Any = Fraction(int(key.numerator), int(key.denominator))
        else:
            same = float(key) if isinstance(key, numbers.Real) else complex(key)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unknown(key) from error
    if not (same == key and key == same):
        raise _unknown(key)
    return same


def _of_other(key: Any) -> int:  # noqa: PLR0911  one branch for each kind of key is the clearest form
    if key is None:
        return _NONE
    # Members of an enum that are texts, dates and so on equal those, so the enum itself comes last.
    if isinstance(key, str):
        return _digest(b"s", key.encode("utf-8", "surrogatepass"))
    if isinstance(key, bytes):
        return _digest(b"b", key)
    if isinstance(key, tuple):
        return _digest(b"t", b"".join(_U64.pack(stable_hash(member)) for member in key))
    if isinstance(key, frozenset):
        return _digest(b"f", _U64.pack(sum(map(stable_hash, key), _EMPTY_SET) & _MASK))
    if isinstance(key, datetime.date | datetime.time | datetime.timedelta):
        return _of_time(key)
    if isinstance(key, range):
        # Ranges of equal elements are equal, whatever their stop.
        return stable_hash(
            (len(key), key[0] if key else None, key.step if len(key) > 1 else None, range.__name__)
        )
    if isinstance(key, uuid.UUID):
        return _digest(b"r", f"UUID:{key}".encode())
    if isinstance(key, PurePath):
        text = f"Windows:{key}".lower() if isinstance(key, PureWindowsPath) else f"Posix:{key}"
        return _digest(b"r", text.encode("utf-8", "surrogatepass"))
    if is_dataclass(key) and not isinstance(key, type) and type(key).__eq__ is not object.__eq__:
        values = tuple(getattr(key, field.name) for field in fields(key) if field.compare)
        return _digest(b"c", type(key).__qualname__.encode() + _U64.pack(stable_hash(values)))
    if isinstance(key, enum.Enum):
        return _digest(b"e", f"{type(key).__qualname__}.{key.name}".encode())
    if hasattr(key, "item") and hasattr(key, "dtype") and not getattr(key, "shape", ()):
        return stable_hash(key.item())
    raise _unknown(key)


def _of_time(key: Any) -> int:
    """Of a point in time (a date is its midnight: ``numpy.datetime64`` equals both), a time of day or a duration."""
    if isinstance(key, datetime.timedelta):
        return _digest(b"l", str(_duration(key)).encode())
    kind, since = b"w", 0
    if isinstance(key, datetime.date):
        kind, since = b"d", (key.toordinal() - _EPOCH_DAY) * _ATTOSECONDS["D"]
    if isinstance(key, datetime.datetime | datetime.time):
        key = key.replace(fold=0)  # where the zone is the same, two readings of one clock are equal
        since += _of_day(key)
        if (offset := key.utcoffset()) is not None:
            kind, since = kind + b"z", since - _duration(offset)
    return _digest(kind, str(since).encode())


def _of_day(key: datetime.datetime | datetime.time) -> int:
    """Attoseconds since midnight; pandas' have nanoseconds too."""
    seconds = (key.hour * 60 + key.minute) * 60 + key.second
    finer = key.microsecond * _MICROSECOND + getattr(key, "nanosecond", 0) * _ATTOSECONDS["ns"]
    return seconds * _ATTOSECONDS["s"] + finer


def _duration(key: datetime.timedelta) -> int:
    finer = key.microseconds * _MICROSECOND + getattr(key, "nanoseconds", 0) * _ATTOSECONDS["ns"]
    return (key.days * 86_400 + key.seconds) * _ATTOSECONDS["s"] + finer


def _is_numpys_time(key: Any) -> bool:
    return type(key).__module__ == "numpy" and key.dtype.kind in "mM"


def _of_numpys_time(key: Any) -> int:
    """Of any unit; equal ones of several units, and those of ``datetime``, are one key."""
    if key != key:  # noqa: PLR0124  NaT
        return _NAN
    unit, count = sys.modules["numpy"].datetime_data(key.dtype)
    if key.dtype.kind == "M" and unit in _MONTHS:
        key, unit, count = key.astype("M8[D]"), "D", 1
    number = int(key.astype("int64")) * count
    if unit in _MONTHS:
        return _digest(b"lm", str(number * _MONTHS[unit]).encode())
    if unit not in _ATTOSECONDS:
        return _of_number(number)
    return _digest(b"d" if key.dtype.kind == "M" else b"l", str(number * _ATTOSECONDS[unit]).encode())


def _unknown(key: Any) -> TypeError:
    return TypeError(
        f"a key of type {type(key).__name__} cannot be partitioned: its equality is not known to be the same in every "
        "process; use a str, bytes, number, None, tuple, frozenset, date, UUID, Enum or frozen dataclass as the key"
    )


def _digest(tag: bytes, data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8, person=tag).digest(), "little")
