"""Which partition a key belongs to.

Two keys that Python holds equal must land in the same partition, in every process, on every machine: ``1``,
``1.0``, ``True`` and ``numpy.int64(1)`` are one key, ``0.0`` and ``-0.0`` are one key, a frozenset has no order.
``hash()`` gives that for numbers (its value for numbers is fixed by the language, see "Hashing of numeric types" in
the library reference) but is salted per process for text, so text and bytes are hashed by BLAKE2b, and containers
by their members.
"""

from __future__ import annotations

import datetime
import enum
import math
import numbers
import struct
import uuid
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

_MASK = (1 << 64) - 1
_NAN = 0x6E616E
_NONE = 0x4E6F6E65
_EMPTY_SET = 0x736574
_NEVER_NAN = frozenset({str, int, bool, bytes, type(None)})
_U64 = struct.Struct("<Q")


def stable_hash(key: Hashable) -> int:
    """A 64-bit hash of ``key``, equal for equal keys and the same in every process.

    Raises:
        TypeError: for a key whose equality Bellwren does not know (an instance of a user's class that is neither an
            enum nor a frozen dataclass); the message says what to use instead.
    """
    if type(key) is str:
        return _digest(b"s", key.encode("utf-8", "surrogatepass"))
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
    ``Decimal``, ``complex``, NumPy's), and within tuples and frozensets. Only keys that hold a NaN change.
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
    if isinstance(key, numbers.Number | Decimal) and key != key:  # noqa: PLR0124  that is how a NaN is known
        return math.nan
    return key


def _of_number(key: Any) -> int:
    if key != key:  # noqa: PLR0124
        return _NAN
    # The modulus of Python's numeric hash differs between 32- and 64-bit builds; workers and clients are all 64-bit.
    return _digest(b"n", _U64.pack(hash(key) & _MASK))


def _of_other(key: Any) -> int:  # noqa: PLR0911, PLR0912  one branch for each kind of key is the clearest form
    if key is None:
        return _NONE
    # Before Enum: a member of a StrEnum equals its text.
    if isinstance(key, str):
        return _digest(b"s", key.encode("utf-8", "surrogatepass"))
    if isinstance(key, bytes):
        return _digest(b"b", key)
    if isinstance(key, enum.Enum) and not isinstance(key, tuple | frozenset):
        return _digest(b"e", f"{type(key).__qualname__}.{key.name}".encode())
    if isinstance(key, tuple):
        return _digest(b"t", b"".join(_U64.pack(stable_hash(member)) for member in key))
    if isinstance(key, frozenset):
        return _digest(b"f", _U64.pack(sum(map(stable_hash, key), _EMPTY_SET) & _MASK))
    if isinstance(key, datetime.datetime):
        if key.utcoffset() is not None:
            key = key.astimezone(datetime.UTC).replace(tzinfo=None, fold=0)
            return _digest(b"z", key.isoformat().encode())
        return _digest(b"d", key.replace(fold=0).isoformat().encode())
    if isinstance(key, datetime.date):
        return _digest(b"D", key.isoformat().encode())
    if isinstance(key, datetime.timedelta):
        return _digest(b"l", repr((key.days, key.seconds, key.microseconds)).encode())
    if isinstance(key, range):
        # Ranges of equal elements are equal, whatever their stop.
        return stable_hash(
            (len(key), key[0] if key else None, key.step if len(key) > 1 else None, range.__name__)
        )
    if isinstance(key, datetime.time) and (offset := key.utcoffset()) is not None:
        since = datetime.timedelta(
            hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
        )
        return _digest(b"w", repr((since - offset) // datetime.timedelta(microseconds=1)).encode())
    if isinstance(key, datetime.time):
        return _digest(b"r", f"time:{key.replace(tzinfo=None, fold=0)}".encode())
    if isinstance(key, uuid.UUID | PurePath):
        return _digest(b"r", f"{type(key).__name__}:{key}".encode("utf-8", "surrogatepass"))
    if is_dataclass(key) and not isinstance(key, type) and key.__hash__ is not None:
        values = tuple(getattr(key, field.name) for field in fields(key) if field.compare)
        return _digest(b"c", type(key).__qualname__.encode() + _U64.pack(stable_hash(values)))
    if hasattr(key, "item") and hasattr(key, "dtype") and not getattr(key, "shape", ()):
        return stable_hash(key.item())
    raise TypeError(
        f"a key of type {type(key).__name__} cannot be partitioned: its equality is not known to be the same in every "
        "process; use a str, bytes, number, None, tuple, frozenset, date, UUID, Enum or frozen dataclass as the key"
    )


def _digest(tag: bytes, data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8, person=tag).digest(), "little")
