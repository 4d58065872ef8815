"""Compressed objects, recognised by content and read as streams."""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Callable, Iterator

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.compression import OUTPUT_BYTES, decompressed, recognise

from .bucket import Bucket, flat, plan, read

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": zstandard.compress,
}
EACH = pytest.mark.parametrize("kind", sorted(COMPRESS))


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def content(data: bytes, kind: str = "auto", size: int = 1000) -> bytes:
    return b"".join(decompressed(cut(data, size), kind, "s3://bkt/x"))


@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    kind=st.sampled_from(sorted(COMPRESS)),
    size=st.integers(1, 50),
)
def test_members_one_after_the_other_give_their_joined_content(
    parts: list[bytes], kind: str, size: int
) -> None:
    data = b"".join(COMPRESS[kind](part) for part in parts)
    assert content(data, kind, size) == b"".join(parts)
    assert content(data, "auto", size) == b"".join(parts)


@EACH
def test_every_truncation_is_an_error_that_names_the_object(kind: str) -> None:
    data = COMPRESS[kind](b"some text " * 50)
    for end in range(11, len(data)):
        with pytest.raises(InputError, match=r"s3://bkt/x: .*(truncated|damaged)"):
            content(data[:end], kind)
    with pytest.raises(InputError, match="in the middle of member 2"):
        content(data + data[:-1], kind)


@EACH
def test_damage_and_what_does_not_belong_are_errors(kind: str) -> None:
    data = COMPRESS[kind](bytes(random.Random(7).randbytes(5000)))
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]
    if kind != "zstd":  # its frames carry a checksum only if asked to
        with pytest.raises(InputError, match="s3://bkt/x"):
            content(flipped, kind)
    with pytest.raises(InputError, match="s3://bkt/x"):
        content(data + b"and then something else that is long enough", kind)


def test_zeros_behind_gzip_members_are_padding() -> None:
    assert content(gzip.compress(b"a") + b"\0" * 600 + gzip.compress(b"b") + b"\0" * 3000) == b"ab"


def test_zstd_may_begin_with_a_frame_to_skip() -> None:
    skippable = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"meta"
    assert recognise(skippable) == "zstd"
    assert content(skippable + zstandard.compress(b"text")) == b"text"


def test_names_say_nothing_and_first_bytes_decide() -> None:
    objects = {
        "in/a.gz": gzip.compress(b"a1\n") + gzip.compress(b"a2\n"),
        "in/b.txt": gzip.compress(b"b\n"),
        "in/c.gz": b"plain\n",
        "in/d": bz2.compress(b"d\n"),
        "in/e.bz2": zstandard.compress(b"e\n"),
    }
    assert flat(read(Bucket(objects), bellwren.lines("s3://bkt/in/"))) == ["a1", "a2", "b", "plain", "d", "e"]


@pytest.mark.parametrize("chunk", [100, "32MB"])
def test_a_truncated_object_fails_by_name_and_is_not_short(chunk: int | str) -> None:
    bucket = Bucket({"in/d.gz": gzip.compress(b"x\n" * 9999)[:-20]})
    with pytest.raises(InputError, match=r"s3://bkt/in/d\.gz: the gzip data ends in the middle of member 1"):
        read(bucket, bellwren.lines("s3://bkt/in/", chunk=chunk))


def test_a_large_compressed_object_is_one_chunk_and_a_plain_one_with_its_name_is_cut() -> None:
    packed = gzip.compress(random.Random(1).randbytes(5000))
    bucket = Bucket({"in/a.txt": packed, "in/b.gz": b"line\n" * 1000})
    table = plan(bucket, bellwren.lines("s3://bkt/in/", chunk=1000))
    assert table.chunks[0] == (0, 0)
    assert table.objects[0].facts.compression == "gzip"
    assert table.chunks[1:] == tuple((1, at, at + 1000) for at in range(0, 5000, 1000))


def test_a_declared_compression_that_is_not_there_is_an_error() -> None:
    bucket = Bucket({"c.gz": b"plain text\n"})
    with pytest.raises(InputError, match=r"s3://bkt/c\.gz: declared as gzip, but begins with 70 6c 61 69"):
        read(bucket, bellwren.lines("s3://bkt/c.gz", compression="gzip"))


def test_compression_none_reads_compressed_bytes_as_they_are() -> None:
    data = gzip.compress(b"a\n")
    spec = bellwren.lines("s3://bkt/a.gz", compression="none", encoding=None)
    assert b"\n".join(flat(read(Bucket({"a.gz": data}), spec))) == data


@pytest.mark.parametrize("text", [b"BZh9 is a text", b"\x1f\x8b", b"PK", b"(\xb5/", b""])
def test_text_that_only_looks_a_little_compressed_is_text(text: bytes) -> None:
    assert recognise(text) == "none"


@EACH
def test_what_was_compressed_extremely_well_comes_in_bounded_pieces(kind: str) -> None:
    data = COMPRESS[kind](b"\0" * 50_000_000)
    largest = total = 0
    for piece in decompressed(cut(data, 1 << 20), kind, "x"):
        largest, total = max(largest, len(piece)), total + len(piece)
    assert total == 50_000_000
    assert largest <= 9 * OUTPUT_BYTES
