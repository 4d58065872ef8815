"""Data sheets of machines."""

from __future__ import annotations

import math

import pytest

from bellwren.machines import machine


def test_a_machine_is_found_by_its_name_and_one_without_a_data_sheet_is_not() -> None:
    found = machine(" M4.2xlarge")
    assert found is not None
    assert (found.clock_ghz, found.disk_mbit_s) == (2.4, 1000)
    assert machine("my-own-box") is None


@pytest.mark.parametrize("name", ["m4.2xlarge", "c5.large", "r6g.16xlarge", "c3.large"])
def test_every_figure_is_a_positive_number_or_not_known(name: str) -> None:
    found = machine(name)
    assert found is not None
    assert all(math.isnan(one) or one > 0 for one in vars(found).values())
