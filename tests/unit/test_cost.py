"""What a job costs: by line, and as a forecast."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bellwren import cost


def test_every_price_has_a_unit_and_a_source_and_the_file_a_date() -> None:
    document = json.loads((resources.files("bellwren.prices") / "us-east-1.json").read_text("utf-8"))
    assert document["as_of"]
    for row in document["prices"].values():
        assert row["usd"] > 0
        assert row["unit"]
        assert row["source"].startswith("https://")


def test_a_gb_second_of_ten_workers_is_priced_as_aws_lists_it() -> None:
    usage = cost.Usage(worker_gb_s=10 * cost.billed_gb_s(1024, 60.0))
    assert cost.lines(usage)["workers"] == pytest.approx(600 * 0.0000133334)
    assert cost.lines(usage, architecture="x86_64")["workers"] == pytest.approx(600 * 0.0000166667)


@pytest.mark.parametrize(
    ("seconds", "billed"), [(0.0, 0.0), (0.0001, 0.001), (0.001, 0.001), (1.0001, 1.001)]
)
def test_a_duration_is_billed_by_the_millisecond_begun(seconds: float, billed: float) -> None:
    assert cost.billed_gb_s(1024, seconds) == pytest.approx(billed)


def test_the_lines_are_all_that_a_job_uses() -> None:
    usage = cost.Usage(1.0, 2.0, 3, 4, 5, 6, 7)
    assert sum(cost.lines(usage).values()) == pytest.approx(
        3.0 * 0.0000133334 + 3 * 2e-7 + 4 * 2.5e-5 + 5 * 5e-6 + 6 * 4e-7 + 7e-6
    )


def test_a_region_without_a_file_is_priced_as_us_east_1() -> None:
    assert cost.prices("mars-north-1") == cost.prices("us-east-1")


@given(st.integers(1, 1000), st.sampled_from([512, 1769, 3008]), st.floats(0.1, 900), st.integers(0, 10_000))
def test_more_of_anything_never_costs_less(
    workers: int, memory_mb: int, runtime_s: float, tasks: int
) -> None:
    base = cost.estimate(workers, memory_mb, runtime_s, tasks=tasks)
    assert base > 0
    assert cost.estimate(workers + 1, memory_mb, runtime_s, tasks=tasks) > base
    assert cost.estimate(workers, memory_mb * 2, runtime_s, tasks=tasks) > base
    assert cost.estimate(workers, memory_mb, runtime_s + 1, tasks=tasks) > base
    assert cost.estimate(workers, memory_mb, runtime_s, tasks=tasks + 1) > base


def test_a_bill_says_how_much_of_what_each_line_is() -> None:
    usage = cost.Usage(1.0, 2.0, 3, 4, 5, 6, 7)
    bill = {one["line"]: one for one in cost.bill(cost.lines(usage))}
    quantities = {line: one["quantity"] for line, one in bill.items()}
    assert quantities == pytest.approx(
        {
            "workers": 1,
            "control": 2,
            "lambda_requests": 3,
            "step_functions": 4,
            "s3_puts": 5,
            "s3_gets": 6,
            "events": 7,
        }
    )
    assert bill["workers"]["unit"] == "GB-second"
    assert sum(one["usd"] for one in bill.values()) == pytest.approx(sum(cost.lines(usage).values()))
