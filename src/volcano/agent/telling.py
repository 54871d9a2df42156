"""What is wrong, told by events: about a pod, or about the agent's own one; each once, as long as it lasts."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volcano.api import resources
from volcano.api.meta import ObjectReference
from volcano.kube.events import NORMAL, WARNING, EventRecorder

if TYPE_CHECKING:
    from volcano.agent.options import Flags
    from volcano.api.core.pods import Pod

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Of one pod, or of the whole node."""

    reason: str
    message: str
    pod: Pod | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        return self.reason, self.message, "" if self.pod is None else self.pod.metadata.uid


class Teller:
    def __init__(self, events: EventRecorder, flags: Flags) -> None:
        self._events, self._flags = events, flags
        self._lasting: dict[str, set[tuple[str, str, str]]] = {}

    def troubles(self, source: str, found: Iterable[Trouble]) -> None:
        """All there are now of this source; those it had before are not told again."""
        before, now = self._lasting.get(source, set()), list(found)
        self._lasting[source] = {trouble.key for trouble in now}
        for trouble in now:
            if trouble.key in before:
                continue
            if trouble.pod is None:
                self.own(WARNING, trouble.reason, trouble.message)
            else:
                log.warning("pod %s: %s", trouble.pod.metadata.key, trouble.message)
                self._events.record(resources.PODS, trouble.pod, WARNING, trouble.reason, trouble.message)

    def own(self, kind: str, reason: str, message: str) -> None:
        log.log(logging.INFO if kind == NORMAL else logging.WARNING, "%s", message)
        if self._flags.kube_pod_name:
            about = ObjectReference(
                kind="Pod", api_version="v1", namespace=self._flags.kube_pod_namespace, name=self._flags.kube_pod_name
            )
            self._events.record_on(about, kind, reason, message)
