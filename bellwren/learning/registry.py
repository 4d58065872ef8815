"""The versions of an algorithm's model, and the one in service. A version is never changed; the pointer moves by
compare-and-swap, so that two who publish at once cannot lose each other's work unseen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bellwren import layout
from bellwren.errors import BellwrenError
from bellwren.store import Store, as_json

Document = dict[str, Any]


class UnknownModel(BellwrenError):
    """There is no such model, or no such version of it; the message lists those that there are."""


class PublishedMeanwhile(BellwrenError):
    """Somebody else moved the version in service; nothing was changed."""


@dataclass(frozen=True)
class Pointer:
    """``current.json`` as it was read."""

    version: str | None
    """The version in service; None where there is none."""
    document: Document
    etag: str | None


class Registry:
    """The models bucket."""

    def __init__(self, models: Store) -> None:
        self._models = models

    def algorithms(self) -> Iterator[str]:
        """Algorithms that have a model, or had one."""
        for prefix in self._models.folders(layout.MODELS):
            yield prefix.removeprefix(layout.MODELS).removesuffix("/")

    def versions(self, algorithm: str) -> list[str]:
        """Versions that lie there whole, the oldest first: their names begin with the time of training."""
        prefix = layout.models(algorithm)
        found: dict[str, set[str]] = {}
        for entry in self._models.list(prefix):
            version, _, name = entry.key.removeprefix(prefix).partition("/")
            if name:
                found.setdefault(version, set()).add(name)
        return sorted(version for version, names in found.items() if {"model.onnx", "card.json"} <= names)

    def current(self, algorithm: str) -> Pointer:
        """The version in service."""
        found = self._models.find_with_etag(layout.current_model(algorithm))
        if found is None:
            return Pointer(None, {}, None)
        try:
            document = json.loads(found[0])
            return Pointer(str(document["version"]), document, found[1])
        except (ValueError, KeyError, TypeError):
            return Pointer(None, {}, found[1])  # damaged: whoever publishes next replaces it

    def card(self, algorithm: str, version: str) -> Document:
        """The card of a version. Raises `UnknownModel`, also where it is damaged."""
        content = self._models.find(layout.model_card(algorithm, version))
        if content is None:
            raise self._unknown(algorithm, version)
        found = _parsed(content)
        if not isinstance(found, dict):
            raise UnknownModel(
                f"the card of version {version!r} of the model of {algorithm!r} is damaged; take another one with: "
                f"bellwren models rollback {algorithm}"
            )
        return found

    def files(self, algorithm: str, version: str) -> tuple[bytes, bytes]:
        """The model and its card as they lie there. Raises FileNotFoundError."""
        model = self._models.get(layout.model(algorithm, version))
        return model, self._models.get(layout.model_card(algorithm, version))

    def add(
        self, algorithm: str, version: str, model: bytes, card: Mapping[str, Any], records: Sequence[str]
    ) -> None:
        """Lay a version down; it serves nobody yet."""
        self._models.put_json(layout.trained_on(algorithm, version), list(records))
        self._models.put(layout.model(algorithm, version), model)
        self._models.put_json(layout.model_card(algorithm, version), dict(card))

    def trained_on(self, algorithm: str, version: str) -> frozenset[str]:
        """Short digests of the records that a version was trained on; none where that is not known, or damaged."""
        content = self._models.find(layout.trained_on(algorithm, version))
        names = _parsed(content) if content is not None else None
        return (
            frozenset(name for name in names if isinstance(name, str))
            if isinstance(names, list)
            else frozenset()
        )

    def publish(self, algorithm: str, version: str, before: Pointer, **facts: Any) -> None:
        """Put a version into service, if the one in service still is ``before``.

        Raises:
            PublishedMeanwhile: if it is not.
        """
        key = layout.current_model(algorithm)
        document = {
            "version": version,
            "published_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "before": before.version,
            **facts,
        }
        data = as_json(document)
        etag = before.etag
        moved = self._models.create(key, data) if etag is None else self._models.replace(key, data, etag)
        if not moved and self._models.find(key) != data:  # moved by a request whose answer was lost
            raise PublishedMeanwhile(
                f"the version of {algorithm!r} in service was {before.version} and is another by now; look again "
                f"with: bellwren models show {algorithm}"
            )

    def roll_back(self, algorithm: str, to: str | None = None) -> tuple[str, str]:
        """Put an earlier version into service again; returns (version before, version now).

        Args:
            algorithm: Whose model.
            to: The version; by default the one that served before the current one.

        Raises:
            UnknownModel: there is no such version, or none before the current one.
            PublishedMeanwhile: a training published at the same moment.
        """
        before = self.current(algorithm)
        if before.etag is None:
            raise self._unknown(algorithm, to)
        versions = self.versions(algorithm)
        wanted = to or before.document.get("before")
        if wanted is None or (to is None and wanted == before.version):
            older = [version for version in versions if before.version and version < before.version]
            wanted = older[-1] if older else None
        if wanted is None or wanted not in versions:
            raise self._unknown(algorithm, wanted)
        self.publish(algorithm, wanted, before, rolled_back=True)
        return str(before.version), wanted

    def _unknown(self, algorithm: str, version: str | None) -> UnknownModel:
        versions = self.versions(algorithm)
        if not versions:
            known = ", ".join(self.algorithms()) or "none yet"
            return UnknownModel(
                f"there is no model of {algorithm!r}; there are models of: {known}. Models come from records: "
                f"run jobs, or import records, then: bellwren retrain {algorithm}"
            )
        asked = f"no version {version!r} of" if version else "no earlier version of"
        return UnknownModel(
            f"there is {asked} the model of {algorithm!r}; there are: {', '.join(versions)}. "
            f"The one in service is {self.current(algorithm).version}"
        )


def _parsed(content: bytes) -> Any:
    """None for what is no JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
