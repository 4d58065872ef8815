"""What the columns of a table of execution records mean: written by the user as a JSON file, or known by its header.

A mapping file::

    {"bellwren_mapping": 1,
     "algorithm": "grep",
     "columns": {"instance_count": {"as": "workers"},
                 "gross_runtime":  {"as": "runtime", "unit": "s"},
                 "data_size_MB":   {"as": "bytes", "unit": "MB"},
                 "memory":         {"as": "memory", "unit": "MB", "of": "cluster"},
                 "machine_type":   {"as": "machine_type"},
                 "p_occurrence":   {"as": "parameter"},
                 "lines":          {"as": "characteristic"},
                 "comment":        {"as": "ignore"}}}

`algorithm` may be left out (the file's name without its ending is taken) or be a column with ``"as": "algorithm"``.
Every column has to be named, so that nothing is taken for what it is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bellwren.errors import BellwrenError, Fault
from bellwren.records import units

MEANINGS = (
    "workers",
    "runtime",
    "bytes",
    "items",
    "tasks",
    "memory",
    "slots",
    "machine_type",
    "parameter",
    "characteristic",
    "algorithm",
    "ignore",
)
_UNITS = {"runtime": units.TIME, "bytes": units.SIZE, "memory": units.MEMORY}
_SHARED = ("memory", "slots")
_ONCE = frozenset(MEANINGS) - {"parameter", "characteristic", "ignore"}


class MappingError(BellwrenError):
    """A table's columns cannot be understood; `faults` names each of them."""

    def __init__(self, what: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(f"{what}: " + "; ".join(str(fault) for fault in self.faults))


@dataclass(frozen=True)
class Column:
    """What one column is."""

    meaning: str
    """One of `MEANINGS`."""
    factor: float = 1.0
    """Ours (seconds, bytes, MB) in one of the column's unit."""
    of_cluster: bool = False
    """Whether the number is the sum over all workers, not one worker's."""


@dataclass(frozen=True)
class TableMapping:
    """What every column of a table is."""

    name: str
    """How messages call it: the file's name, or the dialect's."""
    columns: Mapping[str, Column]
    algorithm: str | None = None
    """The algorithm of every row; None: a column says it, or the file's name."""
    others: str | None = field(default=None)
    """What columns mean that are not named: None (refused) or ``"property"`` (told apart by their name)."""

    def column(self, name: str) -> Column | None:
        """What this column is; None: nobody knows."""
        if name in self.columns:
            return self.columns[name]
        if self.others == "property":
            return Column("parameter" if _sounds_like_a_parameter(name) else "characteristic")
        return None


C3O = TableMapping(
    "C3O (seconds, MB, cluster totals)",
    {
        "instance_count": Column("workers"),
        "gross_runtime": Column("runtime"),
        "data_size_MB": Column("bytes", 1e6),
        "memory": Column("memory", 1.0, of_cluster=True),
        "slots": Column("slots", 1.0, of_cluster=True),
        "machine_type": Column("machine_type"),
        "instance_type": Column("machine_type"),
    },
    others="property",
)
"""Will et al., "C3O: Collaborative Cluster Configuration Optimization" (2020): runtime in seconds, cluster totals."""
BELL = TableMapping(
    "Bell (milliseconds)",
    {"Nodes": Column("workers"), "Runtime": Column("runtime", 1e-3)},
)
"""Thamsen et al., "Selecting Resources for Distributed Dataflow Systems According to Runtime Targets" (2016): ms."""


def recognise(header: Sequence[str]) -> TableMapping | None:
    """The dialect that this header is written in, if it is a known one; a header alone says no unit."""
    if set(header) == set(BELL.columns):
        return BELL
    if {"instance_count", "gross_runtime"} <= set(header):
        return C3O
    return None


def read_mapping(path: Path) -> TableMapping:
    """Read a mapping file. Raises `MappingError` with every fault in it."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise MappingError(path.name, [Fault("", str(error)[:80], "a readable JSON file")]) from error
    return parse_mapping(document, path.name)


def parse_mapping(document: Any, name: str) -> TableMapping:
    """Check a mapping document; see the module's text for its form."""
    if not isinstance(document, dict) or not isinstance(document.get("columns"), dict):
        raise MappingError(
            name, [Fault("columns", type(document).__name__, "an object with one entry per column")]
        )
    faults = [
        Fault(key, repr(document[key]), "one of: bellwren_mapping, algorithm, columns")
        for key in document
        if key not in {"bellwren_mapping", "algorithm", "columns"}
    ]
    if document.get("bellwren_mapping") != 1:
        faults.append(
            Fault("bellwren_mapping", repr(document.get("bellwren_mapping")), "1, the mapping's version")
        )
    algorithm = document.get("algorithm")
    if algorithm is not None and not isinstance(algorithm, str):
        faults.append(Fault("algorithm", repr(algorithm), "a text"))
    columns: dict[str, Column] = {}
    for column, said in document["columns"].items():
        try:
            columns[column] = _column(said)
        except ValueError as error:
            faults.append(Fault(f"columns.{column}", repr(said)[:80], str(error)))
    faults += _missing_or_twice(columns)
    if faults:
        raise MappingError(name, faults)
    return TableMapping(name, columns, algorithm)


def _column(said: Any) -> Column:
    if not isinstance(said, dict) or said.get("as") not in MEANINGS:
        raise ValueError(f'{{"as": ...}} with one of {", ".join(MEANINGS)}')
    meaning = said["as"]
    allowed = {"as"} | ({"unit"} if meaning in _UNITS else set()) | ({"of"} if meaning in _SHARED else set())
    if set(said) - allowed:
        raise ValueError(f"only {', '.join(sorted(allowed))}")
    factor = 1.0
    if meaning in _UNITS:
        if "unit" not in said:
            raise ValueError(f'an explicit "unit", one of {", ".join(_UNITS[meaning])}')
        factor = units.factor(_UNITS[meaning], said["unit"], meaning)
    of = said.get("of", "worker")
    if of not in {"worker", "cluster"}:
        raise ValueError('"of": "worker" or "cluster"')
    return Column(meaning, factor, of_cluster=of == "cluster")


def _missing_or_twice(columns: Mapping[str, Column]) -> list[Fault]:
    faults = []
    for meaning in ("workers", "runtime"):
        if not any(column.meaning == meaning for column in columns.values()):
            faults.append(
                Fault("columns", f"no column that is {meaning}", f'one column with "as": "{meaning}"')
            )
    for meaning in _ONCE:
        named = [name for name, column in columns.items() if column.meaning == meaning]
        if len(named) > 1:
            faults.append(
                Fault("columns", f"{meaning} twice: {', '.join(named)}", "one column of this meaning")
            )
    return faults


_PARAMETER = re.compile(
    r"^(k|n_clusters|clusters|iterations?|max_.*|.*_iterations|.*criterion|.*threshold|tolerance|epsilon|alpha|beta|"
    r"lambda|gamma|.*_rate|step_size|damping.*|p_.*|job_arg.*|arg_.*|param.*)$",
    re.IGNORECASE,
)


def _sounds_like_a_parameter(name: str) -> bool:
    """Arguments of a job go by few names; every other property is taken for a characteristic of the data.

    The difference matters to the filtered protocol and to the order of Bellamy's codes, not to our model.
    """
    return _PARAMETER.match(name) is not None
