"""Settings that follow their files: kubeconfigs, the certificates they name, the authority of a pod.

`config` and `kubeconfig` say where settings come from; `transport` asks whether there are new ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from volcano.http.following import Followed, Reading, Stamps

if TYPE_CHECKING:
    from volcano.kube.config import ClusterConfig

LOOK_SECONDS: Final = 10.0
"""Between two looks at the files, unless the server refuses us meanwhile."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where settings were read: the files, as they were right before, and how to read them again."""

    files: tuple[Path, ...]
    stamps: Stamps
    read: Callable[[], ClusterConfig]


class Renewal:
    """Looks at the files of settings now and then, and at once after `hurry`."""

    def __init__(self, config: ClusterConfig, clock: Callable[[], float] = time.monotonic) -> None:
        from volcano.kube.config import ConfigError

        self.config = config
        self._clock = clock
        self._look_at = clock() + LOOK_SECONDS
        self._followed: Followed[ClusterConfig] | None = None
        if config.origin is not None:
            first = Reading(config, config.origin.files, config.origin.stamps)
            self._followed = Followed(first, self._read, (ConfigError,))

    def hurry(self) -> None:
        """The server refused us, or we it: perhaps there is something new."""
        self._look_at = float("-inf")

    def fresh(self) -> ClusterConfig | None:
        """New settings for the same server, if a file has changed since the last ones were read."""
        if self._followed is None or self._clock() < self._look_at:
            return None
        self._look_at = self._clock() + LOOK_SECONDS
        found = self._followed.look()
        if found is self.config:
            return None
        self.config = found
        return found

    def _read(self) -> Reading[ClusterConfig]:
        from volcano.kube.config import ConfigError

        assert self.config.origin is not None
        found = self.config.origin.read()
        if found.server != self.config.server:
            raise ConfigError(f"{found.source} names another server now, {found.server}: start anew to go there")
        origin = found.origin
        assert origin is not None
        return Reading(found, origin.files, origin.stamps)
