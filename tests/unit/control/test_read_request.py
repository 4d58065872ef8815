"""What an execution was started with."""

from __future__ import annotations

from bellwren.control.prepare import read_request


def test_a_start_that_names_a_job_resumes_it() -> None:
    request = read_request({"resume": "books-1"}, "some-execution")
    assert (request.job_id, request.resumes) == ("books-1", True)
    assert request.fault is None


def test_a_start_with_a_document_is_a_job_of_the_executions_name() -> None:
    request = read_request({"spec": {"bellwren": 1}}, "books-1")
    assert (request.job_id, request.resumes) == ("books-1", False)
