"""PageRank (Page, Brin, Motwani, Winograd 1999) by power iteration, as supersteps.

The input is a list of edges, ``from to`` in each line; ``#`` begins a comment. Edges that occur twice count once. The
rank of nodes without links (dangling nodes) is shared out over all nodes, so the sum of all ranks stays 1. With a
personalisation (Haveliwala 2002) that rank, and the share that follows no link, goes to the nodes that it names.

Supersteps: 0 edges go to the owners of their sources; 1 owners tell each other which targets they will write to, so
that afterwards only arrays of numbers travel; 2 first ranks; from 3 on one round of the iteration each.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bellwren.algorithms.functions import Functions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Names = NDArray[np.str_]
    Numbers = NDArray[np.int64]
    Ranks = NDArray[np.float64]

SETTING_UP = 3
"""Supersteps before the first round of the iteration."""


def functions(
    damping: float, iterations: int, tolerance: float, personalisation: Mapping[str, float] | None
) -> Functions:
    """Iterate until the ranks change by less than ``tolerance`` in sum, at most ``iterations`` times.

    Each partition's result is an object of its nodes' ranks.
    """

    def step(worker: Any) -> None:
        if worker.superstep == 0:
            _send_edges(worker)
        elif worker.superstep == 1:
            worker.state = Part(worker, personalisation)
        elif worker.superstep == 2:
            worker.state.start(worker, personalisation)
        else:
            worker.state.iterate(worker, damping, iterations, tolerance)

    return Functions(step=step, present=ranks_of)


def ranks_of(state: Any) -> dict[str, float]:
    """The result of a partition: rank by node."""
    return state.ranks() if isinstance(state, Part) else {}


def read_edges(records: Iterable[Any]) -> tuple[Names, Names]:
    """Sources and targets of edges in lines, or in rows whose first two columns they are.

    Raises:
        ValueError: for a line with fewer than two columns.
    """
    import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that compute with it

    sources, targets = [], []
    for record in records:
        fields = _fields(record)
        if len(fields) >= 2:
            sources.append(fields[0])
            targets.append(fields[1])
        elif fields:
            raise ValueError(f"an edge has two columns, source and target; found {record!r}")
    return np.array(sources, dtype=np.str_), np.array(targets, dtype=np.str_)


def _fields(record: Any) -> list[str]:
    if isinstance(record, str):
        return [] if record.lstrip().startswith("#") else record.split()
    return [str(one) for one in (record.values() if isinstance(record, Mapping) else record)]


def owners(names: Names, partitions: int) -> Numbers:
    """Which partition each node belongs to; equal for equal names, wherever it is computed."""
    import numpy as np  # noqa: PLC0415

    unique, places = np.unique(names, return_inverse=True)
    owner = np.array([zlib.crc32(name.encode()) % partitions for name in unique.tolist()], dtype=np.int64)
    return owner[places]


def _send_edges(worker: Any) -> None:
    sources, targets = read_edges(worker.state)
    of_source, of_target = owners(sources, worker.partitions), owners(targets, worker.partitions)
    for to in range(worker.partitions):
        mine = of_source == to
        worker.send(to, (sources[mine], targets[mine], targets[of_target == to]))
    worker.state = None


class Part:
    """The nodes of one partition, and where their links lead."""

    def __init__(self, worker: Any, personalisation: Mapping[str, float] | None) -> None:
        import numpy as np  # noqa: PLC0415

        empty = np.array([], dtype=np.str_)
        sources = np.concatenate([empty, *(message[0] for message in worker.messages)])
        targets = np.concatenate([empty, *(message[1] for message in worker.messages)])
        self.nodes: Names = np.unique(np.concatenate([sources, *(message[2] for message in worker.messages)]))
        source = np.searchsorted(self.nodes, sources)
        names, target = np.unique(targets, return_inverse=True)
        pairs = np.unique(source * max(1, len(names)) + target)
        self._source, self._target = np.divmod(pairs, max(1, len(names)))
        self._degree = np.bincount(self._source, minlength=len(self.nodes)).astype(np.float64)
        self._outgoing = len(names)
        # Contributions are summed for each target here; each partition gets those of its own nodes, in this order.
        owner = owners(names, worker.partitions)
        self._places = {to: np.flatnonzero(owner == to) for to in range(worker.partitions)}
        for to, places in self._places.items():
            if len(places):
                worker.send(to, (worker.partition, names[places]))
        worker.aggregate("nodes", len(self.nodes))
        if personalisation is not None:
            wanted = np.array(sorted(personalisation), dtype=np.str_)
            found = wanted[np.isin(wanted, self.nodes)].tolist()
            worker.aggregate("personalised", found, "collect")
            self._weights: Ranks = np.zeros(len(self.nodes))
            self._weights[np.searchsorted(self.nodes, found)] = [personalisation[name] for name in found]
        self.rounds = 0

    def start(self, worker: Any, personalisation: Mapping[str, float] | None) -> None:
        """Learn who will write to which nodes, and give every node the same rank.

        Raises:
            ValueError: if the personalisation names a node that no edge does.
        """
        import numpy as np  # noqa: PLC0415

        if personalisation is not None:
            known = {name for found in worker.aggregated["personalised"] for name in found}
            if unknown := sorted(personalisation.keys() - known):
                raise ValueError(
                    f"personalisation names {unknown[0]!r}, and no edge does; {len(unknown)} such node(s)"
                )
            self._weights /= sum(personalisation.values())

        self._incoming = {sender: np.searchsorted(self.nodes, names) for sender, names in worker.messages}
        self._total: int = worker.aggregated["nodes"]
        self.rank: Ranks = np.full(len(self.nodes), 1.0 / max(1, self._total))
        if personalisation is None:
            self._weights = self.rank.copy()
        self._spread(worker)

    def iterate(self, worker: Any, damping: float, iterations: int, tolerance: float) -> None:
        """One round, unless the last one changed little enough."""
        import numpy as np  # noqa: PLC0415

        if worker.aggregated.get("change", np.inf) < tolerance or self.rounds >= iterations:
            worker.vote_to_halt()
            return
        received = np.zeros(len(self.nodes))
        for sender, amounts in worker.messages:
            received[self._incoming[sender]] += amounts
        elsewhere = damping * worker.aggregated["dangling"] + (1.0 - damping)
        rank = damping * received + elsewhere * self._weights
        worker.aggregate("change", float(np.abs(rank - self.rank).sum()))
        self.rank = rank
        self.rounds += 1
        if self.rounds >= iterations:
            worker.vote_to_halt()
            return
        self._spread(worker)

    def ranks(self) -> dict[str, float]:
        """Rank by node."""
        return (
            dict(zip(self.nodes.tolist(), self.rank.tolist(), strict=True)) if hasattr(self, "rank") else {}
        )

    def _spread(self, worker: Any) -> None:
        import numpy as np  # noqa: PLC0415

        linked = self._degree > 0
        share = np.divide(self.rank, self._degree, out=np.zeros_like(self.rank), where=linked)
        amounts = np.bincount(self._target, weights=share[self._source], minlength=self._outgoing)
        for to, places in self._places.items():
            if len(places):
                worker.send(to, (worker.partition, amounts[places]))
        worker.aggregate("dangling", float(self.rank[~linked].sum()))
        worker.aggregate("sum", float(self.rank.sum()))
