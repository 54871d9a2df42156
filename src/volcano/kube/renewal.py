"""Settings that follow their files: kubeconfigs, the certificates they name, the authority of a pod.

`config` and `kubeconfig` say where settings come from; `transport` asks whether there are new ones.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from volcano.http.stamps import Stamps, stamps_of

if TYPE_CHECKING:
    from volcano.kube.config import ClusterConfig

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 10.0
"""Between two looks at the files, unless the server refuses us meanwhile."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where settings were read: the files, as they were right before, and how to read them again."""

    files: tuple[Path, ...]
    stamps: Stamps
    read: Callable[[], ClusterConfig]


@dataclass(slots=True)
class Renewal:
    """Looks at the files of settings now and then, and at once after `hurry`."""

    config: ClusterConfig
    clock: Callable[[], float] = time.monotonic
    _look_at: float = field(default=0.0, init=False)
    _failed: str = field(default="", init=False)
    _moved: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._look_at = self.clock() + LOOK_SECONDS if self.config.origin is not None else float("inf")

    def hurry(self) -> None:
        """The server refused us, or we it: perhaps there is something new."""
        if self.config.origin is not None:
            self._look_at = 0.0

    def fresh(self) -> ClusterConfig | None:
        """New settings for the same server, if a file has changed since the last ones were read."""
        if self.clock() < self._look_at:
            return None
        self._look_at = self.clock() + LOOK_SECONDS
        origin = self.config.origin
        if origin is None or stamps_of(origin.files) == origin.stamps:
            return None
        from volcano.kube.config import ConfigError

        try:
            found = origin.read()
        except ConfigError as error:  # half written, perhaps: looked at again
            if str(error) != self._failed:
                self._failed = str(error)
                log.error("%s; what was read before stays in use", error)
            return None
        self._failed = ""
        if found.server != self.config.server:
            if found.server != self._moved:
                self._moved = found.server
                log.error(
                    "%s names another server now, %s: start anew to go there; what was read before stays in use",
                    found.source,
                    found.server,
                )
            return None
        log.info("%s has changed and is used as it is now", found.source)
        self.config = found
        return found
