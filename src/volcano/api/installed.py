"""What every installation has: the two queues that the scheduler makes when it starts."""

from __future__ import annotations

from volcano.api import keys
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import Queue, QueueSpec


def required_queues(default_queue: str = keys.DEFAULT_QUEUE) -> tuple[Queue, Queue]:
    """The root, and the queue of jobs that name none."""
    root = Queue(metadata=ObjectMeta(name=keys.ROOT_QUEUE), spec=QueueSpec(weight=1, reclaimable=False))
    return root, Queue(metadata=ObjectMeta(name=default_queue), spec=QueueSpec(weight=1, reclaimable=True))
