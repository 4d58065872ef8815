"""The queue of new records."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bellwren.learning.news import Message

_AT_ONCE = 10
"""What SQS hands out in one call at most."""
_PARALLEL = 8


class RecordQueue:
    """Messages about new records. What is taken is hidden for the queue's visibility timeout, and then there again."""

    def __init__(self, url: str, sqs: Any = None) -> None:
        if sqs is None:
            import boto3  # noqa: PLC0415  not before it is known that there is a queue to look at

            sqs = boto3.client("sqs")
        self._url = url
        self._sqs = sqs

    def take(
        self,
        most: int,
        until: float = float("inf"),
        *,
        enough: Callable[[Sequence[Message]], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> list[Message]:
        """Take messages until there seem to be none, ``most`` are taken, the clock says ``until``, or ``enough`` says
        so, which is asked about each handful.

        An answer without messages does not mean that there are none, as SQS asks some of its servers only; where its
        own count says that some are left, it is asked once more, to wait for them. An empty queue takes two calls.
        """
        found: list[Message] = []
        patient = False
        while len(found) < most and clock() < until:
            taken = self._receive(wait_s=1 if patient else 0)
            found += taken
            if enough(taken):
                break
            if taken:
                patient = False
            elif patient or not self._waiting():
                break
            else:
                patient = True
        return found

    def delete(self, receipts: Sequence[str]) -> None:
        """Delete messages that are dealt with. One that cannot be deleted comes again, and is found to be old."""
        self._each(receipts, self._sqs.delete_message)

    def give_back(self, receipts: Sequence[str]) -> None:
        """Let messages be taken again at once, each a try nearer to the dead letters."""
        self._each(receipts, partial(self._sqs.change_message_visibility, VisibilityTimeout=0))

    def _each(self, receipts: Sequence[str], call: Callable[..., Any]) -> None:
        """One by one: the emulator knows a right of its own for each call on ten, which AWS does not."""
        with ThreadPoolExecutor(_PARALLEL) as threads:
            list(threads.map(lambda receipt: call(QueueUrl=self._url, ReceiptHandle=receipt), receipts))

    def _receive(self, wait_s: int) -> list[Message]:
        answer = self._sqs.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=_AT_ONCE, WaitTimeSeconds=wait_s
        )
        return [Message(one["ReceiptHandle"], one["Body"]) for one in answer.get("Messages", ())]

    def _waiting(self) -> bool:
        name = "ApproximateNumberOfMessages"
        answer = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=[name])
        return int(answer["Attributes"][name]) > 0
