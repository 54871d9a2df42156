"""What a daemon waits for, told to the log and to the cluster, so that nobody has to guess why it does nothing.

`versions` and the informers know problems; daemons run one `Complaints` each.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from volcano.api.meta import ObjectReference
from volcano.kube.events import NORMAL, WARNING, EventRecorder

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
"""How long a problem lasts before it is told, and between two looks."""
REPEAT_SECONDS: Final = 600.0
"""Events are forgotten by the API server after an hour."""
WAITS: Final = "Waits"
RESUMED: Final = "Resumed"
REJECTED: Final = "ConfigurationRejected"
LOADED: Final = "ConfigurationLoaded"
ENDS: Final = {RESUMED: WAITS, LOADED: REJECTED}
"""Which reason says that the problem of another one is over."""


class Complaints:
    """Tells each problem, and that it is over. `about` gets the events, and is told again while a problem lasts."""

    def __init__(self, recorder: EventRecorder, about: ObjectReference | None) -> None:
        self._recorder = recorder
        self._about = about

    async def follow(self, problem: Callable[[], str | None]) -> None:
        """Look at the problem again and again, until cancelled."""
        said, told_at = "", 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = problem() or ""
            if now and (now != said or loop.time() - told_at >= REPEAT_SECONDS):
                if now != said:
                    log.error("%s", now)
                self.tell(WARNING, WAITS, now)
                told_at = loop.time()
            elif said and not now:
                log.info("this is over: %s", said)
                # In full: of a server that could not be reached for long, this is the first that it hears.
                self.tell(NORMAL, RESUMED, f"what was waited for is there, this is over: {said}")
            said = now

    def tell(self, type_: str, reason: str, message: str) -> None:
        """Record an event, where there is something that it can be about."""
        if self._about is not None:
            self._recorder.record_on(self._about, type_, reason, message)
