from __future__ import annotations

from typing import Any

from bellwren.learning.queue import RecordQueue


class Sqs:
    """Hands messages out in the portions given; an empty portion is an answer without messages."""

    def __init__(self, *portions: int, left: int = 0) -> None:
        self.portions, self.left, self.calls = list(portions), left, []  # type: ignore[var-annotated]

    def receive_message(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(("receive", asked["WaitTimeSeconds"]))
        count = self.portions.pop(0) if self.portions else 0
        return (
            {"Messages": [{"ReceiptHandle": f"r{at}", "Body": "b"} for at in range(count)]} if count else {}
        )

    def get_queue_attributes(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(("count", 0))
        return {"Attributes": {"ApproximateNumberOfMessages": str(self.left)}}

    def delete_message(self, **asked: Any) -> None:
        self.calls.append(("delete", asked["ReceiptHandle"]))

    def change_message_visibility(self, **asked: Any) -> None:
        self.calls.append(("show", asked["VisibilityTimeout"]))


def test_an_empty_queue_takes_two_calls_and_no_waiting() -> None:
    sqs = Sqs()
    assert RecordQueue("url", sqs).take(100) == []
    assert sqs.calls == [("receive", 0), ("count", 0)]


def test_an_answer_without_messages_is_not_believed_while_some_are_counted() -> None:
    sqs = Sqs(10, 0, 3, left=3)
    assert len(RecordQueue("url", sqs).take(100)) == 13
    assert sqs.calls[:4] == [("receive", 0), ("receive", 0), ("count", 0), ("receive", 1)]


def test_a_count_that_is_wrong_does_not_keep_it_asking() -> None:
    sqs = Sqs(left=5)
    assert RecordQueue("url", sqs).take(100) == []
    assert [name for name, _ in sqs.calls].count("receive") == 2


def test_it_stops_at_the_most_that_may_be_taken_and_when_time_is_up() -> None:
    assert len(RecordQueue("url", Sqs(*[10] * 9)).take(25)) == 30
    clock = iter([0.0, 1.0, 2.0])
    assert len(RecordQueue("url", Sqs(*[10] * 9)).take(1000, until=2.0, clock=lambda: next(clock))) == 20


def test_messages_are_deleted_or_shown_again_one_by_one() -> None:
    sqs = Sqs()
    queue = RecordQueue("url", sqs)
    queue.delete([f"r{number}" for number in range(25)])
    queue.give_back(["x"])
    assert sorted(sqs.calls[:-1]) == sorted(("delete", f"r{number}") for number in range(25))
    assert sqs.calls[-1] == ("show", 0)
