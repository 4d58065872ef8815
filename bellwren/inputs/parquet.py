"""From the fetched bytes of a Parquet object's row groups to rows, by pyarrow."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bellwren.errors import InputError
from bellwren.inputs.source import Piece

if TYPE_CHECKING:
    from bellwren.inputs.chunks import Segment
    from bellwren.inputs.spec import InputSpec

BATCH_ROWS = 2048


def parquet_batches(
    spec: InputSpec, segment: Segment, pieces: Iterable[Piece], name: str
) -> Iterator[list[dict[str, Any]]]:
    """The rows of a segment's row groups, each a dict from column name to value. The first piece is the footer.

    Raises:
        InputError: if pyarrow is missing, or finds the object damaged.
    """
    try:
        import pyarrow  # noqa: PLC0415  an extra, and slow to import
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            "Parquet needs the package pyarrow where the job runs; add it to the job's `requirements`"
            " (pip install bellwren[parquet] for your own machine)"
        ) from error
    columns = list(spec.columns) if spec.columns else None
    footer, *parts = pieces
    held = sorted((piece.offset, piece.data) for piece in parts)
    try:
        # The footer by itself: pyarrow would look for it in the last 64 KiB, which hold data that is not at hand.
        metadata = pyarrow.parquet.read_metadata(io.BytesIO(b"PAR1" + footer.data))
        file = pyarrow.parquet.ParquetFile(
            _Parts(held, segment.source.size), metadata=metadata, pre_buffer=False
        )
        groups = range(file.num_row_groups) if segment.whole else range(segment.start, segment.end)
        for group in groups:
            for batch in file.iter_batches(
                BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False
            ):
                yield batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: pyarrow can't read it ({error})") from error


class _Parts(io.RawIOBase):
    """An object of which only parts are at hand; reading any other part is an error."""

    def __init__(self, parts: list[tuple[int, bytes]], size: int) -> None:
        self._starts = [start for start, _ in parts]
        self._parts = [data for _, data in parts]
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        out: list[bytes] = []
        while self._at < end:
            part = bisect_right(self._starts, self._at) - 1
            inner = self._at - self._starts[part] if part >= 0 else 0
            data = self._parts[part][inner : inner + end - self._at] if part >= 0 else b""
            if not data:
                raise OSError(f"bytes {self._at:,} to {end:,} are needed and were not fetched")
            out.append(data)
            self._at += len(data)
        return b"".join(out)
