"""One deployment as its constructs see it."""

from __future__ import annotations

from dataclasses import dataclass

from infra.naming import Names
from infra.settings import Settings


@dataclass(frozen=True)
class Stage:
    """What a deployment was told, and what its resources are called."""

    settings: Settings

    @property
    def names(self) -> Names:
        """Every name of the deployment."""
        return Names(self.settings.stage)
