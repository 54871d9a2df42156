"""A queue: its quota as declared, the jobs in it, and what they hold and wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.scheduler.cluster.resources import Dimensions, Vector, pad

if TYPE_CHECKING:
    from volcano.api.scheduling import Queue as QueueObject
    from volcano.scheduler.cluster.jobs import Job

ROOT = "root"
OPEN = "Open"


class Queue:
    """Declared amounts are kept by dimension: what is not declared is not zero. Sums are kept by `Job.move`."""

    __slots__ = (
        "allocated",
        "capability",
        "created",
        "deserved",
        "guarantee",
        "jobs",
        "name",
        "object",
        "parent",
        "pending",
        "priority",
        "reclaimable",
        "state",
        "uid",
        "weight",
    )

    def __init__(self, source: QueueObject, dimensions: Dimensions) -> None:
        self.name = source.metadata.name
        self.allocated: Vector = dimensions.zeros()
        """Held by its tasks that are allocated, binding, bound or running."""
        self.pending: Vector = dimensions.zeros()
        """Asked for by its pending tasks."""
        self.jobs: dict[str, Job] = {}
        self.update(source, dimensions)

    def update(self, source: QueueObject, dimensions: Dimensions) -> None:
        spec = source.spec
        self.object = source
        self.uid = source.metadata.uid or source.metadata.name
        created = source.metadata.creation_timestamp
        self.created = created.timestamp() if created else 0.0
        self.weight = spec.weight
        self.priority = spec.priority
        self.parent = spec.parent
        self.reclaimable = spec.reclaimable is not False
        self.state = source.status.state
        self.capability = dimensions.amounts(spec.capability)
        self.deserved = dimensions.amounts(spec.deserved)
        self.guarantee = dimensions.amounts(spec.guarantee.resource)

    def __repr__(self) -> str:
        return f"Queue({self.name}, weight {self.weight}, {len(self.jobs)} jobs)"

    @property
    def is_open(self) -> bool:
        return self.state == OPEN

    def widen(self, width: int) -> None:
        self.allocated = pad(self.allocated, width)
        self.pending = pad(self.pending, width)
