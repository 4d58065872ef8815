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

    def train(worker: Any) -> None:
        """Hogwild (Niu et al. 2011): each shard takes its own steps on the weights that all share."""
        _hogwild(worker, loss, learning_rate=learning_rate, epochs=epochs, batch=batch, seed=seed)

    return Functions(
        step=step, train=train, present=lambda state: state.model() if isinstance(state, Part) else None
    )


class Part:
    """The rows of one partition, and the weights, which are the same in all."""

    def __init__(self, worker: Any, loss: str, share: int) -> None:
        import numpy as np  # noqa: PLC0415  loaded in the runner, by jobs that compute with it

        columns = worker.aggregated["columns"]
        self._features, self._target = _split(widened(worker.state, columns), loss)
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
        losses, gradient = _gradient(features, target, self._weights, logistic=self._logistic)
        worker.aggregate("gradient", gradient)
        worker.aggregate("rows", len(chosen))
        worker.aggregate("loss_sum", losses)

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


def _split(rows: Any, loss: str) -> tuple[Any, Vector]:
    """Features with a column of ones, and the target, which is the last column."""
    import numpy as np  # noqa: PLC0415

    if rows.shape[1] < 2:
        raise ValueError(
            f"sgd needs rows of at least two columns, the last the target; found {rows.shape[1]}"
        )
    target = rows[:, -1]
    if loss == "logistic" and not np.isin(target, (0.0, 1.0)).all():
        raise ValueError('loss "logistic" needs a last column of 0 and 1; use "squared" for other numbers')
    return np.hstack([rows[:, :-1], np.ones((len(rows), 1))]), target


def _gradient(features: Any, target: Vector, weights: Vector, *, logistic: bool) -> tuple[float, Vector]:
    """Sum of the losses of some rows, and of their gradients."""
    import numpy as np  # noqa: PLC0415

    guess = features @ weights
    if logistic:
        losses = np.logaddexp(0.0, guess) - target * guess
        error = 0.5 * (1.0 + np.tanh(0.5 * guess)) - target
    else:
        error = guess - target
        losses = 0.5 * error**2
    return float(losses.sum()), features.T @ error


def _hogwild(worker: Any, loss: str, *, learning_rate: float, epochs: int, batch: int, seed: int) -> None:
    import numpy as np  # noqa: PLC0415

    rows = matrix(worker.shard)
    if not len(rows):
        return
    features, target = _split(rows, loss)
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch, worker.index]).permutation(len(target))
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            while True:
                weights = worker.parameters.pull().get("weights", np.zeros(features.shape[1]))
                if len(weights) != features.shape[1]:
                    raise ValueError(
                        f"every row must have {len(weights)} columns; here are rows of {features.shape[1]}"
                    )
                losses, gradient = _gradient(
                    features[chosen], target[chosen], weights, logistic=loss == "logistic"
                )
                update = {"weights": -learning_rate * gradient / len(chosen)}
                if worker.parameters.push(update, loss=losses / len(chosen)):
                    break
