"""What the job controller remembers of one job between reconciliations: its pods, its mail, its last writes.

Filled by controller.py (from watches) and perform.py (from its own writes). Everything in it can be lost: the watches
fill it again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from volcano.controllers.job.delays import Delays
from volcano.controllers.job.members import Member, Members
from volcano.controllers.statuses import is_newer

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.bus import Command
    from volcano.api.scheduling import PodGroup
    from volcano.controllers.job.events import Event
    from volcano.controllers.notes import Note

REMEMBERED_ENDS = 10_000


@dataclass(slots=True)
class Ledger:
    mail: deque[Event] = field(default_factory=deque)
    commands: deque[Command] = field(default_factory=deque)
    """Not read yet."""
    obeyed: deque[Command] = field(default_factory=deque)
    """In the mail, or carried out: to be deleted after that."""
    delays: Delays = field(default_factory=Delays)
    written: Job | None = None
    """The job as the server returned it to our last write: perhaps newer than the watch."""
    ensured: dict[str, object] = field(default_factory=dict)
    """What is known to be there: attachments with the contents that matter, claims, a podgroup not seen yet."""
    said: list[Note] = field(default_factory=list)
    """The notes of the last plan that had any."""
    podgroup_gone: str = ""
    """UID of a podgroup we deleted and may still see."""
    synced_at: float = float("-inf")
    written_at: float | None = None
    """When its status was last written, or first looked at."""

    def job(self, seen: Job) -> Job:
        """The newer of what the watch shows and what we wrote."""
        written = self.written
        if written is None or not is_newer(written.metadata, seen.metadata):
            self.written = None
            return seen
        return written

    def podgroup(self, seen: PodGroup | None) -> PodGroup | None:
        """The job's podgroup, unless it is one we have deleted."""
        if seen is None or seen.metadata.uid == self.podgroup_gone:
            return None
        self.ensured.pop(seen.metadata.name, None)
        return seen


class Pods:
    """Members of all jobs, by the uid of the job that owns them."""

    def __init__(self) -> None:
        self._by_job: dict[str, Members] = {}
        self._ended: dict[str, None] = {}

    def of(self, job_uid: str) -> Members:
        members = self._by_job.get(job_uid)
        if members is None:
            members = self._by_job[job_uid] = Members()
        return members

    def forget(self, job_uid: str) -> None:
        """A job is gone; pods of it that are still there are dropped as they end."""
        members = self._by_job.get(job_uid)
        if members is not None and not members.tasks:
            del self._by_job[job_uid]

    def created(self, member: Member) -> None:
        """A pod the server has just told us about in its answer; the watch may have told of its end already."""
        if member.uid not in self._ended:
            self.of(member.job_uid).put(member)

    def ending(self, member: Member) -> None:
        """A pod we have just deleted: it counts as terminating until the watch shows its end."""
        members = self.of(member.job_uid)
        known = members.get(member.task, member.name)
        if known is not None and known.uid == member.uid:
            members.put(msgspec.structs.replace(known, terminating=True, out_of_sync=True))

    def ended(self, member: Member) -> Member | None:
        """A pod is gone; returns what was known of it."""
        self._ended[member.uid] = None
        if len(self._ended) > REMEMBERED_ENDS:
            del self._ended[next(iter(self._ended))]
        members = self.of(member.job_uid)
        known = members.get(member.task, member.name)
        if known is None or known.uid != member.uid:
            return None
        members.drop(member.task, member.name)
        if not members.tasks:
            del self._by_job[member.job_uid]
        return known
