"""Read execution records of other systems: tables (TSV, CSV) with a known header or a mapping file.

Rows are never coerced: a row that is wrong is named with its line and left out, a header that is wrong stops the file.
Equal rows are repeats where a system measures in whole seconds, so they stay, and their number is said.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bellwren.errors import Fault
from bellwren.records.execution import BYTES, ITEMS, MACHINE, MEMORY_MB, SLOTS, TASKS, Execution, Kind, Value
from bellwren.records.mapping import MappingError, TableMapping, read_mapping, recognise

SUFFIXES = {".tsv": "\t", ".csv": ","}
MAPPING_FILE = "mapping.json"
"""A folder's own mapping, used for each of its tables."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NAMED = {
    "bytes": BYTES,
    "items": ITEMS,
    "tasks": TASKS,
    "memory": MEMORY_MB,
    "slots": SLOTS,
    "machine_type": MACHINE,
}
_TEXTS = {"algorithm", "machine_type"}


@dataclass(frozen=True)
class Imported:
    """What a table or folder holds."""

    executions: tuple[Execution, ...]
    faults: tuple[Fault, ...] = ()
    """Rows that were left out: where, what was found, what is allowed."""
    duplicates: int = 0
    """Rows that equal an earlier one in everything. They count as repeats."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """For each file, the dialect or mapping that it was read with."""
    mixed: tuple[str, ...] = ()
    """Columns with numbers in which a text stands too, so that all of it is texts: one slip of the pen may do that."""


def read_folder(folder: Path, mapping: Path | None = None) -> Imported:
    """Read every table of a folder; the algorithm of a table is its file's name unless its mapping says another.

    A file whose header is no known dialect needs a mapping (`mapping`, or ``mapping.json`` in the folder), since units
    cannot be guessed. One algorithm read with two mappings is refused: its units and columns would be mixed.
    Raises `MappingError`.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES) if folder.is_dir() else []
    if not files:
        raise MappingError(
            str(folder), [Fault("", "no .tsv or .csv file", "a folder with tables of execution records")]
        )
    own = folder / MAPPING_FILE
    chosen = read_mapping(mapping or own) if mapping or own.is_file() else None
    tables = [read_table(path, chosen) for path in files]
    _refuse_mixtures(tables)
    return Imported(
        tuple(execution for table in tables for execution in table.executions),
        tuple(fault for table in tables for fault in table.faults),
        sum(table.duplicates for table in tables),
        {name: how for table in tables for name, how in table.read_as.items()},
        tuple(column for table in tables for column in table.mixed),
    )


def read_table(path: Path, mapping: TableMapping | None = None) -> Imported:
    """Read one table. Raises `MappingError` for a header that nobody understands."""
    delimiter = SUFFIXES.get(path.suffix)
    if delimiter is None:
        raise MappingError(path.name, [Fault("", path.suffix or "no ending", "a .tsv or .csv file")])
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=delimiter)
            lines = [(reader.line_num, row) for row in reader]  # a field may go over several lines
    except (UnicodeDecodeError, csv.Error) as error:
        raise MappingError(path.name, [Fault("", str(error)[:80], "a table in UTF-8")]) from error
    if not lines:
        raise MappingError(path.name, [Fault("", "an empty file", "a header line and rows")])
    header = [name.strip() for name in lines[0][1]]
    table = mapping or recognise(header)
    if table is None:
        said = "a mapping file that says each column's meaning and unit (schema and units are unknown)"
        raise MappingError(path.name, [Fault("header", ", ".join(header)[:200], said)])
    _check_header(path.name, header, table)
    executions, faults, seen = [], [], Counter[tuple[str, ...]]()
    texts = _texts(header, lines[1:])
    numeric = frozenset(header) - set(texts)
    for number, row in lines[1:]:
        if not any(cell.strip() for cell in row):
            continue
        try:
            cells = _cells(header, row)
            executions.append(_execution(_Line(cells, table, numeric, f"{path.name}:{number}", path.stem)))
            seen[tuple(row)] += 1
        except ValueError as error:
            faults.append(
                Fault(f"{path.name}:{number}", str(error), "a row like the others; it was left out")
            )
    duplicates = sum(count - 1 for count in seen.values())
    return Imported(
        tuple(executions),
        tuple(faults),
        duplicates,
        {path.name: table.name},
        tuple(_mixed(path.name, header, lines[1:], table, texts)),
    )


def record_ids(executions: Iterable[Execution]) -> Iterator[str]:
    """A name for each execution that is the same whenever the same table is imported: equal rows are numbered, so
    that repeats stay apart and a second import makes no second record."""
    seen: Counter[str] = Counter()
    for run in executions:
        content = f"{run.algorithm}|{run.workers!r}|{run.runtime_s!r}|{run.context}|{run.cell!r}"
        seen[content] += 1
        yield hashlib.sha256(f"{content}#{seen[content]}".encode()).hexdigest()[:24]


def _check_header(name: str, header: Sequence[str], table: TableMapping) -> None:
    faults = [
        Fault("header", f"column {column!r} {count} times", "each column once")
        for column, count in Counter(header).items()
        if count > 1
    ]
    known = ", ".join(table.columns)
    faults += [
        Fault(
            "header",
            f"column {column!r}",
            f"one of the mapping's columns ({known}); name it there or ignore it",
        )
        for column in header
        if table.column(column) is None
    ]
    if table.others is None:
        faults += [
            Fault("header", f"no column {column!r}", "every column that the mapping names")
            for column in table.columns
            if column not in header
        ]
    if faults:
        raise MappingError(f"{name}, read as {table.name}", faults)


_Row = tuple[int, list[str]]
"""The line it ends in, and its fields."""


def _is_number(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell)) or cell.lower() in {"nan", "inf", "-inf"}


def _texts(header: Sequence[str], rows: Sequence[_Row]) -> dict[str, tuple[int, str]]:
    """Columns in which some value does not read as a number, each with the first of them and its line."""
    found: dict[str, tuple[int, str]] = {}
    for line, row in rows:
        for name, cell in zip(header, row, strict=False):
            if cell.strip() and name not in found and not _is_number(cell.strip()):
                found[name] = (line, cell.strip())
    return found


def _mixed(
    file: str,
    header: Sequence[str],
    rows: Sequence[_Row],
    table: TableMapping,
    texts: Mapping[str, tuple[int, str]],
) -> Iterator[str]:
    for at, name in enumerate(header):
        column = table.column(name)
        if name not in texts or column is None or column.meaning not in {"parameter", "characteristic"}:
            continue
        numbers = sum(_is_number(row[at].strip()) for _, row in rows if at < len(row))
        if numbers:
            line, cell = texts[name]
            yield f"{file}:{line}: {name} is {cell[:40]!r}, so {numbers} number(s) of this column are read as texts too"


@dataclass(frozen=True)
class _Line:
    """One row with what is needed to read it."""

    cells: Mapping[str, str]
    table: TableMapping
    numeric: frozenset[str]
    where: str
    stem: str


def _cells(header: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    if len(row) != len(header):
        raise ValueError(f"{len(row)} fields, the header has {len(header)}")
    return {name: cell.strip() for name, cell in zip(header, row, strict=True)}


def _execution(line: _Line) -> Execution:
    fixed: dict[str, float] = {}
    properties: dict[str, Value] = {}
    kinds: dict[str, Kind] = {}
    clusters: set[str] = set()
    algorithm = line.table.algorithm or line.stem
    for name, cell in line.cells.items():
        column = line.table.column(name)
        if column is None or column.meaning == "ignore" or not cell:
            continue
        if column.meaning == "algorithm":
            algorithm = cell
        elif column.meaning in {"workers", "runtime"}:
            fixed[column.meaning] = _number(cell, name) * column.factor
        elif column.meaning in {"parameter", "characteristic"}:
            properties[name] = _number(cell, name) if name in line.numeric else cell
            kinds[name] = "parameter" if column.meaning == "parameter" else "characteristic"
        else:
            own = _NAMED[column.meaning]
            properties[own] = cell if column.meaning in _TEXTS else _number(cell, name) * column.factor
            if column.of_cluster:
                clusters.add(own)
    for meaning in ("workers", "runtime"):
        if meaning not in fixed:
            raise ValueError(f"no {meaning}")
    if clusters and fixed["workers"] <= 0:
        raise ValueError(f"workers is {fixed['workers']:g}; the sums over all workers need a number above 0")
    for own in clusters:
        properties[own] = float(properties[own]) / fixed["workers"]
    return Execution(algorithm, fixed["workers"], fixed["runtime"], properties, kinds, line.where)


def _number(cell: str, name: str) -> float:
    if not _NUMBER.fullmatch(cell) or not math.isfinite(float(cell)):
        raise ValueError(f"{name} is {cell[:40]!r}, not a finite number")
    return float(cell)


def _refuse_mixtures(tables: Sequence[Imported]) -> None:
    how: dict[str, set[str]] = {}
    for table in tables:
        for run in table.executions:
            how.setdefault(run.algorithm, set()).update(table.read_as.values())
    mixed = [
        Fault(algorithm, " and ".join(sorted(names)), "one schema for one algorithm; import them apart")
        for algorithm, names in how.items()
        if len(names) > 1
    ]
    if mixed:
        raise MappingError("records of one algorithm in two schemas", mixed)
