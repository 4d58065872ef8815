"""What the handlers write into their logs."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from functions.log import logged

log = logging.getLogger("bellwren.any")


@logged
def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    log.warning("something odd")
    if event.get("fails"):
        raise ValueError("no")
    return {"status": "SUCCEEDED", "job_id": "made-here", "secret": 1}


def test_what_is_logged_meanwhile_says_of_which_function_and_job_it_is(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    handler({"job": {"job_id": "a-job"}}, None)
    log.warning("between two invocations")
    within, between = caplog.records
    assert (vars(within)["job_id"], vars(within)["function"]) == ("a-job", "test_function_log")
    assert "job_id" not in vars(between)
    line = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert line.pop("seconds") >= 0
    assert line == {"function": "test_function_log", "job_id": "a-job", "status": "SUCCEEDED"}


def test_a_failure_is_a_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"):
        handler({"fails": True}, None)
    line = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert line["error"] == "ValueError: no"
    assert line["job_id"] is None


def test_a_job_that_the_function_makes_is_named_by_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    handler({}, None)
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["job_id"] == "made-here"
