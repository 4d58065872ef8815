"""The models of a deployment: which versions there are, how well they do, which one serves, and training anew."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from bellwren.errors import BellwrenError, NotDeployed
from bellwren.learning.registry import Registry, UnknownModel
from bellwren.learning.state import LearningState
from bellwren.store import Store

Document = dict[str, Any]

_POLL_S = 0.5
_BUSY_POLL_S = 2.0


class NoRecords(BellwrenError):
    """There is nothing to learn an algorithm from."""


class RetrainFailed(BellwrenError):
    """A training failed, or said nothing in time; the model in service is the one from before."""


class Models:
    """The models bucket, and the function that starts trainings."""

    def __init__(self, store: Store, functions: Any, collect_function: str) -> None:
        """``functions`` is a boto3 client of Lambda."""
        self._store = store
        self._registry = Registry(store)
        self._functions = functions
        self._collect = collect_function

    def list(self) -> list[Document]:
        """The model in service of every algorithm, with how its forecasts turned out."""
        return [self._summary(algorithm) for algorithm in self._registry.algorithms()]

    def show(self, algorithm: str, version: str | None = None) -> Document:
        """All that is known of an algorithm's model, by default of the version in service.

        Raises:
            UnknownModel: there is none; the message lists those that there are.
        """
        pointer = self._registry.current(algorithm)
        shown = version or pointer.version
        if shown is None:
            # Trainings may have been tried, and that is worth showing.
            if not LearningState(self._store, algorithm).read():
                self._registry.card(algorithm, "")
            return {**self._summary(algorithm), "card": None}
        card = self._registry.card(algorithm, shown)
        return {**self._summary(algorithm), "shown": shown, "card": card}

    def roll_back(self, algorithm: str, to: str | None = None) -> Document:
        """Put an earlier version into service, by default the one before; serving follows within seconds.

        Returns:
            ``{"algorithm", "before", "version"}``.

        Raises:
            UnknownModel: there is no such version.
            PublishedMeanwhile: a training published at the same moment.
        """
        before, now = self._registry.roll_back(algorithm, to)
        return {"algorithm": algorithm, "before": before, "version": now}

    def retrain(
        self,
        algorithm: str | None = None,
        *,
        wait: bool = False,
        timeout_s: float = 1000.0,
        report: Callable[[str], None] = lambda _: None,
    ) -> Document:
        """Do now what the schedule does: train every algorithm that has new records; or one, new records or not.

        Args:
            algorithm: Train this one anyway.
            wait: Until the trainings have ended.
            timeout_s: How long to wait at most.
            report: Is told what is being waited for.

        Returns:
            ``{"started": {algorithm: batch}, "unchanged": [...], "busy": [...], "later": [...], "messages", "strange",
            "outcomes"}``; ``outcomes`` has what came of each training that was waited for.

        Raises:
            NoRecords: there is no record of the algorithm.
            RetrainFailed: a training that was waited for failed, or took longer.
        """
        found = self._tick(algorithm)
        if found["unknown"]:
            raise NoRecords(
                f"there are no records of {algorithm!r}; run a job of it, or bring some with: bellwren records import "
                "(`bellwren records list` says which algorithms have any)"
            )
        outcomes: dict[str, Document] = {}
        if wait:
            until = time.monotonic() + timeout_s
            for name, batch in found["started"].items():
                report(f"training {name}")
                outcomes[name] = self._outcome(name, batch, until)
            while algorithm in found["busy"] and time.monotonic() < until:
                report(f"waiting for a training of {algorithm} that is under way")
                time.sleep(_BUSY_POLL_S)
                state = LearningState(self._store, str(algorithm))
                if not state.leased(state.read()):
                    return self.retrain(
                        algorithm, wait=True, timeout_s=until - time.monotonic(), report=report
                    )
        failed = {name: said for name, said in outcomes.items() if said["outcome"] == "FAILED"}
        if failed:
            lines = "\n".join(f"  {name}: {said['reason']}" for name, said in failed.items())
            raise RetrainFailed(
                f"{len(failed)} training(s) failed; the models in service are those from before:\n{lines}"
            )
        return {**found, "outcomes": outcomes}

    def _tick(self, algorithm: str | None) -> Document:
        if not self._collect:
            raise NotDeployed(
                "this deployment has no learning loop yet; deploy this version: cdk deploy --all"
            )
        event = {"algorithm": algorithm} if algorithm else {}
        answer = self._functions.invoke(FunctionName=self._collect, Payload=json.dumps(event).encode())
        said: Document = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            raise RetrainFailed(f"the tick failed: {said.get('errorType')}: {said.get('errorMessage')}")
        return said

    def _outcome(self, algorithm: str, batch: str, until: float) -> Document:
        state = LearningState(self._store, algorithm)
        while time.monotonic() < until:
            document = state.read()
            last: Document = document.get("last") or {}
            if last.get("batch") == batch:
                return last
            if document.get("lease", {}).get("batch") != batch or not state.leased(document):
                return {
                    "outcome": "FAILED",
                    "reason": "it was killed, for want of memory or time or from outside; its records are taken by the "
                    "next one",
                }
            time.sleep(_POLL_S)
        raise RetrainFailed(
            f"the training of {algorithm} has not ended yet; see later with: bellwren models show {algorithm}"
        )

    def _summary(self, algorithm: str) -> Document:
        learning = LearningState(self._store, algorithm)
        pointer, state = self._registry.current(algorithm), learning.read()
        try:
            card = self._registry.card(algorithm, pointer.version) if pointer.version else {}
        except UnknownModel:
            card = {}  # missing or damaged: the version says which one should be there
        return {
            "algorithm": algorithm,
            "version": pointer.version,
            "family": card.get("family"),
            "mre": card.get("mre"),
            "records": card.get("records"),
            "contexts": card.get("contexts"),
            "trained_at": card.get("trained_at"),
            "rolled_back": bool(pointer.document.get("rolled_back")),
            "versions": self._registry.versions(algorithm),
            "calibration": state.get("calibration"),
            "last": state.get("last"),
            "training": learning.leased(state),
        }
