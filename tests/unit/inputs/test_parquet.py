"""Parquet: row groups as chunks, and only the chosen columns are fetched."""

from __future__ import annotations

import builtins
import io
from typing import Any

import pytest

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.parquet_footer import Column, RowGroup, footer_length, ranges, row_groups

from .bucket import Bucket, flat, pieces_of, plan, read

pyarrow = pytest.importorskip("pyarrow", reason="the parquet extra is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="the parquet extra is not installed")

ROWS = [
    {
        "id": n,
        "name": f"n{n}" if n % 3 else None,
        "wide": f"{n:050}",
        "tags": [n, -n],
        "at": {"x": n, "y": 1.5},
    }
    for n in range(1000)
]


def packed(rows: list[dict[str, Any]], **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), out, **options)
    return out.getvalue()


@pytest.mark.parametrize("chunk", [1, 5_000, "32MB"])
@pytest.mark.parametrize("codec", ["snappy", "none", "zstd"])
@pytest.mark.parametrize("size", [100, 1 << 20])
def test_rows_of_all_row_groups_come_in_order(chunk: int | str, codec: str, size: int) -> None:
    bucket = Bucket({"t.parquet": packed(ROWS, row_group_size=100, compression=codec)})
    chunks = read(bucket, bellwren.parquet("s3://bkt/t.parquet", chunk=chunk), range_bytes=size)
    assert flat(chunks) == ROWS
    assert len(chunks) == {1: 10, "32MB": 1}.get(chunk, len(chunks))


def test_only_the_chosen_columns_are_fetched() -> None:
    data = packed(ROWS, row_group_size=100, compression="none", use_dictionary=False)
    bucket, spec = Bucket({"t": data}), bellwren.parquet("s3://bkt/t", chunk=1, columns=["id", "at.x"])
    assert flat(read(bucket, spec)) == [{"id": row["id"], "at": {"x": row["at"]["x"]}} for row in ROWS]
    everything = plan(bucket, bellwren.parquet("s3://bkt/t", chunk=1))
    for chosen in (spec, bellwren.parquet("s3://bkt/t", chunk=1)):
        bucket.requests.clear()
        pieces_of(bucket, chosen, everything.chunk(4))
        fetched = sum(end - start for _, start, end in bucket.requests[1:])
        assert (fetched < 3_000) is (chosen is spec)


def test_small_objects_are_read_together_with_all_their_row_groups() -> None:
    bucket = Bucket({f"in/{n}": packed(ROWS[n * 10 : n * 10 + 10], row_group_size=3) for n in range(5)})
    chunks = read(bucket, bellwren.parquet("s3://bkt/in/"))
    assert len(chunks) == 1
    assert flat(chunks) == ROWS[:50]


def test_a_table_without_rows_gives_none() -> None:
    empty = io.BytesIO()
    parquet.write_table(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())}), empty)
    for chunk in (1, "32MB"):
        assert flat(read(Bucket({"t": empty.getvalue()}), bellwren.parquet("s3://bkt/t", chunk=chunk))) == []


def test_the_footer_is_read_as_pyarrow_reads_it() -> None:
    for options in ({"version": "1.0"}, {"use_dictionary": False}, {"write_statistics": False}):
        data = packed(ROWS, row_group_size=300, **options)
        length = footer_length(data[-8:], "t")
        ours = row_groups(data[-length:], "t", None)
        theirs = parquet.read_metadata(io.BytesIO(data))
        assert [group.rows for group in ours] == [
            theirs.row_group(n).num_rows for n in range(theirs.num_row_groups)
        ]
        for n, group in enumerate(ours):
            for m, column in enumerate(group.columns):
                meta = theirs.row_group(n).column(m)
                start = meta.dictionary_page_offset or meta.data_page_offset
                assert (".".join(column.path), column.start) == (meta.path_in_schema, start)
                assert column.end - column.start == meta.total_compressed_size


def test_a_little_more_than_a_column_is_fetched_because_old_writers_understate_it() -> None:
    group = RowGroup(1, (Column(("a",), 4, 50), Column(("b",), 50, 80), Column(("c",), 300, 400)))
    assert ranges([group], None, limit=450) == [(4, 180), (300, 450)]
    assert ranges([group], ["a", "c"], limit=1000) == [(4, 150), (300, 500)]


@pytest.mark.parametrize("chunk", [1, "32MB"])
def test_what_is_no_parquet_fails_by_name(chunk: int | str) -> None:
    data = packed(ROWS, row_group_size=100)
    damaged = data[:-20] + b"\xff" * 8 + data[-12:]
    for wrong, why in (
        (b"id,name\n1,2\n", "no Parquet object"),
        (data[:-1], "no Parquet object"),
        (damaged, "."),
    ):
        with pytest.raises(InputError, match=rf"s3://bkt/t: .*{why}"):
            read(Bucket({"t": wrong}), bellwren.parquet("s3://bkt/t", chunk=chunk))


def test_damaged_pages_fail_by_name() -> None:
    data = packed(ROWS, compression="snappy")
    damaged = data[:4] + b"\xff" * 200 + data[204:]
    with pytest.raises(InputError, match="s3://bkt/t: pyarrow can't read it"):
        read(Bucket({"t": damaged}), bellwren.parquet("s3://bkt/t"))


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"s3://bkt/t: has no column 'nme'; it has at, id, name, tags, wide"):
        read(Bucket({"t": packed(ROWS)}), bellwren.parquet("s3://bkt/t", columns=["nme"]))


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, spec = Bucket({"t": packed(ROWS)}), bellwren.parquet("s3://bkt/t")
    real = builtins.__import__

    def without_pyarrow(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    assert len(plan(bucket, spec)) == 1
    with pytest.raises(InputError, match=r"needs the package pyarrow.*requirements"):
        read(bucket, spec)
