"""A plan: everything that one step of a job's life wants done, as data.

Made by machine.py, performed by perform.py, in an order of its own (and by `vcctl schedule` on files).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from volcano.api.meta import JsonObject
from volcano.controllers.job.vocabulary import Action
from volcano.controllers.notes import Note

if TYPE_CHECKING:
    from volcano.api.batch import JobStatus
    from volcano.controllers.job.events import Event
    from volcano.controllers.job.members import Member


@dataclass(frozen=True, slots=True)
class Reference:
    """An object to delete."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """An object a plugin keeps beside the job: created when absent, and its `tracked` fields kept as here.

    With `needs_key_pair`, whoever creates it adds a fresh pair of SSH keys to its data: randomness is not ours.
    """

    manifest: JsonObject
    tracked: Sequence[str] = ()
    needs_key_pair: bool = False

    @property
    def reference(self) -> Reference:
        return Reference(self.manifest["kind"], self.manifest["metadata"]["name"])


class Replica(Struct, frozen=True, gc=False):
    """A pod to create."""

    task: int
    """Position of the task in the job."""
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A volume of the job: the claim to create, or (without manifest) a claim that must exist."""

    name: str
    manifest: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Delayed:
    """An action that a policy's timeout puts off."""

    action: str
    delay: datetime.timedelta
    event: Event


class Plan(Struct, gc=False, kw_only=True):
    action: str = Action.SYNC_JOB
    status: JobStatus | None = None
    """The status to write; None when it stands as it is."""
    intent: JobStatus | None = None
    """The status to write before anything is deleted: a kill that is interrupted is then continued, not forgotten."""
    annotate: Mapping[str, str] = field(default_factory=dict)
    claim_names: Mapping[int, str] = field(default_factory=dict)
    """Names to write back into `spec.volumes`, by position."""
    attach: Sequence[Attachment] = ()
    claims: Sequence[Claim] = ()
    podgroup_create: JsonObject | None = None
    is_on_credit: bool = False
    """The podgroup is let in as it is created: pods follow at once."""
    podgroup_patch: tuple[str, JsonObject] | None = None
    """Name and merge patch."""
    podgroup_delete: str = ""
    create: Sequence[Replica] = ()
    evict: Sequence[Member] = ()
    mark_evicted: bool = False
    """Mark pods before deleting them: no new job version tells their end from an eviction."""
    detach: Sequence[Reference] = ()
    notes: list[Note] = field(default_factory=list)
    delayed: Delayed | None = None
    waits_for_podgroup: bool = False
    unfinished: bool = False
    """There is more to create than one step does: step again."""

    def mark(self, key: str, value: str) -> None:
        """Let the statuses that are to be written carry a mark of ours among `controlledResources`."""
        self.intent, self.status = _marked(self.intent, key, value), _marked(self.status, key, value)

    @property
    def is_empty(self) -> bool:
        """Nothing to do (notes aside)."""
        writes = (self.status, self.annotate, self.claim_names, self.attach, self.claims, self.podgroup_create)
        return not any(writes) and not any(
            (
                self.podgroup_patch,
                self.podgroup_delete,
                self.create,
                self.evict,
                self.detach,
                self.delayed,
            )
        )


def _marked(status: JobStatus | None, key: str, value: str) -> JobStatus | None:
    if status is None:
        return None
    return msgspec.structs.replace(status, controlled_resources={**status.controlled_resources, key: value})
