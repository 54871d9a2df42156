"""What pods stood on and is gone: queues under their jobs, nodes under their pods. Told in the log and by /readyz.

The events about it are on the podgroups (`framework/outcome.py`) and on the node (`server`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable

log = logging.getLogger(__name__)


class Vanished:
    """Queues are noted before every cycle, by the thread of the engine; nodes as they come and go."""

    def __init__(self) -> None:
        self._queues: Counter[str] = Counter()
        self._nodes: dict[str, str] = {}

    def note_queues(self, of_jobs: Iterable[str]) -> None:
        """The names of the queues that do not exist, once for each job that is in one."""
        found = Counter(of_jobs)
        for name in found.keys() - self._queues.keys():
            log.warning("%s", _missing(name, found[name]))
        for name in self._queues.keys() - found.keys():
            log.info("no job waits for queue %s to exist any more", name)
        self._queues = found

    def note_node(self, name: str, message: str | None) -> None:
        """`message` tells of the pods of a node that was deleted; None that it is there (again), or had none."""
        if message is not None:
            log.warning("%s", message)
            self._nodes[name] = message
        else:
            self._nodes.pop(name, None)

    def remark(self) -> str | None:
        """A note for /readyz: the scheduler itself is well."""
        queues, nodes = self._queues, self._nodes
        told = [*(_missing(name, queues[name]) for name in sorted(queues)), *(nodes[name] for name in sorted(nodes))]
        return "; ".join(told) or None


def _missing(queue: str, jobs: int) -> str:
    return f"queue {queue} does not exist, and {jobs} podgroups are in it: what runs goes on, nothing else starts"
