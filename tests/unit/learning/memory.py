"""A bucket and a queue in memory, as much of them as the learning loop asks for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bellwren import layout
from bellwren.learning.news import Message
from bellwren.store import Entry


class Bucket:
    """With S3's conditional writes."""

    def __init__(self, name: str = "bucket") -> None:
        self.bucket = name
        self.objects: dict[str, bytes] = {}

    def _etag(self, key: str) -> str:
        return f'"{hashlib.md5(self.objects[key]).hexdigest()}"'

    def list(self, prefix: str = "") -> Iterator[Entry]:
        for key in sorted(self.objects):
            if key.startswith(prefix):
                yield Entry(key, len(self.objects[key]), self._etag(key))

    def folders(self, prefix: str) -> Iterator[str]:
        below = {key.removeprefix(prefix) for key in self.objects if key.startswith(prefix)}
        yield from sorted({f"{prefix}{name.partition('/')[0]}/" for name in below if "/" in name})

    def find(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def get(self, key: str) -> bytes:
        if key not in self.objects:
            raise FileNotFoundError(key)
        return self.objects[key]

    def find_json(self, key: str) -> Any:
        return json.loads(self.objects[key]) if key in self.objects else None

    def get_json(self, key: str) -> Any:
        return json.loads(self.get(key))

    def find_with_etag(self, key: str) -> tuple[bytes, str] | None:
        return (self.objects[key], self._etag(key)) if key in self.objects else None

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = bytes(data)

    def put_json(self, key: str, document: Any) -> None:
        self.put(key, json.dumps(document, allow_nan=False).encode())

    def create(self, key: str, data: bytes) -> bool:
        if key in self.objects:
            return False
        self.put(key, data)
        return True

    def replace(self, key: str, data: bytes, etag: str) -> bool:
        if key not in self.objects or self._etag(key) != etag:
            return False
        self.put(key, data)
        return True

    def copy(self, source: str, target: str) -> None:
        self.put(target, self.get(source))

    def delete(self, keys: list[str]) -> None:
        for key in keys:
            self.objects.pop(key, None)


class Queue:
    """What is taken is hidden until it is given back."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.hidden: dict[str, Message] = {}
        self._sent = 0

    def send(self, body: str) -> None:
        self._sent += 1
        receipt = f"receipt-{self._sent}"
        self.messages[receipt] = Message(receipt, body)

    def announce(self, key: str) -> None:
        self.send(json.dumps({"detail": {"bucket": {"name": "records"}, "object": {"key": key}}}))

    def take(
        self, most: int, until: float = 0.0, *, enough: Callable[[Sequence[Message]], bool]
    ) -> list[Message]:
        taken: list[Message] = []
        while self.messages and len(taken) < most:
            message = self.messages.pop(next(iter(self.messages)))
            self.hidden[message.receipt] = message
            taken.append(message)
            if enough([message]):
                break
        return taken

    def delete(self, receipts: list[str]) -> None:
        for receipt in receipts:
            self.hidden.pop(receipt, None)

    def give_back(self, receipts: list[str]) -> None:
        for receipt in receipts:
            if receipt in self.hidden:
                self.messages[receipt] = self.hidden.pop(receipt)


def record(number: int, algorithm: str = "grep", **changed: Any) -> dict[str, Any]:
    workers = 1 + number % 4
    return {
        "schema": 2,
        "job_id": f"job-{number:03}",
        "algorithm": algorithm,
        "outcome": "SUCCEEDED",
        "label": True,
        "started_at": f"2026-11-30T12:{number // 60:02}:{number % 60:02}+00:00",
        "workers": workers,
        "memory_mb": 1769,
        "bytes": 1e9,
        "runtime_s": 5 + 60 / workers,
        "params": {},
        "context": {},
        **changed,
    }


def put(records: Bucket, number: int, algorithm: str = "grep", **changed: Any) -> str:
    document = record(number, algorithm, **changed)
    key = layout.execution_record(algorithm, document["job_id"], document["started_at"])
    records.put_json(key, document)
    return key
