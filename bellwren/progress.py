"""A progress bar on a terminal or in a notebook, and nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Show = Callable[[dict[str, Any]], None]


@contextmanager
def watch(job_id: str, *, enabled: bool = True) -> Iterator[Show]:
    """Give a function that shows a job's status each time it is called."""
    if not enabled or not _shows():
        yield lambda _: None
        return
    from tqdm.auto import tqdm  # noqa: PLC0415  only where there is somebody to see it

    bar = tqdm(total=None, unit="task", leave=False)

    def show(status: dict[str, Any]) -> None:
        progress = status.get("progress") or {}
        bar.set_description_str(f"{job_id} {status['status'].lower()} {progress.get('stage') or ''}".rstrip())
        bar.total = progress.get("total")
        bar.n = progress.get("done") or 0
        bar.refresh()

    try:
        yield show
    finally:
        bar.close()


def _shows() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
