"""Whether the workers have the packages that a function imports, and how to give them those they lack."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Collection, Mapping
from functools import lru_cache

from bellwren.errors import PayloadError

ALWAYS = frozenset({"bellwren", "cloudpickle", "obstore"})
"""What every worker has."""


def check_packages(imported: Mapping[str, str], worker_packages: Collection[str]) -> None:
    """Refuse what workers lack. ``imported`` maps top-level import names to who imports them.

    ``worker_packages`` are distribution or import names. PayloadError names every package that is missing.
    """
    known = {_normal(name) for name in (*worker_packages, *ALWAYS)}
    missing = {
        name: importer
        for name, importer in imported.items()
        if _normal(name) not in known and known.isdisjoint(map(_normal, _distributions().get(name, ())))
    }
    if missing:
        named = "; ".join(f"{name!r}, imported by {importer}" for name, importer in sorted(missing.items()))
        wanted = sorted({requirement(name) for name in missing})
        raise PayloadError(f"the workers do not have the package {named}. Pass requirements={wanted}")


def requirement(name: str) -> str:
    """What to require for an import name, at the version that is installed here."""
    distribution = next(iter(_distributions().get(name, ())), None)
    return name if distribution is None else f"{distribution}=={importlib.metadata.version(distribution)}"


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
