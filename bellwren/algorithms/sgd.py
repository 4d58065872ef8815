"""Linear models by mini-batch stochastic gradient descent, as supersteps.

The last column is what is to be predicted: a number for ``squared``, 0 or 1 for ``logistic``. In each superstep every
partition adds the gradient of its share of the batch, and all take the same step, so all hold the same weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bellwren.algorithms.functions import Functions
from bellwren.algorithms.table import matrix, widened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


def functions(loss: str, learning_rate: float, epochs: int, batch: int, seed: int) -> Functions:
    """``epochs`` passes over the rows, shuffled anew for each, ``batch`` rows in a step over all partitions.

    Every partition's result is the same model: ``weights``, ``intercept`` and ``loss`` (mean over the last epoch).
    """

    def step(worker: Any) -> None:
        if worker.superstep == 0:
            rows = matrix(worker.state)
            worker.state = rows
            worker.aggregate("columns", rows.shape[1] if len(rows) else 0, "max")
            share = -(-batch // worker.partitions)
            worker.aggregate("steps", -(-len(rows) // share), "max")
        elif worker.superstep == 1:
            worker.state = Part(worker, loss, -(-batch // worker.partitions))
            worker.state.add_gradient(worker, seed)
        elif worker.state.move(worker, learning_rate) < epochs * worker.state.steps:
            worker.state.add_gradient(worker, seed)
        else:
            worker.vote_to_halt()

    return Functions(step=step, present=lambda state: state.model() if isinstance(state, Part) else None)


class Part:
    """The rows of one partition, and the weights, which are the same in all."""

    def __init__(self, worker: Any, loss: str, share: int) -> None:
        import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that compute with it

        columns = worker.aggregated["columns"]
        if columns < 2:
            raise ValueError(f"sgd needs rows of at least two columns, the last the target; found {columns}")
        rows = widened(worker.state, columns)
        self._features = np.hstack([rows[:, :-1], np.ones((len(rows), 1))])
        self._target = rows[:, -1]
        if loss == "logistic" and not np.isin(self._target, (0.0, 1.0)).all():
            raise ValueError(
                'loss "logistic" needs a last column of 0 and 1; use "squared" for other numbers'
            )
        self._logistic = loss == "logistic"
        self._share = share
        self.steps: int = worker.aggregated["steps"]
        self._done = 0
        self._weights: Vector = np.zeros(columns)
        self._loss = 0.0
        self._of_epoch: list[tuple[float, int]] = []

    def add_gradient(self, worker: Any, seed: int) -> None:
        """Give the gradient of this partition's share of the next batch."""
        import numpy as np  # noqa: PLC0415

        epoch, place = divmod(self._done, self.steps)
        order = np.random.default_rng([seed, epoch, worker.partition]).permutation(len(self._target))
        chosen = order[place * self._share : (place + 1) * self._share]
        features, target = self._features[chosen], self._target[chosen]
        guess = features @ self._weights
        if self._logistic:
            loss = np.logaddexp(0.0, guess) - target * guess
            error = 0.5 * (1.0 + np.tanh(0.5 * guess)) - target
        else:
            error = guess - target
            loss = 0.5 * error**2
        worker.aggregate("gradient", features.T @ error)
        worker.aggregate("rows", len(chosen))
        worker.aggregate("loss_sum", float(loss.sum()))

    def move(self, worker: Any, learning_rate: float) -> int:
        """Take the step that all partitions take; how many have been taken.

        Raises:
            FloatingPointError: if the weights are not finite any more.
        """
        import numpy as np  # noqa: PLC0415

        gradient, rows = worker.aggregated["gradient"], worker.aggregated["rows"]
        with np.errstate(over="ignore", invalid="ignore"):
            self._weights = self._weights - learning_rate * gradient / rows
        if not np.isfinite(self._weights).all():
            raise FloatingPointError(
                f"step {self._done} made the weights infinite: learning_rate={learning_rate:g} is too large for these "
                "columns; lower it, or scale the columns"
            )
        self._done += 1
        self._of_epoch.append((worker.aggregated["loss_sum"], rows))
        if self._done % self.steps == 0:
            total = sum(count for _, count in self._of_epoch)
            self._loss = sum(loss for loss, _ in self._of_epoch) / total
            self._of_epoch = []
        worker.aggregate("loss", worker.aggregated["loss_sum"] / rows, "max")
        return self._done

    def model(self) -> dict[str, Any]:
        """The weights of the columns before the last, the constant, and the mean loss over the last epoch."""
        *weights, intercept = self._weights.tolist()
        return {"weights": weights, "intercept": intercept, "loss": self._loss}
