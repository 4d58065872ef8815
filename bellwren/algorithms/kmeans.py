"""k-means (Lloyd 1982) with k-means++ seeding (Arthur, Vassilvitskii 2007), as supersteps.

Seeding takes a superstep for each centre: every partition proposes one of its rows, drawn by squared distance to the
centres so far, with the sum of those distances; then all draw the same proposal by these sums. That is the seeding of
the whole data, whichever partition a row lies in.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from bellwren.algorithms.functions import Functions
from bellwren.algorithms.table import matrix, widened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]


def functions(k: int, iterations: int, tolerance: float, seed: int) -> Functions:
    """Until no centre moves further than ``tolerance`` (Euclidean), at most ``iterations`` assignments.

    Every partition's result is the same model: ``centres``, ``sizes`` and ``inertia`` (sum of squared distances).
    """

    def step(worker: Any) -> None:
        if worker.superstep == 0:
            worker.state = Part(matrix(worker.state))
            worker.aggregate("columns", worker.state.rows.shape[1] if len(worker.state.rows) else 0, "max")
            worker.aggregate("rows", len(worker.state.rows))
            return
        part: Part = worker.state
        if worker.superstep == 1:
            part.begin(worker)
        elif not part.seeded:
            part.seed(worker, k, seed)
        elif part.update(worker, iterations, tolerance):
            return
        if part.seeded:
            part.assign(worker)
        else:
            part.propose(worker, seed)

    return Functions(step=step, present=lambda state: state.model())


class Part:
    """The rows of one partition, and the centres, which are the same in all."""

    def __init__(self, rows: Matrix) -> None:
        self.rows = rows
        self.centres: list[Any] | Matrix = []
        self.seeded = False
        self._rounds = 0
        self._sizes: list[int] = []
        self._inertia = 0.0

    def begin(self, worker: Any) -> None:
        """Refuse data in which there is nothing to find."""
        import numpy as np  # noqa: PLC0415

        if not worker.aggregated["rows"]:
            raise ValueError("k-means needs at least one row; the input has none")
        self.rows = widened(self.rows, worker.aggregated["columns"])
        self._nearest = np.ones(len(self.rows))

    def propose(self, worker: Any, seed: int) -> None:
        """Offer a row as the next centre, with the weight of all rows here."""
        weight = float(self._nearest.sum())
        if weight > 0:
            draw = _draw(seed, len(self.centres), worker.partition) * weight
            place = min(int(self._nearest.cumsum().searchsorted(draw, side="right")), len(self.rows) - 1)
            worker.aggregate("proposals", (weight, self.rows[place]), "collect")

    def seed(self, worker: Any, k: int, seed: int) -> None:
        """Take the proposal that all partitions draw alike. Fewer distinct rows than ``k`` give fewer centres."""
        import numpy as np  # noqa: PLC0415

        proposals = worker.aggregated.get("proposals", [])
        if proposals:
            weights = np.cumsum([weight for weight, _ in proposals])
            draw = _draw(seed, len(self.centres)) * weights[-1]
            centre = proposals[min(int(weights.searchsorted(draw, side="right")), len(proposals) - 1)][1]
            distance = ((self.rows - centre) ** 2).sum(axis=1)
            self._nearest = distance if not len(self.centres) else np.minimum(self._nearest, distance)
            self.centres = [*self.centres, centre]
        if not proposals or len(self.centres) == k:
            self.centres = np.array(self.centres)
            self.seeded = True

    def assign(self, worker: Any) -> None:
        """Sum the rows that are nearest to each centre."""
        import numpy as np  # noqa: PLC0415

        centres = np.asarray(self.centres)
        nearest = np.zeros(len(self.rows), dtype=np.int64)
        best = np.full(len(self.rows), np.inf)
        for number, centre in enumerate(
            centres
        ):  # in the memory of one column, however many centres there are
            distance = ((self.rows - centre) ** 2).sum(axis=1)
            closer = distance < best
            nearest[closer], best[closer] = number, distance[closer]
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, self.rows)
        worker.aggregate("sums", sums)
        worker.aggregate("sizes", np.bincount(nearest, minlength=len(centres)))
        worker.aggregate("inertia", float(best.sum()))

    def update(self, worker: Any, iterations: int, tolerance: float) -> bool:
        """Move the centres to the means of their rows; one that lost all its rows stays. True at the end."""
        import numpy as np  # noqa: PLC0415

        before, sizes = np.asarray(self.centres), worker.aggregated["sizes"]
        means = worker.aggregated["sums"] / np.maximum(sizes, 1)[:, None]
        self.centres = np.where(sizes[:, None] > 0, means, before)
        self._sizes, self._inertia = sizes.tolist(), worker.aggregated["inertia"]
        self._rounds += 1
        moved = float(np.sqrt(((self.centres - before) ** 2).sum(axis=1)).max())
        worker.aggregate("moved", moved, "max")
        if moved <= tolerance or self._rounds >= iterations:
            worker.vote_to_halt()
            return True
        return False

    def model(self) -> dict[str, Any]:
        """Centres, and rows and squared distances at the last assignment."""
        centres = [centre.tolist() for centre in self.centres]
        return {"centres": centres, "sizes": self._sizes, "inertia": self._inertia}


def _draw(*of: int) -> float:
    """A random number from 0 to 1, the same wherever it is drawn."""
    return random.Random(":".join(map(str, of))).random()  # noqa: S311  no secret
