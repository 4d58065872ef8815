"""One Lambda execution environment: a process that reads events and calls the worker's handler, as Lambda's runtime and
MiniStack's do. Descriptor 1 carries the answers, so whatever user code writes there would be seen at once.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any


class Context:
    """What Lambda hands to a handler beside the event."""

    def __init__(self, call: dict[str, Any]) -> None:
        self.aws_request_id = call["request_id"]
        self.memory_limit_in_mb = call["memory_mb"]
        self._deadline = time.monotonic() + call["timeout_s"]

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.monotonic()) * 1000))


def main() -> None:
    # Skewed before anything of ours reads the time.
    if skew := float(os.environ.get("SKEW_S", "0")):
        honest = time.time
        time.time = lambda: honest() + skew
    from functions import worker

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(1, 1)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        call = json.loads(line)
        try:
            answer = {"result": worker.handler(call["event"], Context(call))}
        except Exception as error:  # noqa: BLE001  as Lambda does
            answer = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
