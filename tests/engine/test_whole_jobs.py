"""The harness itself: whole jobs, and what they cost."""

from __future__ import annotations

from tests.engine.harness import Engine


def test_a_map_gives_results_in_item_order(engine: Engine) -> None:
    outcome = engine.map(lambda x: x * x, range(100), workers=3)
    assert outcome.result() == [x * x for x in range(100)]
    assert len(outcome.lives) == 3


def test_a_map_reduce_gives_one_value_for_each_key(engine: Engine) -> None:
    outcome = engine.map_reduce(lambda x: [(x % 7, x)], range(100), lambda _, values: sum(values), workers=2)
    assert outcome.result() == {rest: sum(range(rest, 100, 7)) for rest in range(7)}
