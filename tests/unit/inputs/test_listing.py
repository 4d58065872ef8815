"""Which objects of a listing are input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bellwren
from bellwren.errors import InputError
from bellwren.inputs.listing import is_side_file, output_lies_in_input, select_objects

from .bucket import Bucket, flat, read

ODD_KEYS = [
    *("in/a b.txt", "in/a+b.txt", "in/100%25.csv", "in/é/日本 1.txt", "in/a%2Fb", "in/x=1/dt=2018-05-04"),
    *("in/#?&;'\"<>.txt", "in/ lead", "in/trail ", "in/..", "in//x"),
]


def chosen(uri: str, keys: dict[str, bytes], output: str | None = None) -> list[str]:
    found = select_objects(bellwren.lines(uri), Bucket(keys).listing(), output=output)
    return [entry.key for entry in found.objects]


def test_a_prefix_with_its_slash_never_matches_another_folder() -> None:
    keys = {"in/a": b"1", "in2/b": b"9", "in": b"0", "in.bak": b"8"}
    assert chosen("s3://bkt/in/", keys) == ["in/a"]


def test_an_address_without_slash_is_the_object_and_only_else_the_folder() -> None:
    assert chosen("s3://bkt/in", {"in": b"0", "in/a": b"1", "in2": b"9"}) == ["in"]
    assert chosen("s3://bkt/in", {"in/a": b"1", "in2/b": b"9", "in-1": b"8"}) == ["in/a"]


def test_a_bucket_is_an_input() -> None:
    assert chosen("s3://bkt", {"a": b"1", "b/c": b"1"}) == ["a", "b/c"]
    assert chosen("s3://bkt/", {"a": b"1", "b/c": b"1"}) == ["a", "b/c"]


def test_markers_and_side_files_are_skipped_and_told() -> None:
    keys = {
        "in/": b"",
        "in/a": b"1\n",
        "in/_SUCCESS": b"",
        "in/sub/": b"",
        "in/sub/_SUCCESS": b"{}",
        "in/_temporary/0/part-0": b"half",
        "in/.part-0.crc": b"crc",
        "in/sub_$folder$": b"",
    }
    found = select_objects(bellwren.lines("s3://bkt/in/"), Bucket(keys).listing())
    assert [entry.key for entry in found.objects] == ["in/a"]
    assert set(found.skipped) == keys.keys() - {"in/a"}


@pytest.mark.parametrize(
    "name", ["_", "__init__.txt", "_draft", ".hidden", "..", "...", "_SUCCESS.txt", "x_SUCCESS"]
)
def test_a_users_own_object_is_never_skipped_for_its_name(name: str) -> None:
    assert not is_side_file(name, 1)
    assert chosen("s3://bkt/in/", {f"in/{name}": b"1"}) == [f"in/{name}"]


def test_an_object_named_in_full_is_read_whatever_its_name() -> None:
    assert chosen("s3://bkt/in/_SUCCESS", {"in/_SUCCESS": b"1"}) == ["in/_SUCCESS"]


def test_a_key_with_a_slash_at_its_end_and_content_is_an_object() -> None:
    assert chosen("s3://bkt/in/", {"in/a/": b"1", "in/b/": b""}) == ["in/a/"]


def test_empty_objects_are_input_without_content() -> None:
    assert chosen("s3://bkt/in/", {"in/empty": b"", "in/x": b"1"}) == ["in/x"]
    assert chosen("s3://bkt/in/", {"in/empty": b""}) == []
    spec = bellwren.objects("s3://bkt/in/")
    assert flat(read(Bucket({"in/": b"", "in/empty": b"", "in/x": b"1"}), spec)) == [
        ("in/empty", b""),
        ("in/x", b"1"),
    ]


def test_the_jobs_own_output_is_no_input() -> None:
    keys = {"in/a": b"1", "in/out/part-0": b"9", "in/output": b"2"}
    assert chosen("s3://bkt/in/", keys, "s3://bkt/in/out/") == ["in/a", "in/output"]
    assert chosen("s3://bkt/in/", keys, "s3://bkt/in/out") == ["in/a", "in/output"]
    assert chosen("s3://bkt/in/", keys, "s3://other/in/out/") == ["in/a", "in/out/part-0", "in/output"]


@pytest.mark.parametrize(
    ("uri", "output", "lies"),
    [
        ("s3://bkt/in/", "s3://bkt/in/out/", True),
        ("s3://bkt/in", "s3://bkt/in/", True),
        ("s3://bkt", "s3://bkt/out", True),
        ("s3://bkt/in/", "s3://bkt/in2/", False),
        ("s3://bkt/in/", "s3://other/in/out/", False),
        ("s3://bkt/in/", "s3://bkt/", False),
    ],
)
def test_output_within_the_input_can_be_refused(uri: str, output: str, lies: bool) -> None:
    assert output_lies_in_input(bellwren.lines(uri), output) is lies


def test_nothing_under_an_address_is_an_error_that_says_what_was_looked_for() -> None:
    with pytest.raises(InputError, match=r"nothing to read at s3://bkt/no/: no object lies under 'no/'"):
        chosen("s3://bkt/no/", {"in/a": b"1"})
    with pytest.raises(InputError, match=r"there is no object 'no', and no object lies under 'no/'"):
        chosen("s3://bkt/no", {"no2": b"1"})
    with pytest.raises(InputError, match=r"but 2 marker\(s\) or side file\(s\): 'in/', 'in/_SUCCESS'"):
        chosen("s3://bkt/in/", {"in/": b"", "in/_SUCCESS": b""})
    with pytest.raises(InputError, match="the bucket is empty"):
        chosen("s3://bkt", {})


def test_keys_with_odd_characters_are_used_verbatim_and_each_object_is_read_once() -> None:
    bucket = Bucket({key: key.encode() + b"\n" for key in ODD_KEYS})
    assert sorted(flat(read(bucket, bellwren.lines("s3://bkt/in/")))) == sorted(ODD_KEYS)
    for key in ODD_KEYS:
        assert flat(read(bucket, bellwren.lines(f"s3://bkt/{key}"))) == [key]


def test_naughty_strings_are_names_like_any_other(shared_data: Path) -> None:
    naughty = json.loads((shared_data / "naughty" / "blns.json").read_text("utf-8"))
    names = {f"in/{name}" for name in naughty if name and len(name.encode()) < 1000}
    bucket = Bucket({name: name.encode() for name in names})
    found = flat(read(bucket, bellwren.objects("s3://bkt/in/")))
    assert {key for key, _ in found} == names
    assert all(key.encode() == data for key, data in found)


@given(st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=20))
def test_objects_come_in_the_order_of_their_keys_bytes(names: list[str]) -> None:
    keys = {f"in/{name}": b"1" for name in names} | {"in/a": b"1"}
    found = chosen("s3://bkt/in/", keys)
    assert found == sorted(found, key=lambda key: key.encode("utf-8", "surrogatepass"))
