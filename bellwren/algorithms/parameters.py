"""The parameters of the built-in algorithms: their types, bounds and defaults, in one table.

The job document is validated against it, and the algorithms read their values from it (:func:`complete`), so
a default stands nowhere else. Only the standard library: the worker imports this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_PATTERN_CHARACTERS = 1_000


@dataclass(frozen=True)
class Problem:
    """One parameter that an algorithm cannot work with."""

    name: str
    """The parameter."""
    allowed: str
    """What it may be, and what to do."""
    missing: bool = False
    """The parameter is required and was not given."""


Check = Callable[[Any], str | None]
"""Says what is allowed instead of the value, or nothing where the value is good."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of an algorithm."""

    name: str
    meaning: str
    """What it does, as a phrase."""
    check: Check
    default: Any = None
    """Value where none is given; no meaning where ``required``."""
    required: bool = False
    integer: bool = False
    """Its value is an ``int`` for the algorithm, also where the document says 4.0."""


@dataclass(frozen=True)
class Algorithm:
    """What a job document may say about one built-in algorithm."""

    name: str
    kinds: tuple[str, ...]
    """Kinds of job that it can run as; the first is implied."""
    inputs: tuple[str, ...]
    """Input formats that it reads; ``items`` stands for items in the document."""
    parameters: tuple[Parameter, ...]
    agree: Callable[[Mapping[str, Any]], Iterator[Problem]] | None = None
    """What must hold between parameters that are each good alone."""

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name, if there is one."""
        return next((known for known in self.parameters if known.name == name), None)


def whole(least: int, most: int) -> Check:
    """A whole number within bounds. 4.0 is one, as in JSON Schema; true is none."""

    def check(value: Any) -> str | None:
        good = _is_number(value) and least <= value <= most and int(value) == value
        return None if good else f"a whole number from {least:,} to {most:,}"

    return check


def number(least: float, most: float, *, above: bool = False, below: bool = False) -> Check:
    """A number within bounds, which are excluded where ``above`` or ``below`` is set."""

    def check(value: Any) -> str | None:
        good = _is_number(value) and least <= value <= most
        if good and not (above and value == least) and not (below and value == most):
            return None
        start = f"greater than {least:g}" if above else f"from {least:g}"
        end = f"less than {most:g}" if below else f"{'at most' if above else 'to'} {most:g}"
        return f"a number {start}{' and ' if above or below else ' '}{end}"

    return check


def one_of(*choices: str) -> Check:
    """One of the named choices."""

    def check(value: Any) -> str | None:
        if isinstance(value, str) and value in choices:
            return None
        return " or ".join(f'"{choice}"' for choice in choices)

    return check


def flag(value: Any) -> str | None:
    """True or false."""
    return None if isinstance(value, bool) else "true or false, without quotes"


def pattern(*, empty_match: bool) -> Check:
    """A regular expression that compiles; ``empty_match`` says whether it may match the empty text."""

    def check(value: Any) -> str | None:
        if not isinstance(value, str) or not 0 < len(value) <= MAX_PATTERN_CHARACTERS:
            return f"a regular expression, as text of 1 to {MAX_PATTERN_CHARACTERS:,} characters"
        try:
            compiled = re.compile(value)
        except (re.error, OverflowError, RecursionError, ValueError) as refused:
            return f"a regular expression that Python's `re` can compile ({str(refused)[:120]})"
        if not empty_match and compiled.match(""):
            return "a regular expression that never matches the empty text; use + instead of *"
        return None

    return check


def weights(value: Any) -> str | None:
    """Names with weights that are finite, none below 0 and not all 0; or null."""
    if value is None:
        return None
    good = isinstance(value, Mapping) and all(
        isinstance(name, str) and _is_number(weight) and 0 <= weight < math.inf
        for name, weight in value.items()
    )
    if good and 0 < sum(value.values()) < math.inf:
        return None
    return 'an object of weights by name, such as {"a": 1, "b": 0.5}: none below 0, and one above; or null'


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(name: str, meaning: str, default: int | None, *, least: int = 1, most: int = 10_000) -> Parameter:
    """A whole number; null is allowed where it is the default."""
    within = whole(least, most)

    def check(value: Any) -> str | None:
        return None if value is None and default is None else within(value)

    return Parameter(name, meaning, check, default, integer=True)


def _key_within_record(params: Mapping[str, Any]) -> Iterator[Problem]:
    key, record = params["key_bytes"], params["record_bytes"]
    if key is not None and record is not None and key > record:
        yield Problem("key_bytes", f"at most record_bytes, which is {record:,}")


_SEED = _count("seed", "start of the random numbers", 0, least=0, most=2**63 - 1)
_TOLERANCE = number(0, 1)

_RECORDS = (
    _count("record_bytes", "size of a record; null: lines", None, most=1_000_000),
    _count("key_bytes", "leading bytes that are the key; null: all", None, most=1_000_000),
)

ALGORITHMS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "grep",
            kinds=("map",),
            inputs=("lines", "items"),
            parameters=(
                Parameter("pattern", "lines to keep", pattern(empty_match=True), required=True),
                Parameter("ignore_case", "upper and lower case are the same", flag, False),
            ),
        ),
        Algorithm(
            "wordcount",
            kinds=("map_reduce",),
            inputs=("lines", "items"),
            parameters=(
                Parameter("pattern", "what a word is", pattern(empty_match=False), "[A-Za-z]+"),
                Parameter("lower", "words are counted in lower case", flag, True),
            ),
        ),
        Algorithm(
            "sort",
            kinds=("sort",),
            inputs=("lines", "blocks", "items"),
            parameters=_RECORDS,
            agree=_key_within_record,
        ),
        Algorithm(
            "kmeans",
            kinds=("bsp",),
            inputs=("csv", "lines", "parquet"),
            parameters=(
                _count("k", "number of clusters", 10),
                _count("iterations", "most rounds of assignment", 20),
                Parameter("tolerance", "stop when no centre moves further", _TOLERANCE, 1e-4),
                _SEED,
            ),
        ),
        Algorithm(
            "sgd",
            kinds=("bsp", "parameter_server"),
            inputs=("csv", "lines", "parquet"),
            parameters=(
                Parameter("loss", "what is minimised", one_of("logistic", "squared"), "logistic"),
                Parameter("learning_rate", "size of a step", number(0, 1_000, above=True), 0.1),
                _count("epochs", "passes over the data", 5),
                _count("batch", "rows of one step", 256, most=1_000_000),
                _SEED,
            ),
        ),
        Algorithm(
            "pagerank",
            kinds=("bsp",),
            inputs=("lines", "csv"),
            parameters=(
                Parameter(
                    "damping", "share of rank that follows links", number(0, 1, above=True, below=True), 0.85
                ),
                _count("iterations", "most rounds", 50),
                Parameter("tolerance", "stop when the ranks change by less in sum", _TOLERANCE, 1e-8),
                Parameter(
                    "personalisation",
                    "weights by node of where rank goes that follows no link; all alike if null",
                    weights,
                ),
            ),
        ),
        Algorithm(
            "valsort",
            kinds=("map_reduce",),
            inputs=("lines", "blocks"),
            parameters=_RECORDS,
            agree=_key_within_record,
        ),
    )
}


def problems(algorithm: str, params: Mapping[str, Any]) -> list[Problem]:
    """Everything that is wrong with the known parameters of a built-in algorithm.

    Names that the algorithm does not have are the caller's to report (``Algorithm.parameter``).
    """
    known = ALGORITHMS[algorithm]
    found: list[Problem] = []
    for parameter in known.parameters:
        if parameter.name in params:
            allowed = parameter.check(params[parameter.name])
            if allowed is not None:
                found.append(Problem(parameter.name, f"{allowed} ({parameter.meaning})"))
        elif parameter.required:
            wanted = parameter.check(None) or "a value"
            found.append(
                Problem(parameter.name, f"{wanted} ({parameter.meaning}); {algorithm} needs it", missing=True)
            )
    if not found and known.agree is not None:
        found.extend(known.agree(_with_defaults(known, params)))
    return found


def complete(algorithm: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with every default filled in; raises ``ValueError`` naming what is unknown or wrong."""
    known = ALGORITHMS[algorithm]
    wrong = [f"{name} is no parameter" for name in params if known.parameter(name) is None]
    wrong += [f"{problem.name} must be {problem.allowed}" for problem in problems(algorithm, params)]
    if wrong:
        raise ValueError(f"parameters of {algorithm}: {'; '.join(wrong)}")
    return _with_defaults(known, params)


def _with_defaults(known: Algorithm, params: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for parameter in known.parameters:
        value = params.get(parameter.name, parameter.default)
        values[parameter.name] = int(value) if parameter.integer and value is not None else value
    return values
