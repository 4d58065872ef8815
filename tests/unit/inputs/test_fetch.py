"""Getting a chunk's bytes from storage."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.chunks import Chunk, Segment
from bellwren.inputs.fetch import AHEAD_REQUESTS, fetch
from bellwren.inputs.records import records
from bellwren.inputs.source import InputObject, Piece

from .bucket import Bucket, flat, pieces_of, plan, read

LINES = bellwren.lines("s3://bkt/in/")


class Slow(Bucket):
    """A bucket whose later ranges answer first."""

    def delay_s(self, start: int) -> float:
        return 0.02 / (1 + start)


def test_ranges_come_in_parallel_and_are_handed_on_in_order() -> None:
    data = b"".join(b"%05d\n" % n for n in range(2000))
    bucket = Slow({"in/t": data})
    (chunk,) = plan(bucket, LINES)
    pieces = pieces_of(bucket, LINES, chunk, range_bytes=1000, ahead_bytes=5000)
    assert b"".join(piece.data for piece in pieces) == data
    assert [piece.offset for piece in pieces] == list(range(0, len(data), 1000))
    assert bucket.most_under_way == 5


def test_no_more_is_under_way_than_allowed_and_a_range_above_it_comes_alone() -> None:
    bucket = Slow({"in/t": b"x" * 10_000})
    (chunk,) = plan(bucket, LINES)
    pieces_of(bucket, LINES, chunk, range_bytes=1000, ahead_bytes=10)
    assert bucket.most_under_way == 1


def test_small_objects_are_fetched_together() -> None:
    bucket = Slow({f"in/{n:03}": b"%d\n" % n for n in range(100)})
    (chunk,) = plan(bucket, LINES, tasks_per_slot=1)
    pieces = pieces_of(bucket, LINES, chunk)
    assert [piece.segment for piece in pieces] == list(range(100))
    assert bucket.most_under_way == AHEAD_REQUESTS


def test_leaving_early_cancels_what_is_under_way() -> None:
    bucket = Slow({"in/t": b"x" * 10_000})
    (chunk,) = plan(bucket, LINES)

    async def first() -> Piece:
        async with contextlib.aclosing(fetch(bucket, LINES, chunk, range_bytes=100)) as stream:
            async for piece in stream:
                return piece
        raise AssertionError

    assert asyncio.run(first()).data == b"x" * 100
    assert bucket.under_way == 0
    assert len(bucket.requests) < 2 * AHEAD_REQUESTS


def test_a_large_chunk_takes_its_ranges_and_one_small_window_for_each_edge() -> None:
    bucket, spec = Bucket({"t": b"0123456789abcde\n" * 100_000}), bellwren.lines("s3://bkt/t", chunk=100_000)
    table = plan(bucket, spec)
    bucket.requests.clear()
    pieces_of(bucket, spec, table.chunk(3), range_bytes=50_000, window_bytes=1000)
    windows, ranges = bucket.requests[:2], bucket.requests[2:]
    assert all(end - start <= 1001 for _, start, end in windows)
    assert len(ranges) == 2


@pytest.mark.parametrize("chunk", [2, "32MB"])
def test_an_object_overwritten_after_the_plan_fails_by_name(chunk: int | str) -> None:
    bucket, spec = Bucket({"in/c": b"1\n2\n3\n"}), bellwren.lines("s3://bkt/in/", chunk=chunk)
    table = plan(bucket, spec)
    bucket.objects["in/c"] = b"9\n9\n9\n"
    with pytest.raises(InputError, match="s3://bkt/in/c changed"):
        pieces_of(bucket, spec, table.chunk(0))


@pytest.mark.parametrize("chunk", [2, "32MB"])
def test_an_object_deleted_after_the_plan_fails_by_name(chunk: int | str) -> None:
    bucket, spec = Bucket({"in/b": b"1\n2\n3\n"}), bellwren.lines("s3://bkt/in/", chunk=chunk)
    table = plan(bucket, spec)
    del bucket.objects["in/b"]
    with pytest.raises(InputError, match="s3://bkt/in/b was there when the job was planned and is gone now"):
        pieces_of(bucket, spec, table.chunk(0))


def test_an_answer_that_is_too_short_is_an_error_and_not_a_shorter_input() -> None:
    class Short(Bucket):
        async def get_range(self, bucket: str, key: str, start: int, end: int, *, etag: str) -> bytes:
            return (await super().get_range(bucket, key, start, end, etag=etag))[:-1]

    bucket = Short({"in/b": b"1\n2\n3\n"})
    with pytest.raises(InputError, match="s3://bkt/in/b: asked for bytes 0 to 6 and got 5 of 6"):
        read(bucket, LINES)


def test_pieces_that_are_missing_are_noticed_by_who_reads_them() -> None:
    bucket = Bucket({"in/a": b"1\n" * 100, "in/b": b"2\n" * 100})
    (chunk,) = plan(bucket, LINES)
    pieces = pieces_of(bucket, LINES, chunk, range_bytes=50)
    assert len(list(records(LINES, chunk, pieces))) == 200
    for missing in range(len(pieces)):
        with pytest.raises(InputError, match=r"missing|end at byte"):
            list(records(LINES, chunk, pieces[:missing] + pieces[missing + 1 :]))
    with pytest.raises(InputError, match="ended after 1 of its 2 segments"):
        list(records(LINES, chunk, [piece for piece in pieces if piece.segment == 0]))
    with pytest.raises(InputError, match="out of order"):
        list(records(LINES, chunk, pieces[::-1]))


def test_blocks_are_fixed_size_and_only_an_objects_last_is_shorter() -> None:
    data = bytes(range(256)) * 5
    bucket, spec = Bucket({"a": data, "b": b"tail"}), bellwren.blocks("s3://bkt", 100)
    expected = [data[at : at + 100] for at in range(0, len(data), 100)] + [b"tail"]
    for size in (1, 33, 1000):
        assert flat(read(bucket, spec, range_bytes=size)) == expected


def test_many_small_blocks_are_cut_between_blocks() -> None:
    data = b"".join(b"%099d\n" % n for n in range(60_000))
    bucket, spec = Bucket({"t": data}), bellwren.blocks("s3://bkt/t", 100)
    chunks = read(bucket, spec)
    assert len(chunks) == 4
    assert b"".join(flat(chunks)) == data
    assert {len(block) for block in flat(chunks)} == {100}


def test_objects_are_records_of_key_and_bytes() -> None:
    objects = {f"in/{n}": bytes([n]) * n * 1000 for n in range(9)}
    found = flat(read(Bucket(objects), bellwren.objects("s3://bkt/in/", chunk=2000), range_bytes=700))
    assert found == sorted(objects.items())


def test_a_chunk_made_by_hand_reads_the_lines_of_any_part_of_an_object() -> None:
    bucket = Bucket({"t": b"one\ntwo\nthree\n"})
    (entry,) = bucket.listing()
    source = InputObject(entry.key, entry.size, entry.etag)
    spec = bellwren.lines("s3://bkt/t")
    part = Chunk((Segment(source, 2, 6, exact=False, whole=False),))
    assert list(records(spec, part, pieces_of(bucket, spec, part))) == ["two"]
