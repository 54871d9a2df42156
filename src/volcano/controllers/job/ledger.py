"""What the job controller remembers of one job between reconciliations: its pods, its mail, its last writes.

Filled by mailroom.py (from watches) and perform.py (from its own writes). Everything in it can be lost: the watches
fill it again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from volcano.controllers.job.delays import Delays
from volcano.controllers.job.members import Member, Members
from volcano.controllers.job.vocabulary import Phase, PodPhase
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
    in_doubt: bool = False
    """A write of ours may have been carried out, or somebody else's: read the job before anything is done."""
    began: tuple[int, int] | None = None
    """Version and retries of the job when the first of the mail was to be acted upon."""
    ensured: dict[str, object] = field(default_factory=dict)
    """What is known to be there: attachments with the contents that matter, claims, a podgroup not seen yet."""
    said: list[Note] = field(default_factory=list)
    """The notes of the last plan that had any."""
    awaits_podgroup: bool = False
    """The last look found none, and has made no pods without its word."""
    had_credit: bool = False
    """Its podgroup was to be made as let in: once, whatever came of it, for others wait for the credit, too."""
    podgroup_gone: str = ""
    """UID of a podgroup we deleted and may still see."""
    synced_at: float = float("-inf")
    written_at: float | None = None
    """When its status was last written, or first looked at."""

    def dealt_with(self) -> Event | None:
        """Take the first of the mail out, and what was begun for it: it says nothing about the next."""
        self.began = None
        return self.mail.popleft() if self.mail else None

    def job(self, seen: Job) -> Job:
        """The newer of what the watch shows and what we wrote."""
        written = self.written
        if written is None or not is_newer(written.metadata, seen.metadata):
            self.written = None
            return seen
        return written

    def is_echo(self, seen: Job) -> bool:
        """The watch shows what we wrote: that the job runs, after which there is nothing to do until a pod ends."""
        written = self.written
        if written is None or written.metadata.resource_version != seen.metadata.resource_version:
            return False
        status = seen.status
        return status.state.phase == Phase.RUNNING and not (status.succeeded or status.failed)

    def podgroup(self, seen: PodGroup | None) -> PodGroup | None:
        """The job's podgroup, unless it is one we have deleted."""
        if seen is None or seen.metadata.uid == self.podgroup_gone:
            return None
        self.ensured.pop(seen.metadata.name, None)
        return seen


class Pods:
    """Members of all jobs, by the uid of the job that owns them; nothing is kept of a job without pods."""

    def __init__(self) -> None:
        self._by_job: dict[str, Members] = {}
        self._ended: dict[str, None] = {}
        self._unseen: dict[str, dict[str, float]] = {}
        """When pods were created that the watch has not shown: by job and uid."""
        self._asked_for: set[tuple[str, str]] = set()
        """Pods (by job and name) that the server is being asked to create."""

    def of(self, job_uid: str) -> Members:
        """To look at, not to change."""
        members = self._by_job.get(job_uid)
        return Members() if members is None else members

    def heard_of(self, member: Member) -> Member | None:
        """This very pod as the watch showed it last; None where something else is known of it, or nothing."""
        known = self.of(member.job_uid).get(member.task, member.name)
        return known if known is not None and known.uid == member.uid and not known.out_of_sync else None

    def asked_for(self, job_uid: str, name: str) -> None:
        """The server is asked to create a pod, until the answer is there."""
        self._asked_for.add((job_uid, name))

    def answered(self, job_uid: str, name: str) -> None:
        self._asked_for.discard((job_uid, name))

    def is_no_news(self, member: Member) -> bool:
        """Whether a pod, as the watch shows it first, is as the answer to our own request said or will say."""
        if (member.job_uid, member.name) in self._asked_for:
            return member.standing == PodPhase.PENDING and not member.out_of_sync
        return self.heard_of(member) == member

    def put(self, member: Member) -> Members:
        """A pod as the watch shows it; returns all of its job."""
        self._seen(member)
        return self._put(member)

    def created(self, member: Member, now: float) -> None:
        """A pod the server has just told us about in its answer; the watch may have told more already."""
        known = self.of(member.job_uid).get(member.task, member.name)
        if member.uid not in self._ended and (known is None or known.uid != member.uid):
            self._put(member)
            self._unseen.setdefault(member.job_uid, {})[member.uid] = now

    def unseen(self, job_uid: str, before: float) -> list[Member] | None:
        """Pods created `before` that the watch should have shown: perhaps they ended while it was broken.

        None when there are none at all, whenever created.
        """
        created = self._unseen.get(job_uid)
        if created is None:
            return None
        if next(iter(created.values())) >= before:  # the oldest
            return []
        return [member for member in self.of(job_uid) if created.get(member.uid, before) < before]

    def abandon(self, job_uid: str) -> None:
        """A job is gone: pods of it that the watch shows are dropped as they end, others now."""
        created, members = self._unseen.pop(job_uid, {}), self.of(job_uid)
        for member in [member for member in members if member.uid in created]:
            members.drop(member.task, member.name)
        if not members.tasks:
            self._by_job.pop(job_uid, None)

    def ending(self, member: Member) -> None:
        """A pod we have just deleted: it counts as terminating until the watch shows its end."""
        members = self.of(member.job_uid)
        known = members.get(member.task, member.name)
        if known is not None and known.uid == member.uid:
            self._put(msgspec.structs.replace(known, terminating=True, out_of_sync=True))

    def ended(self, member: Member) -> Member | None:
        """A pod is gone; returns what was known of it."""
        self._seen(member)
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

    def _put(self, member: Member) -> Members:
        members = self._by_job.get(member.job_uid)
        if members is None:
            members = self._by_job[member.job_uid] = Members()
        members.put(member)
        return members

    def _seen(self, member: Member) -> None:
        created = self._unseen.get(member.job_uid)
        if created is not None:
            created.pop(member.uid, None)
            if not created:
                del self._unseen[member.job_uid]
