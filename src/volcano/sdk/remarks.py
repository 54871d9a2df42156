"""What the server remarks about what is submitted, as Python's warnings: each text once per client.

Neighbours: `volcano.kube.client` hears them; `client` and `sync` pass them on at the caller's own line.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from pathlib import Path

import volcano

_PACKAGE = f"{Path(volcano.__file__).parent}/"


class ServerWarning(UserWarning):
    """The API server has something to say about an object that it took, as kubectl shows it."""


class Remarks:
    """A block of this passes on, at its end, what was heard; `wait_for_twin` leaves that to whoever calls `tell`."""

    def __init__(self) -> None:
        self.wait_for_twin = False
        self._known: set[str] = set()
        self._untold: deque[str] = deque()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if not self.wait_for_twin:
            self.tell()

    def hear(self, text: str) -> None:
        if text not in self._known:
            self._known.add(text)
            self._untold.append(text)

    def tell(self) -> None:
        """Warn of all that is new, as if from the nearest line outside this package."""
        while self._untold:
            warnings.warn(self._untold.popleft(), ServerWarning, stacklevel=_depth())


def _depth() -> int:
    """The `stacklevel` of the first caller of `tell` who is not of this package."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth
