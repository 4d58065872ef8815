"""The examples in the public docstrings run, on a real deployment, and give what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

import bellwren
from bellwren import Cloud

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = ("cloud", "forecast", "job", "executor", "cli.values")


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(cloud: Cloud, name: str) -> None:
    module = importlib.import_module(f"bellwren.{name}")
    names = {"cloud": cloud, "bellwren": bellwren}
    result = doctest.testmod(module, extraglobs=names, optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0
