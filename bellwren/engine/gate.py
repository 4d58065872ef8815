"""Some tasks run alone on their worker: those that may take it down must not take others' good name with them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Gate:
    """Lets many through at once, or one alone."""

    def __init__(self) -> None:
        self._inside = 0
        self._alone = False
        self._changed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def passing(self, *, alone: bool) -> AsyncIterator[None]:
        """Wait for one's turn, and hold it."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._alone and not (alone and self._inside))
            self._inside += 1
            self._alone = alone
        try:
            yield
        finally:
            async with self._changed:
                self._inside -= 1
                self._alone = False
                self._changed.notify_all()
