"""CSV through the whole way, at any chunk size."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.records import records
from bellwren.inputs.rows import BadRow

from .bucket import Bucket, flat, pieces_of, plan, read

FIELDS = st.text(st.sampled_from('ab,"\n\r é\ufeff;'), max_size=6)
QUOTED_NEWLINES = "id,txt\n" + "".join(f'{n},"x\n{n + 900},""fake""\ny"\n' for n in range(50))


def table(rows: list[list[str]], **dialect: Any) -> str:
    out = io.StringIO()
    csv.writer(out, **dialect).writerows(rows)
    return out.getvalue()


def single_pass(text: str, **dialect: Any) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), **dialect) if row]


def of(text: str | bytes) -> Bucket:
    return Bucket({"t.csv": text.encode() if isinstance(text, str) else text})


@given(
    rows=st.lists(st.lists(FIELDS, min_size=2, max_size=2), max_size=12),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    all_quoted=st.booleans(),
    mark=st.booleans(),
    cut_end=st.booleans(),
    chunk=st.integers(1, 80),
    size=st.integers(1, 20),
)
def test_rows_at_any_chunk_size_are_those_of_a_single_pass(
    rows: list[list[str]], end: str, all_quoted: bool, mark: bool, cut_end: bool, chunk: int, size: int
) -> None:
    # Python's writer leaves a CR bare where rows end with LF.
    all_quoted = all_quoted or any("\r" in field or "\n" in field for row in rows for field in row)
    style = {"lineterminator": end, "quoting": csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL}
    text = table([["one", "two"], *rows], **style)
    if cut_end:
        text = text.removesuffix(end)
    bucket = of(("\ufeff" if mark else "") + text)
    spec = bellwren.csv("s3://bkt/t.csv", chunk=chunk, compression="none")
    expected = [dict(zip(("one", "two"), row, strict=True)) for row in rows]
    assert flat(read(bucket, spec, range_bytes=size)) == expected
    pieces = [p for c in plan(bucket, spec) for p in pieces_of(bucket, spec, c, range_bytes=size)]
    assert b"".join(piece.data for piece in pieces) == bucket.objects["t.csv"]


@given(
    text=st.lists(st.sampled_from(['"', '""', ",", "\n", "\r", "\r\n", "a", '"b\nc"']), max_size=40).map(
        "".join
    ),
    chunk=st.integers(1, 60),
)
def test_text_with_quotes_anywhere_gives_the_rows_of_pythons_parser_or_says_that_one_is_open(
    text: str, chunk: int
) -> None:
    spec = bellwren.csv("s3://bkt/t.csv", chunk=chunk, header=False, compression="none")
    bucket = of("x\n" + text)
    closed = single_pass("x\n" + text + "\nEND,END")[-1] == ["END", "END"]
    if closed:
        assert flat(read(bucket, spec)) == single_pass("x\n" + text)
    else:
        with pytest.raises(InputError, match="nothing closes it"):
            read(bucket, spec)


@pytest.mark.parametrize("chunk", [1, 7, 64, 333, 5000])
@pytest.mark.parametrize("scan_bytes", [0, 1 << 30])
def test_newlines_within_quotes_do_not_end_rows_whether_planning_reads_or_guesses(
    chunk: int, scan_bytes: int
) -> None:
    rows = flat(read(of(QUOTED_NEWLINES), bellwren.csv("s3://bkt/t.csv", chunk=chunk), scan_bytes=scan_bytes))
    assert rows == [{"id": str(n), "txt": f'x\n{n + 900},"fake"\ny'} for n in range(50)]


@given(
    rows=st.lists(st.lists(st.text('ab,"\n', max_size=8), min_size=3, max_size=3), min_size=1, max_size=30),
    chunk=st.integers(1, 60),
    window=st.integers(1, 30),
)
def test_a_guess_that_was_wrong_is_an_error_and_never_other_rows(
    rows: list[list[str]], chunk: int, window: int
) -> None:
    bucket = of(table([["p", "q", "r"], *rows], lineterminator="\n"))
    spec = bellwren.csv("s3://bkt/t.csv", chunk=chunk, compression="none")
    try:
        found = flat(read(bucket, spec, scan_bytes=0, window_bytes=window))
    except InputError:
        return
    assert [list(row.values()) for row in found] == rows


def test_guesses_that_contradict_each_other_are_an_error() -> None:
    spec = bellwren.csv("s3://bkt/t.csv", chunk=1)
    with pytest.raises(
        InputError, match=r"s3://bkt/t.csv.*(can't be told where rows begin|where the object was cut)"
    ):
        read(of('p,q,r\n,"\n,a",\n'), spec, scan_bytes=0, window_bytes=1)


def test_declaring_no_quoted_newlines_needs_no_pass_and_fails_by_name_if_there_are_some() -> None:
    plain = "id,txt\n" + "".join(f'{n},"a ""b"", c"\n' for n in range(200))
    spec = bellwren.csv("s3://bkt/t.csv", chunk=100, quoted_newlines=False)
    bucket = of(plain)
    assert flat(read(bucket, spec)) == [{"id": str(n), "txt": 'a "b", c'} for n in range(200)]
    bucket.requests.clear()
    plan(bucket, spec)
    assert len(bucket.requests) == 1
    with pytest.raises(InputError, match=r"s3://bkt/t.csv, line .*holds a line end where the object was cut"):
        read(of(QUOTED_NEWLINES), bellwren.csv("s3://bkt/t.csv", chunk=64, quoted_newlines=False))


def test_the_header_is_known_to_every_chunk_and_counted_in_none() -> None:
    text = "\n\r\n name ,b\n" + "".join(f"{n},{n}\n" for n in range(100))
    for chunk in (1, 5, 50):
        chunks = read(of(text), bellwren.csv("s3://bkt/t.csv", chunk=chunk))
        assert flat(chunks) == [{" name ": str(n), "b": str(n)} for n in range(100)]


def test_without_a_header_rows_are_lists_unless_columns_are_named() -> None:
    bucket = of("1,2\n3,4\n")
    assert flat(read(bucket, bellwren.csv("s3://bkt/t.csv", chunk=3, header=False))) == [
        ["1", "2"],
        ["3", "4"],
    ]
    named = bellwren.csv("s3://bkt/t.csv", chunk=3, header=False, columns=["x", "y"])
    assert flat(read(bucket, named)) == [{"x": "1", "y": "2"}, {"x": "3", "y": "4"}]


def test_chosen_columns_come_in_the_order_asked_for() -> None:
    bucket = of("a,b,c\n1,2,3\n")
    assert read(bucket, bellwren.csv("s3://bkt/t.csv", columns=["c", "a"])) == [[{"c": "3", "a": "1"}]]
    assert read(bucket, bellwren.csv("s3://bkt/t.csv", columns=["b"])) == [[{"b": "2"}]]


def test_each_object_has_its_own_header() -> None:
    bucket = Bucket({"in/1": b"a,b\n1,2\n", "in/2": b"b,a\n3,4\n", "in/3": b"a,b\n"})
    assert flat(read(bucket, bellwren.csv("s3://bkt/in/"))) == [{"a": "1", "b": "2"}, {"b": "3", "a": "4"}]
    with pytest.raises(InputError, match=r"s3://bkt/in/1, line 1: the header has no column 'z'"):
        read(bucket, bellwren.csv("s3://bkt/in/", columns=["z"]))


def test_a_header_that_names_a_column_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"s3://bkt/t.csv, header: the column 'a' is there twice"):
        read(of("a,b,a\n1,2,3\n"), bellwren.csv("s3://bkt/t.csv"))


@pytest.mark.parametrize("chunk", [8, 20, 5000])
def test_a_row_that_does_not_fit_is_named_with_its_key_its_line_in_the_object_and_a_snippet(
    chunk: int,
) -> None:
    text = 'a,b\n"x\ny",1\r\n2,2\r\n3,3,oops\r\n4,4\r\n'
    with pytest.raises(InputError) as caught:
        read(of(text), bellwren.csv("s3://bkt/t.csv", chunk=chunk))
    assert str(caught.value) == "s3://bkt/t.csv, line 5: 3 field(s) where 2 are named: '3,3,oops'"


def test_bad_rows_can_be_collected_instead_and_the_good_ones_read_on() -> None:
    bucket, spec = of("a,b\n1,1\n2\n3,3\n4,4,4\n"), bellwren.csv("s3://bkt/t.csv")
    bad: list[BadRow] = []
    (chunk,) = plan(bucket, spec)
    rows = list(records(spec, chunk, pieces_of(bucket, spec, chunk), on_bad=bad.append))
    assert rows == [{"a": "1", "b": "1"}, {"a": "3", "b": "3"}]
    assert [(row.source, row.place) for row in bad] == [
        ("s3://bkt/t.csv", "line 3"),
        ("s3://bkt/t.csv", "line 5"),
    ]


def test_rows_before_a_bad_one_are_still_yielded() -> None:
    bucket, spec = of("a,b\n1,1\n2,2\n3\n"), bellwren.csv("s3://bkt/t.csv")
    (chunk,) = plan(bucket, spec)
    stream = records(spec, chunk, pieces_of(bucket, spec, chunk))
    assert [next(stream), next(stream)] == [{"a": "1", "b": "1"}, {"a": "2", "b": "2"}]
    with pytest.raises(InputError, match="line 4"):
        next(stream)


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("chunk", [4, 1000])
def test_a_quote_that_is_never_closed_is_an_error_and_not_one_long_field(width: int, chunk: int) -> None:
    names = ",".join("abc"[:width])
    text = f'{names}\n{names}\n{"x," * (width - 1)}"open\n{names}\n'
    with pytest.raises(
        InputError, match=r"s3://bkt/t.csv, line 3: a quote opens a field and nothing closes it"
    ):
        read(of(text), bellwren.csv("s3://bkt/t.csv", chunk=chunk))


def test_quotes_can_be_declared_text() -> None:
    spec = bellwren.csv("s3://bkt/t.csv", chunk=4, quote=None, delimiter="\t")
    assert flat(read(of('a\tb\n"x\t5" disk\n'), spec)) == [{"a": '"x', "b": '5" disk'}]


@pytest.mark.parametrize("chunk", [40, 100_000])
@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\n\n<!DOCTYPE HTML>\n<html>\n<body>movieId,rating</body>\n" * 3, "an HTML page"),
        (b"%PDF-1.7 1,2,3 ................................................", "a PDF file"),
        ("a,b\n1,2\n".encode("utf-16") * 9, "NUL bytes"),
    ],
)
def test_an_object_that_is_not_what_its_name_says_fails_with_key_line_and_snippet(
    data: bytes, what: str, chunk: int
) -> None:
    with pytest.raises(InputError, match=rf"s3://bkt/t.csv, line 1: .*{what}.*: '"):
        read(of(data), bellwren.csv("s3://bkt/t.csv", chunk=chunk))


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-32", "cp1252", "shift_jis", "cp037"])
def test_other_encodings_are_read_too_whole_where_they_cannot_be_cut(codec: str) -> None:
    rows = [["a", "b"], *([str(n), 'x,\n"y"'] for n in range(40))]
    data = table(rows, lineterminator="\n").encode(codec)
    spec = bellwren.csv("s3://bkt/t.csv", chunk=50, encoding=codec)
    assert flat(read(of(data), spec)) == [{"a": row[0], "b": row[1]} for row in rows[1:]]


def test_a_field_may_be_longer_than_pythons_usual_limit_and_than_any_chunk() -> None:
    long = "z" * 300_000
    text = f"a,b\n1,{long}\n2,x\n"
    assert flat(read(of(text), bellwren.csv("s3://bkt/t.csv", chunk=1000))) == [
        {"a": "1", "b": long},
        {"a": "2", "b": "x"},
    ]


def test_gzip_holds_csv_too_and_damage_names_the_object() -> None:
    packed = gzip.compress(QUOTED_NEWLINES.encode())
    assert len(flat(read(of(packed), bellwren.csv("s3://bkt/t.csv", chunk=64)))) == 50
    with pytest.raises(InputError, match=r"s3://bkt/t.csv: the gzip data ends in the middle"):
        read(of(packed[:-9]), bellwren.csv("s3://bkt/t.csv"))


def test_csv_spectrum_gives_its_expected_rows_at_every_chunk_size(shared_data: Path) -> None:
    paths = sorted((shared_data / "csv" / "csvs").glob("*.csv"))
    assert len(paths) == 11
    for path in paths:
        expected = json.loads((shared_data / "csv" / "json" / f"{path.stem}.json").read_text("utf-8"))
        data = path.read_bytes()
        for chunk in range(1, len(data) + 2):
            assert flat(read(of(data), bellwren.csv("s3://bkt/t.csv", chunk=chunk))) == expected
