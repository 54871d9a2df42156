"""How the extender plugin reaches its service: whoever runs the scheduler says how (daemon/extender.py, by HTTP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

Post = Callable[[str, bytes, float], bytes]
"""URL, JSON and timeout in seconds to the body of the answer; waits for it."""


class ExtenderError(RuntimeError):
    """The service cannot be asked, or answers something else than 200 and JSON; the message says what."""


class ExtenderPort:
    """One for a cluster (`cluster.index(ExtenderPort).post = ...`). Nobody is asked until somebody says how."""

    def __init__(self, _cluster: Cluster) -> None:
        self.post: Post = _nowhere


def _nowhere(url: str, _body: bytes, _timeout_seconds: float) -> bytes:
    raise ExtenderError(f"{url} cannot be asked from here: only the scheduler's daemon calls services")
