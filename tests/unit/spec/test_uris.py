from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren.spec.uris import S3Uri, parse_s3_uri

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@given(keys)
def test_a_key_of_any_characters_comes_back_as_it_was(key: str) -> None:
    uri = parse_s3_uri(f"s3://bucket/{key}")
    assert (uri.bucket, uri.key) == ("bucket", key)
    assert str(uri) == f"s3://bucket/{key}"


@pytest.mark.parametrize("bucket", ["abc", "a-b.c", "0" * 63, "my.bucket-1", "1.2.3.4a"])
def test_names_of_buckets_follow_the_rules_of_s3(bucket: str) -> None:
    assert parse_s3_uri(f"s3://{bucket}") == S3Uri(bucket, "")


@pytest.mark.parametrize(
    "bucket",
    ["ab", "0" * 64, "-abc", "abc-", ".abc", "Abc", "a_b", "a..b", "1.2.3.4", "a b", "bücket", "abc\n", ""],
)
def test_other_names_of_buckets_are_refused(bucket: str) -> None:
    with pytest.raises(ValueError, match="3 to 63 lower-case"):
        parse_s3_uri(f"s3://{bucket}/key")


@given(keys, keys)
def test_a_folder_holds_what_is_below_it(folder: str, name: str) -> None:
    uri = S3Uri("bucket", folder)
    assert uri.holds(S3Uri("bucket", uri.as_folder().key + name))
    assert uri.holds(uri)
    assert not uri.holds(S3Uri("bucket2", folder))


def test_a_folder_does_not_hold_its_neighbour_of_a_longer_name() -> None:
    assert not S3Uri("bucket", "in").holds(S3Uri("bucket", "in2/a"))
    assert not S3Uri("bucket", "in/").holds(S3Uri("bucket", "in2/a"))


def test_an_address_without_end_is_refused_in_a_few_words() -> None:
    for text in ("s3://" + "a" * 10**6, "s3://bucket/" + "k" * 10**6, "x" * 10**6, "https://" + "a" * 10**6):
        with pytest.raises(ValueError, match=r"s3://|1,024") as caught:
            parse_s3_uri(text)
        assert len(str(caught.value)) < 300
