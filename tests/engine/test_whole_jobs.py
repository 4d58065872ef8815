"""The harness itself: whole jobs, and what they cost."""

from __future__ import annotations

from bellwren import layout
from tests.engine.harness import Engine
from tests.engine.proxy import Proxy
from tests.engine.server import Server


def test_a_map_gives_results_in_item_order(engine: Engine) -> None:
    outcome = engine.map(lambda x: x * x, range(100), workers=3)
    assert outcome.result() == [x * x for x in range(100)]
    assert len(outcome.lives) == 3


def test_a_map_reduce_gives_one_value_for_each_key(engine: Engine) -> None:
    outcome = engine.map_reduce(lambda x: [(x % 7, x)], range(100), lambda _, values: sum(values), workers=2)
    assert outcome.result() == {rest: sum(range(rest, 100, 7)) for rest in range(7)}


def test_every_job_that_ends_has_a_page_that_explains_it(engine: Engine) -> None:
    outcome = engine.map(lambda x: 1 // x, range(8), workers=2, tolerate=0.5)
    made = engine.store.get(layout.report(outcome.job_id)).decode()
    assert "ZeroDivisionError" in made
    assert made.count('class="bar failed"') == 1
    assert "map · worker 1" in made


def test_the_first_invocation_of_each_environment_is_a_cold_start(server: Server, engine: Engine) -> None:
    proxy = Proxy(server.port)
    fresh = Engine(server, proxy)
    try:
        cold = [fresh.map(abs, range(8), workers=1).record["cold_starts"] for _ in range(3)]
    finally:
        fresh.close()
        proxy.close()
    assert cold == [1, 0, 0]
