"""What workers say that they asked of storage is what they asked: it is a part of the job's cost."""

from __future__ import annotations

from tests.engine.harness import Engine
from tests.engine.proxy import Proxy, Request, Script


def kind(request: Request) -> str:
    if request.method in ("GET", "HEAD"):
        return "list" if "list-type=2" in request.path else "get"
    return "put" if request.method in ("PUT", "POST") else request.method


def seen(script: Script) -> dict[str, int]:
    kinds = [kind(one) for one in script.seen]
    return {name: kinds.count(name) for name in ("get", "put", "list")}


def test_every_request_of_the_workers_is_in_the_record_claims_among_them(
    engine: Engine, proxy: Proxy
) -> None:
    with proxy.disturbed_by() as script:
        outcome = engine.map_reduce(lambda x: [(x % 3, 1)], range(40), lambda _, v: sum(v), workers=2)
    assert outcome.result() == {0: 14, 1: 13, 2: 13}
    told = dict.fromkeys(("get", "put", "list"), 0)
    for stage in outcome.record["stages"]:
        for name, count in stage["requests"].items():
            told[name] += count
    told["put"] += len(outcome.lives)  # the report itself is written after it was made
    assert told == seen(script)
    assert script.count("PUT", "/claims/") > 0
