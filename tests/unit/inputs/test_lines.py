"""Lines through the whole way: listing, plan, fetch, split; at any chunk size."""

from __future__ import annotations

import encodings
import gzip
import pkgutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.encodings import ERROR_HANDLERS, byte_of, encoding
from bellwren.inputs.spec import InputSpec

from .bucket import Bucket, flat, pieces_of, plan, read

TEXT_BYTES = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r", b"\r\n", b"\xc3\xa4", b"\xe2\x82\xac", b"\xff", b"\0", b"\xef\xbb\xbf"]
    ),
    max_size=40,
).map(b"".join)


def single_pass(data: bytes, newline: bytes | None = None) -> list[bytes]:
    if newline is None:
        lines = data.split(b"\n")
        lines = [line.removesuffix(b"\r") for line in lines[:-1]] + lines[-1:]
    else:
        lines = data.split(newline)
    return lines if lines[-1] else lines[:-1]


def of(data: bytes, **options: object) -> tuple[Bucket, InputSpec]:
    return Bucket({"t": data}), bellwren.lines("s3://bkt/t", **{"compression": "none", **options})  # type: ignore[arg-type]


def joined(bucket: Bucket, spec: InputSpec, **sizes: int) -> bytes:
    return b"".join(
        piece.data for chunk in plan(bucket, spec) for piece in pieces_of(bucket, spec, chunk, **sizes)
    )


@given(data=st.binary(max_size=60) | TEXT_BYTES, chunk=st.integers(1, 70), size=st.integers(1, 9))
def test_any_bytes_at_any_chunk_size_are_the_object_and_its_lines(data: bytes, chunk: int, size: int) -> None:
    bucket, spec = of(data, chunk=chunk, encoding=None)
    assert joined(bucket, spec, range_bytes=size, window_bytes=size) == data
    assert flat(read(bucket, spec, range_bytes=size, window_bytes=size)) == single_pass(data)


@given(
    data=st.lists(st.sampled_from([b"a", b"b", b"\n", b"|"]), max_size=50).map(b"".join)
    | st.binary(max_size=50),
    newline=st.lists(st.sampled_from([b"a", b"b", b"\n", b"|"]), min_size=1, max_size=4).map(b"".join)
    | st.binary(min_size=1, max_size=3),
    chunk=st.integers(1, 60),
    size=st.integers(1, 9),
)
def test_any_delimiter_even_one_that_overlaps_itself_gives_the_lines_of_a_single_pass(
    data: bytes, newline: bytes, chunk: int, size: int
) -> None:
    bucket, spec = of(data, chunk=chunk, encoding=None, newline=newline)
    assert joined(bucket, spec, range_bytes=size, window_bytes=size) == data
    assert flat(read(bucket, spec, range_bytes=size, window_bytes=size)) == single_pass(data, newline)


@given(data=TEXT_BYTES | st.binary(max_size=60), chunk=st.integers(1, 60))
def test_text_loses_no_byte_even_where_it_is_no_utf8(data: bytes, chunk: int) -> None:
    lines = flat(read(*of(data, chunk=chunk)))
    assert [line.encode("utf-8", "surrogateescape") for line in lines] == single_pass(
        data.removeprefix(b"\xef\xbb\xbf")
    )


@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\r\u0a0a\u0a15\ufeff"), max_size=40
    ),
    codec=st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8", "utf-16", "utf-32"]),
    mark=st.booleans(),
    chunk=st.integers(1, 60),
    size=st.integers(1, 9),
)
def test_wide_encodings_are_cut_at_code_units_only(
    text: str, codec: str, mark: bool, chunk: int, size: int
) -> None:
    data = (("\ufeff" if mark and codec not in ("utf-16", "utf-32") else "") + text).encode(codec)
    bucket, spec = of(data, chunk=chunk, encoding=codec)
    expected = text if mark or codec in ("utf-16", "utf-32") else text.removeprefix("\ufeff")
    lines = [line.decode("utf-8") for line in single_pass(expected.encode("utf-8"))]
    assert flat(read(bucket, spec, range_bytes=size, window_bytes=size)) == lines
    assert joined(bucket, spec, range_bytes=size, window_bytes=size) == data


@given(
    text=st.text("ab\n\r\x8e€ä ", max_size=40),
    codec=st.sampled_from(["cp1252", "cp037", "iso8859-15", "shift_jis", "gb18030", "utf-7", "euc_jp", "hz"]),
    newline=st.sampled_from([None, "\n", "a", "ab", " \n"]),
    chunk=st.integers(1, 60),
)
def test_other_encodings_give_the_lines_of_the_decoded_text(
    text: str, codec: str, newline: str | None, chunk: int
) -> None:
    data = text.encode(codec, "ignore")
    text = data.decode(codec)
    bucket, spec = of(data, chunk=chunk, encoding=codec, newline=newline)
    lines = text.split(newline or "\n")
    if newline is None:
        lines = [line.removesuffix("\r") for line in lines[:-1]] + lines[-1:]
    assert flat(read(bucket, spec)) == (lines if lines[-1] else lines[:-1])


@given(
    data=TEXT_BYTES,
    newline=st.sampled_from([None, "\n", "\r\n", "\r", "ä", "x", "f"]),
    errors=st.sampled_from(["replace", "ignore", "backslashreplace"]),
    chunk=st.integers(1, 40),
)
def test_an_error_handler_never_makes_a_line_end(
    data: bytes, newline: str | None, errors: str, chunk: int
) -> None:
    lines = single_pass(data.removeprefix(b"\xef\xbb\xbf"), newline.encode() if newline else None)
    bucket, spec = of(data, chunk=chunk, newline=newline, errors=errors)
    assert flat(read(bucket, spec)) == [line.decode("utf-8", errors) for line in lines]


@pytest.mark.parametrize("chunk", range(1, 10))
def test_a_cut_between_cr_and_lf_neither_doubles_nor_empties_a_line(chunk: int) -> None:
    bucket, spec = of(b"a\r\nb\r\nc\r\n", chunk=chunk)
    assert Counter(flat(read(bucket, spec))) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize("chunk", range(1, 12))
@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-be"])
def test_a_gujarati_letter_holds_the_byte_of_a_newline_and_ends_no_line(chunk: int, codec: str) -> None:
    bucket, spec = of("a\nક\u0a0aક\nc\n".encode(codec), chunk=chunk, encoding=codec)
    assert flat(read(bucket, spec)) == ["a", "ક\u0a0aક", "c"]


def test_a_lone_cr_is_text_unless_declared() -> None:
    data = b"a\rb\r\nc\r"
    assert flat(read(*of(data))) == ["a\rb", "c\r"]
    assert flat(read(*of(data, newline="\r"))) == ["a", "b", "\nc"]
    assert flat(read(*of(data, newline="\n"))) == ["a\rb\r", "c\r"]


def test_a_line_longer_than_many_chunks_is_yielded_once_by_the_chunk_it_begins_in() -> None:
    long = b"x" * 1000
    bucket, spec = of(b"a\n" + long + b"\nb\n", chunk=100)
    chunks = read(bucket, spec, window_bytes=16)
    assert chunks[0] == ["a", long.decode()]
    assert chunks[-1] == ["b"]
    assert all(chunk == [] for chunk in chunks[1:-1])


def test_a_chunk_in_the_middle_of_a_long_line_reads_only_about_itself() -> None:
    bucket, spec = of(b"x" * 100_000, chunk=1000)
    table = plan(bucket, spec)
    bucket.requests.clear()
    assert pieces_of(bucket, spec, table.chunk(50), window_bytes=256)[0].data == b""
    assert sum(end - start for _, start, end in bucket.requests) < 2000


@pytest.mark.parametrize("data", [b"", b"\n", b"x", b"\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_tiny_objects(data: bytes) -> None:
    expected = {
        b"": [],
        b"\n": [""],
        b"x": ["x"],
        b"\r": ["\r"],
        b"\xef\xbb\xbf": [],
        b"\xef\xbb\xbf\n": [""],
    }
    for chunk in (1, 2, 5):
        assert flat(read(*of(data, chunk=chunk))) == expected[data]


def test_empty_objects_under_a_prefix_are_never_asked_for() -> None:
    bucket = Bucket({"in/empty": b"", "in/x": b"1\n"})
    assert flat(read(bucket, bellwren.lines("s3://bkt/in/"))) == ["1"]
    assert {key for key, _, _ in bucket.requests} == {"in/x"}


def test_the_same_lines_come_from_gzip() -> None:
    data = b"".join(b"line %d\r\n" % n for n in range(5000))
    bucket, spec = of(gzip.compress(data), compression="auto", chunk=100)
    assert flat(read(bucket, spec, range_bytes=50)) == [f"line {n}" for n in range(5000)]


def test_strict_decoding_names_the_object_and_the_byte() -> None:
    bucket, spec = of(b"ok\r\nok\r\n\xff\r\n", errors="strict")
    with pytest.raises(InputError, match=r"s3://bkt/t: not valid utf-8 at byte 8 "):
        read(bucket, spec)
    bucket, spec = of(b"ok||ok||\xff||", errors="strict", newline="||")
    with pytest.raises(InputError, match=r"s3://bkt/t: not valid utf-8 at byte 8 "):
        read(bucket, spec)


def test_half_a_code_unit_at_the_end_is_an_error_by_name() -> None:
    bucket, spec = of("a\nb".encode("utf-16-le")[:-1], encoding="utf-16-le")
    with pytest.raises(InputError, match=r"s3://bkt/t: not valid utf-16"):
        read(bucket, spec)


def test_a_file_of_blank_lines_is_cut_by_a_delimiter_that_overlaps_itself() -> None:
    bucket, spec = of(b"\n" * 1001, chunk=100, newline="\n\n")
    assert flat(read(bucket, spec, window_bytes=16)) == [""] * 500 + ["\n"]


def test_a_line_may_be_longer_than_a_block_and_end_in_any_piece() -> None:
    lines = [b"y" * n for n in (300_000, 5, 700_000, 0, 262_143, 262_144, 1)]
    for newline in (b"\n", b"||", b"\r\n"):
        data = newline.join(lines)
        for size in (70_001, 1 << 20):
            bucket, spec = of(data, encoding=None, newline=newline)
            assert flat(read(bucket, spec, range_bytes=size)) == lines


@pytest.mark.parametrize("chunk", ["1MB", 100_000, 31_337, 4_096])
def test_system_logs_give_their_records_at_every_chunk_size(shared_data: Path, chunk: int | str) -> None:
    for path in sorted((shared_data / "logs").glob("*.log")):
        data = path.read_bytes()
        bucket, spec = of(data, chunk=chunk)
        lines = flat(read(bucket, spec, window_bytes=64))
        assert len(lines) == 2000
        assert "\n".join(lines) == data.decode().replace("\r\n", "\n").removesuffix("\n")


@settings(max_examples=6)
@given(chunk=st.integers(20_000, 700_000))
def test_books_give_their_lines_at_every_chunk_size(shared_data: Path, chunk: int) -> None:
    objects = {path.name: path.read_bytes() for path in sorted((shared_data / "text").glob("*.txt"))}
    lines = flat(read(Bucket(objects), bellwren.lines("s3://bkt/", chunk=chunk)))
    assert lines == [
        line.decode()
        for _, data in sorted(objects.items())
        for line in single_pass(data.removeprefix(b"\xef\xbb\xbf"))
    ]


def test_every_encoding_that_can_be_cut_has_one_byte_for_each_line_end() -> None:
    names = {name.name for name in pkgutil.iter_modules(encodings.__path__)} - {"aliases", "mbcs", "oem"}
    seen = 0
    for name in names:
        try:
            known = encoding(name)
        except LookupError:
            continue
        if known.cuttable and known.unit == 1:
            seen += 1
            assert all(byte_of(known, end, errors) for end in "\r\n" for errors in ERROR_HANDLERS)
    assert seen > 60
