"""The container of items and results: what goes in comes out, and damage is told from data."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bellwren.errors import InputError
from bellwren.framing import (
    Frame,
    FrameWriter,
    Index,
    Kind,
    read_frames,
    read_span,
    write_frame,
)

frames = st.lists(
    st.builds(
        Frame,
        st.sampled_from([Kind.VALUE, Kind.FAILURE, Kind.NONE]),
        st.one_of(st.binary(max_size=60), st.just(b"")),
    ),
    max_size=40,
)


def container(content: list[Frame], limit: int = 4096) -> tuple[bytes, Index]:
    out = io.BytesIO()
    writer = FrameWriter(out.write, index_limit=limit)
    for frame in content:
        writer.add(*frame)
    index = writer.close()
    return out.getvalue(), index


@given(frames)
def test_what_was_written_is_read(content: list[Frame]) -> None:
    data, index = container(content)
    assert list(read_frames(io.BytesIO(data))) == content
    assert index.count == len(content)


@given(frames, st.integers(1, 7))
def test_a_container_can_be_read_from_pieces_of_any_size(content: list[Frame], size: int) -> None:
    data, _ = container(content)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert list(read_frames([b"", *pieces, b""])) == content


@given(frames, st.integers(1, 9), st.data())
def test_any_range_of_items_is_one_ranged_read(content: list[Frame], limit: int, draw: st.DataObject) -> None:
    data, index = container(content, limit)
    assert len(index.offsets) <= limit
    start = draw.draw(st.integers(0, len(content)))
    stop = draw.draw(st.integers(start, len(content)))
    span = index.span(start, stop)
    got = list(read_span(data[span.start : span.stop], stop - start, skip=span.skip))
    assert got == content[start:stop]


@given(frames)
def test_an_index_survives_a_json_document(content: list[Frame]) -> None:
    index = container(content, limit=3)[1]
    assert Index.from_dict(index.as_dict()) == index


def test_an_index_refuses_items_that_are_not_there() -> None:
    index = container([Frame(Kind.NONE, b"")] * 3)[1]
    with pytest.raises(ValueError, match="frames 2 to 4 are not within the container's 3 frames"):
        index.span(2, 4)


@given(frames, st.data())
def test_a_container_cut_off_anywhere_is_refused(content: list[Frame], draw: st.DataObject) -> None:
    data, _ = container(content)
    cut = draw.draw(st.integers(0, len(data) - 1))
    with pytest.raises(InputError, match="parts/7"):
        list(read_frames(io.BytesIO(data[:cut]), name="parts/7"))


@settings(max_examples=300)
@given(frames, st.data())
def test_a_container_with_any_byte_changed_is_refused(content: list[Frame], draw: st.DataObject) -> None:
    data = bytearray(container(content)[0])
    place = draw.draw(st.integers(0, len(data) - 1))
    data[place] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(InputError):
        list(read_frames(io.BytesIO(bytes(data))))


def test_bytes_after_the_end_are_refused() -> None:
    data, _ = container([Frame(Kind.VALUE, b"x")])
    with pytest.raises(InputError, match="bytes follow"):
        list(read_frames(io.BytesIO(data + b"\n")))


def test_a_range_that_holds_too_few_frames_is_refused() -> None:
    data, index = container([Frame(Kind.VALUE, b"x")] * 3)
    span = index.span(0, 2)
    with pytest.raises(InputError, match=r"items/part holds 2 frame\(s\), 3 were expected"):
        list(read_span(data[span.start : span.stop], 3, name="items/part"))


def test_something_else_is_named_as_what_it_begins_with() -> None:
    with pytest.raises(InputError, match="begins with b'<htm'"):
        list(read_frames(io.BytesIO(b"<html>")))


def test_a_frame_of_many_megabytes_is_written_without_a_copy() -> None:
    data = bytes(1 << 25)
    written: list[bytes] = []
    write_frame(written.append, Kind.VALUE, data)
    assert written[1] is data
    assert list(read_span(b"".join(written), 1)) == [Frame(Kind.VALUE, data)]


def test_importing_the_container_stays_light() -> None:
    code = "import sys, bellwren.framing; print({'cloudpickle', 'numpy', 'asyncio'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
