"""The execution records of a deployment: look at them, and bring in those of other systems."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bellwren import layout
from bellwren.errors import BellwrenError
from bellwren.learning.quarantine import quarantined
from bellwren.records.document import RecordDocument
from bellwren.records.execution import Execution
from bellwren.records.foreign import TIME, record_of
from bellwren.records.importing import Imported, read_folder, read_table, record_ids
from bellwren.records.labels import BadRecord, NotALabel, parse
from bellwren.records.mapping import read_mapping
from bellwren.store import Store, as_json

_PARALLEL = 16
_SHOWN_FAULTS = 10


class FaultyRows(BellwrenError):
    """Rows of a table are wrong; nothing was imported. The message names the first of them."""


@dataclass(frozen=True)
class ImportedRecords:
    """What an import did."""

    written: Counter[str]
    """Records that are new, by algorithm."""
    there: int
    """Records that an earlier import wrote."""
    repeats: int
    """Rows equal to an earlier one; they count as repeated measurements."""
    left_out: tuple[str, ...]
    """Rows that are wrong, each with what is."""
    read_as: dict[str, str]
    """For each file the known layout, or the mapping, that it was read with."""
    mixed: tuple[str, ...] = ()
    """Columns of numbers that are read as texts, because of one that is."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            **vars(self),
            "written": dict(self.written),
            "left_out": list(self.left_out),
            "mixed": list(self.mixed),
        }


class Records:
    """The records bucket."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def import_table(
        self, path: Path, mapping: Path | None = None, *, skip_faulty: bool = False, dry_run: bool = False
    ) -> ImportedRecords:
        """Import the TSV or CSV tables at a path, a file or a folder. What is there already is not written again.

        Args:
            path: Where they lie; a table's name is its algorithm's unless the mapping says another.
            mapping: JSON file that says what the columns mean; not needed for the layouts of C3O and Bell.
            skip_faulty: Import the rows that are right where some are wrong.
            dry_run: Only say what would be imported.

        Raises:
            MappingError: a header is not understood: the column, unit or repetition is named.
            FaultyRows: rows are wrong, and are not to be skipped.
        """
        found = _read(path, mapping)
        faults = tuple(str(fault) for fault in found.faults)
        if faults and not skip_faulty:
            more = f"\n  and {len(faults) - _SHOWN_FAULTS} more" if len(faults) > _SHOWN_FAULTS else ""
            lines = "\n".join(f"  {fault}" for fault in faults[:_SHOWN_FAULTS])
            raise FaultyRows(
                f"{len(faults)} row(s) of {path.name} are wrong, so nothing was imported:\n{lines}{more}\n"
                "Mend them, or leave them out with --skip-faulty."
            )
        documents, there = self._sorted(found.executions)
        new = {key: document for key, document in documents.items() if key not in there}
        if not dry_run:
            self._write(new)
        return ImportedRecords(
            Counter(str(document["algorithm"]) for document in new.values()),
            len(there),
            found.duplicates,
            faults,
            dict(found.read_as),
            found.mixed,
        )

    def undo_import(self, path: Path, mapping: Path | None = None, *, dry_run: bool = False) -> Counter[str]:
        """Delete the records that an import of the same tables with the same mapping wrote, and no others.

        For an import whose mapping was wrong, say in a unit. The bucket keeps what is deleted as old versions.

        Returns:
            How many were deleted, by algorithm.

        Raises:
            MappingError: a header is not understood.
        """
        documents, there = self._sorted(_read(path, mapping).executions)
        if not dry_run:
            self._store.delete(sorted(there))
        return Counter(str(documents[key]["algorithm"]) for key in there)

    def _sorted(self, runs: Sequence[Execution]) -> tuple[dict[str, RecordDocument], set[str]]:
        """The records of runs by their keys, and which of these are there."""
        made = [record_of(run, name) for run, name in zip(runs, record_ids(runs), strict=True)]
        documents = {layout.execution_record(one["algorithm"], one["job_id"], TIME): one for one in made}
        algorithms = {run.algorithm for run in runs}
        there = {entry.key for name in algorithms for entry in self._store.list(layout.records(name))} & set(
            documents
        )
        return documents, there

    def _write(self, documents: Mapping[str, RecordDocument]) -> None:
        with ThreadPoolExecutor(_PARALLEL) as threads:
            list(threads.map(lambda key: self._store.create(key, as_json(documents[key])), documents))

    def counts(self) -> dict[str, int]:
        """How many records there are of each algorithm."""
        counted: Counter[str] = Counter()
        for prefix in self._store.folders(layout.RECORDS):
            algorithm = prefix.removeprefix(layout.RECORDS).removesuffix("/")
            counted[algorithm] = sum(1 for _ in self._store.list(prefix))
        return dict(counted)

    def latest(self, algorithm: str, most: int = 20) -> list[dict[str, Any]]:
        """The last records of an algorithm, the latest first, each with ``learned_from``: True, or why not."""
        keys = [entry.key for entry in self._store.list(layout.records(algorithm))]
        with ThreadPoolExecutor(_PARALLEL) as threads:
            # Keys sort by day; within the last days the records themselves say.
            contents = list(threads.map(self._store.get, keys[-max(most, 200) :]))
        rows = [_row(content) for content in contents]
        rows.sort(key=lambda row: str(row.get("started_at")), reverse=True)
        return rows[:most]

    def quarantined(self, algorithm: str = "") -> list[dict[str, Any]]:
        """Records that were put aside: ``key``, ``reason``, ``quarantined_at``."""
        return list(quarantined(self._store, algorithm))


_FIELDS = (
    *("job_id", "started_at", "workers", "memory_mb", "bytes", "items"),
    *("runtime_s", "cost_usd", "outcome", "contended"),
)


def _row(content: bytes) -> dict[str, Any]:
    verdict: str | bool = True
    try:
        parse(content, "record")
    except (BadRecord, NotALabel) as error:
        verdict = str(error)
    try:
        document = json.loads(content)
    except ValueError:
        document = {}
    if not isinstance(document, dict):
        document = {}
    forecast = document.get("forecast")
    expected = forecast.get("runtime_s") if isinstance(forecast, dict) else None
    return {**{name: document.get(name) for name in _FIELDS}, "expected_s": expected, "learned_from": verdict}


def _read(path: Path, mapping: Path | None) -> Imported:
    found = (
        read_folder(path, mapping)
        if path.is_dir()
        else read_table(path, read_mapping(mapping) if mapping else None)
    )
    _check_algorithms(found)
    return found


def _check_algorithms(found: Imported) -> None:
    for algorithm in {run.algorithm for run in found.executions}:
        if not layout.ALGORITHM.fullmatch(algorithm):
            raise FaultyRows(
                f"the algorithm is called {algorithm[:80]!r}; allowed: 1 to 64 letters, digits, hyphens, dots and "
                'underscores, the first a letter or digit. Name it in the mapping: "algorithm": "..."'
            )
