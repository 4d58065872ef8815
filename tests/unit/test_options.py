"""The keyword options of every call."""

from __future__ import annotations

import pytest

from bellwren import Options, SpecError


def test_an_unknown_option_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(SpecError, match=r"deadline.*did you mean 'deadline_s'"):
        Options.of({"deadline": 3})


def test_every_unknown_option_is_named() -> None:
    with pytest.raises(SpecError) as raised:
        Options.of({"timeout": 3, "memory": 4, "workers": 2})
    assert [fault.field for fault in raised.value.faults] == ["timeout", "memory"]


def test_exceptions_to_retry_may_be_given_as_types_or_names() -> None:
    assert Options(retry_on=(TimeoutError, "Throttled")).fields_of_document()["retry_on"] == [
        "TimeoutError",
        "Throttled",
    ]


def test_what_is_not_given_is_left_to_the_document() -> None:
    document = Options().fields_of_document()
    assert "deadline_s" not in document
    assert "name" not in document
