"""Memory for many bytes."""

from __future__ import annotations

import mmap
from typing import Any

import pytest

from bellwren.buffers import buffer


@pytest.mark.parametrize("size", [0, 1, 4_194_303, 4_194_304, 9_000_001])
def test_a_buffer_is_writable_bytes_of_that_size(size: int) -> None:
    found = buffer(size)
    assert (len(found), found.itemsize, found.ndim, found.readonly) == (size, 1, 1, False)
    assert found == bytes(size)
    found[size // 2 :] = b"x" * (size - size // 2)
    assert bytes(found).count(b"x") == size - size // 2


def test_a_system_without_huge_pages_gives_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(mmap.mmap):
        def madvise(self, *_: Any) -> None:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Plain)
    assert len(buffer(5_000_000)) == 5_000_000


def test_too_much_is_an_error_of_memory() -> None:
    """A runner tells by it that its item needed more memory than there is."""
    with pytest.raises(MemoryError, match="no room for"):
        buffer(1 << 60)
