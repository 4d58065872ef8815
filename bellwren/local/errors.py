"""What goes wrong with a local cloud."""

from __future__ import annotations

from bellwren.errors import BellwrenError


class LocalCloudError(BellwrenError):
    """The local cloud cannot be started, stopped or reached; the message says why and what to do."""
