"""Storage for the supervisor's event loop: the blocking store, on a few threads."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from typing import Any, ParamSpec, TypeVar

from obstore.exceptions import BaseError

from bellwren.store import Entry, Store, as_json

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 16
_TOO_MANY = "429 Too Many Requests"
_BACKOFF_S = [min(8.0, 0.1 * 2**n) for n in range(12)]


class Pool:
    """The buckets of a job, without blocking the loop."""

    def __init__(self, jobs_bucket: str) -> None:
        self._threads = ThreadPoolExecutor(_THREADS)
        self._stores: dict[str, Store] = {}
        self.jobs = self.store(jobs_bucket)

    def store(self, bucket: str) -> Store:
        """The store of a bucket, made once."""
        if bucket not in self._stores:
            self._stores[bucket] = Store(bucket)
        return self._stores[bucket]

    @property
    def requests(self) -> dict[str, int]:
        """How many requests of each kind (see `Store.requests`) were made so far; they are part of the job's cost."""
        kinds = next(iter(self._stores.values())).requests
        return {kind: sum(store.requests[kind] for store in self._stores.values()) for kind in kinds}

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking function on a thread; a store that answers 429 is asked again.

        The library tries again what S3 answers to a burst (503 SlowDown) and other errors of the server, but not 429,
        which other stores answer.
        """
        loop = asyncio.get_running_loop()
        for limit_s in _BACKOFF_S:
            try:
                return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))
            except BaseError as error:
                if _TOO_MANY not in str(error):
                    raise
            await asyncio.sleep(random.uniform(0, limit_s))  # noqa: S311  jitter
        return await loop.run_in_executor(self._threads, lambda: function(*args, **kwargs))

    async def get(self, bucket: str, key: str, etag: str | None = None) -> bytes:
        """A whole object."""
        return await self.call(self.store(bucket).get, key, etag=etag)

    async def get_range(
        self, bucket: str, key: str, start: int, end: int, *, etag: str | None = None
    ) -> bytes:
        """Bytes ``[start, end)`` of an object."""
        return await self.call(self.store(bucket).get_range, key, start, end, etag=etag)

    async def find(self, key: str, limit: int | None = None) -> bytes | None:
        """An object of the jobs bucket, of a long one the first ``limit`` bytes; None if there is none."""
        try:
            if limit is None:
                return await self.get(self.jobs.bucket, key)
            return await self.get_range(self.jobs.bucket, key, 0, limit)
        except FileNotFoundError:
            return None

    async def create(
        self, bucket: str, key: str, data: bytes | memoryview, metadata: dict[str, str] | None = None
    ) -> bool:
        """Create an object; False if there was one that differs.

        An answer lost on the way makes the library try again and meet our own object: that counts as ours.
        """
        if await self.call(self.store(bucket).create, key, data, metadata):
            return True
        found = await self.call(self.store(bucket).head, key)
        return found is not None and found.etag.strip('"') == md5(data, usedforsecurity=False).hexdigest()

    async def put(self, key: str, data: bytes) -> None:
        """Write an object into the jobs bucket, whatever was there."""
        await self.call(self.jobs.put, key, data)

    async def put_json(self, key: str, document: Any) -> None:
        """Write a document into the jobs bucket."""
        await self.put(key, as_json(document))

    async def list_jobs(self, prefix: str) -> list[Entry]:
        """Objects of the jobs bucket whose key starts with ``prefix``, in order."""
        return await self.call(lambda: list(self.jobs.list(prefix)))

    async def jobs_json(self, key: str) -> Any:
        """Read a document of the jobs bucket."""
        return json.loads(await self.get(self.jobs.bucket, key))

    async def exists(self, bucket: str, key: str) -> bool:
        """Whether there is such an object."""
        return await self.call(self.store(bucket).head, key) is not None
