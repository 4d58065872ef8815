"""The loop, new for each test."""

from __future__ import annotations

import pytest

from tests.unit.learning.loop import Loop


@pytest.fixture
def loop() -> Loop:
    return Loop()
