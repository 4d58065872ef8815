"""Client side: any iterable of items, written as a framed file in the memory of one item.

Items are what ``for item in items`` gives: the rows of a NumPy array, the keys of a dict, the *column names* of a
DataFrame (``frame.itertuples()`` or ``frame.iterrows()`` give its rows). Each is one argument of the function,
tuples and dicts too.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from bellwren.errors import PayloadError
from bellwren.framing import FrameWriter, Index, Kind
from bellwren.payload import culprit
from bellwren.payload.pickler import Needs, Packer, refer
from bellwren.payload.resources import type_name

MAX_ITEMS = 1_000_000
"""Most items of one job: an iterator that never ends is stopped here."""
_MEMORY_BYTES = 1 << 23


@dataclass(frozen=True)
class Items:
    """The items of a job, in a temporary file that closing removes; a context manager."""

    file: BinaryIO
    """Positioned at its beginning. Small ones are in memory."""
    index: Index
    needs: Needs
    """What the items refer to: give it to `pack.pack`, which ships it with the function."""

    @property
    def count(self) -> int:
        """Number of items."""
        return self.index.count

    @property
    def size_bytes(self) -> int:
        """Bytes of the file."""
        position = self.file.tell()
        size = self.file.seek(0, io.SEEK_END)
        self.file.seek(position)
        return size

    def __enter__(self) -> Items:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def write_items(items: Iterable[Any], *, limit: int = MAX_ITEMS) -> Items:
    """Pickle every item, in order, as it is now.

    An exception of the iterator itself passes through, and nothing is left behind.

    Raises:
        PayloadError: ``items`` cannot be iterated, there are more than ``limit``, or one cannot be pickled (it is
            named by its index and type, with the place in it and the way out).
    """
    _check_length(items, limit)
    file = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES))  # noqa: SIM115 - Items owns it
    try:
        pickler = ItemPickler(Needs())
        writer = FrameWriter(file.write)
        for number, item in enumerate(_limited(items, limit)):
            writer.add(*((Kind.NONE,) if item is None else (Kind.VALUE, pickler.dumps(item, number))))
        index = writer.close()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Items(file, index, pickler.needs)


class ItemPickler:
    """One pickler for many items; what they refer to is collected in ``needs``."""

    def __init__(self, needs: Needs, *, noun: str = "item") -> None:
        self.needs = needs
        self._noun = noun
        self._out = io.BytesIO()
        self._packer = Packer(self._out, needs=self.needs, reduce_class=refer)

    def dumps(self, item: Any, number: int) -> bytes:
        """The pickle of an item. PayloadError names it by its number, with the place in it that cannot be shipped."""
        self._out.seek(0)
        self._out.truncate()
        self._packer.clear_memo()
        self._packer.globals_ref.clear()
        try:
            self._packer.dump(item)
        except Exception as error:
            name = f"{self._noun} {number}, a {type_name(item)},"
            reason = culprit.explain(item, f"{self._noun} {number}", error, reduce_class=refer)
            raise PayloadError(f"{name} cannot be shipped to the workers: {reason}") from error
        return self._out.getvalue()


def _limited(items: Iterable[Any], limit: int) -> Iterator[Any]:
    for number, item in enumerate(items):
        if number >= limit:
            raise PayloadError(_too_many(f"more than {limit:,}", limit))
        yield item


def _check_length(items: Iterable[Any], limit: int) -> None:
    """Refuse what is no iterable, or is known to be too long, before anything is written."""
    if not hasattr(type(items), "__iter__") and not hasattr(type(items), "__getitem__"):
        raise PayloadError(f"items must be an iterable, e.g. a list; found a {type_name(items)}")
    if isinstance(items, str) and items.startswith("s3://"):
        raise PayloadError(
            f"the items would be the characters of the text {items[:100]!r}; to read what lies there, give "
            f"bellwren.lines({items[:100]!r}), or csv, parquet, objects or blocks"
        )
    try:
        count = len(items)  # type: ignore[arg-type]
    except TypeError:
        return
    except OverflowError:
        raise PayloadError(_too_many(f"more than {sys.maxsize:,}", limit)) from None
    if count > limit:
        raise PayloadError(_too_many(f"{count:,}", limit))


def _too_many(found: str, limit: int) -> str:
    return (
        f"there are {found} items; a job has at most {limit:,}. Put several values into one item, or cut an endless "
        "iterator with itertools.islice"
    )
