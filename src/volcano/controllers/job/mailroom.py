"""What the watches tell about jobs becomes mail: events in the ledgers of jobs, whose keys wait to be reconciled.

Read by controller.py; events.py says what a change means, ledger.py is the memory.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from volcano.api import resources
from volcano.api.meta import controller_of
from volcano.controllers.job import events, policies
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.ledger import Ledger, Pods
from volcano.controllers.job.members import Member, NotAMember, member_of
from volcano.controllers.job.podgroup import is_admitted
from volcano.controllers.job.pods import group_name
from volcano.controllers.job.vocabulary import FINAL, Phase
from volcano.controllers.owners import JOB_API_VERSION, JOB_KIND
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube.informer import Callbacks

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.bus import Command
    from volcano.api.scheduling import PodGroup
    from volcano.controllers.job.metrics import JobMetrics
    from volcano.controllers.runtime import Informers
    from volcano.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

BY_ITS_PODS = ("Inqueue", "Running")
"""How the phase of a podgroup changes because of its pods, whose job knows already."""
WITHOUT_PODGROUP = FINAL | {Phase.ABORTED}


class Mailroom:
    def __init__(self, informers: Informers, queue: WorkQueue[str], metrics: JobMetrics, *, commands: bool) -> None:
        self.pods = Pods()
        self.ledgers: dict[str, Ledger] = {}
        self.read = False
        """Whether mail has been read. What comes before is from a watch that may lag behind another's last writes."""
        self._queue = queue
        self._metrics = metrics
        self._dependents: dict[str, set[str]] = {}
        self._jobs = informers.of(resources.JOBS, Callbacks(self._job_added, self._job_updated, self._job_deleted))
        informers.of(POD_VIEWS, Callbacks(self._pod_added, self._pod_updated, self._pod_deleted))
        self._podgroups = informers.of(
            resources.PODGROUPS, Callbacks(self._podgroup_added, self._podgroup_updated, self._podgroup_deleted)
        )
        if commands:
            informers.of(resources.COMMANDS, Callbacks(self._command_added))

    # What is known

    def job(self, key: str) -> Job | None:
        """The job as far as anybody knows it: the watch, or the answers to our own writes."""
        seen = self._jobs.store.get(key)
        ledger = self.ledgers.get(key)
        return ledger.job(seen) if seen is not None and ledger is not None else seen

    def current(self, key: str, ledger: Ledger) -> Job | None:
        """The job whose ledger this is; None once it is gone, whoever has its name since."""
        seen = self._jobs.store.get(key)
        return ledger.job(seen) if seen is not None and self.ledgers.get(key) is ledger else None

    def podgroup(self, job: Job, ledger: Ledger) -> PodGroup | None:
        """Under its present name, or that of old versions of Volcano."""
        namespace = job.metadata.namespace
        by_uid = self._podgroups.get(group_name(job), namespace)
        return ledger.podgroup(by_uid or self._podgroups.get(job.metadata.name, namespace))

    def phase(self, key: str) -> str | None:
        job = self.job(key)
        return None if job is None else job.status.state.phase

    def ledger(self, key: str) -> Ledger:
        ledger = self.ledgers.get(key)
        if ledger is None:
            ledger = self.ledgers[key] = Ledger()
        return ledger

    def forget(self, key: str, ledger: Ledger) -> None:
        """The job is gone, and no order for it is left to clear."""
        if not ledger.commands and not ledger.obeyed and self.ledgers.get(key) is ledger:
            del self.ledgers[key]

    # Mail

    def mail(self, key: str, event: Event) -> None:
        """Something happened to the job of this key."""
        self.ledger(key).mail.append(event)
        self._queue.add(key)

    def hear_of(self, name: str, dependent: str) -> None:
        """Have `dependent` look again when the job `name` (both keys) changes."""
        self._dependents.setdefault(name, set()).add(dependent)

    def _wake_dependents(self, key: str) -> None:
        for dependent in self._dependents.pop(key, ()):
            self.mail(dependent, SYNC)

    # What the watches tell

    def _job_added(self, job: Job) -> None:
        """A new job, or one that this process has not seen before: then its pods may have news that nobody read."""
        key = job.metadata.key
        self.mail(key, SYNC)
        self.ledger(key).in_doubt = self._jobs.has_synced and not self.read
        self._wake_dependents(key)
        members = self.pods.of(job.metadata.uid)
        for member in members:
            self.mail(key, events.pod_added(member, members, policies.task_named(job, member.task)))

    def _job_updated(self, old: Job, new: Job) -> None:
        event = events.job_changed(old, new)
        ledger = self.ledgers.get(new.metadata.key)
        if event is None and ledger is not None and ledger.in_doubt:
            event = SYNC  # the counters may be somebody else's
        if event is None:
            return
        if ledger is None or ledger.in_doubt or not ledger.is_echo(new) or old.spec != new.spec:
            self.mail(new.metadata.key, event)
        if old.spec != new.spec:
            for completed in events.tasks_scaled_to_their_end(old, new, self.pods.of(new.metadata.uid)):
                self.mail(new.metadata.key, completed)
        self._wake_dependents(new.metadata.key)

    def _job_deleted(self, job: Job) -> None:
        """Pods and podgroup go with their owner; only our memory of the job is left to clear."""
        ledger = self.ledgers.pop(job.metadata.key, None)
        if ledger is not None and (ledger.commands or ledger.obeyed):
            self.ledger(job.metadata.key).commands.extend([*ledger.obeyed, *ledger.commands])
            ledger.commands.clear()
            self._queue.add(job.metadata.key)
        self.pods.abandon(job.metadata.uid)
        self._wake_dependents(job.metadata.key)
        self._metrics.removed(job)

    def _pod_added(self, pod: PodView) -> None:
        member, key = self._member(pod)
        if member is None:
            return
        no_news = self.pods.is_no_news(member)
        members = self.pods.put(member)
        job = self._jobs.store.get(key)
        if job is None:
            return
        self._metrics.pod_seen(job, pod)
        event = events.pod_added(member, members, policies.task_named(job, member.task))
        if no_news and policies.resolve(job, event) == policies.JUST_SYNC:
            return
        self.tell(key, event)

    def _pod_updated(self, old: PodView, new: PodView) -> None:
        member, key = self._member(new)
        if member is None:
            return
        known = self.pods.heard_of(member)
        if known == member:
            return  # it was bound, or got a condition
        before = known or self._member(old)[0]
        if before is None:
            return
        members = self.pods.put(member)
        job = self._jobs.store.get(key)
        if job is not None and member != before:
            task = policies.task_named(job, member.task)
            self.tell(key, events.pod_updated(before, member, members, task))

    def _pod_deleted(self, pod: PodView) -> None:
        member, key = self._member(pod)
        if member is None:
            return
        known = self.pods.ended(member)
        if key in self._jobs.store:
            self.tell(key, events.pod_deleted(known or member, known=known is not None))

    def tell(self, key: str, event: Event) -> None:
        """Something happened to one of its pods."""
        self.ledger(key).delays.saw(event)
        self.mail(key, event)

    def _member(self, pod: PodView) -> tuple[Member | None, str]:
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != JOB_KIND or owner.api_version != JOB_API_VERSION:
            return None, ""
        try:
            return member_of(pod, owner), f"{pod.metadata.namespace}/{owner.name}"
        except NotAMember as error:
            log.warning("a pod of job %s/%s is left alone: %s", pod.metadata.namespace, owner.name, error)
            return None, ""

    def _podgroup_added(self, podgroup: PodGroup) -> None:
        """A job may have come to its end before we knew of the group that has to go with it; or it waits for a group
        that is let in as the watch first shows it."""
        key = self._job_of(podgroup)
        ledger = self.ledgers.get(key)
        awaited = ledger is not None and ledger.awaits_podgroup and is_admitted(podgroup)
        if awaited or self.phase(key) in WITHOUT_PODGROUP:
            self.mail(key, SYNC)

    def _podgroup_updated(self, old: PodGroup, new: PodGroup) -> None:
        key = self._job_of(new)
        if key not in self._jobs.store:
            return
        event = events.podgroup_changed(old.status.phase, new.status.phase)
        if event is not None and (old.status.phase, new.status.phase) != BY_ITS_PODS:
            self.mail(key, event)
        elif old.spec != new.spec:
            self.mail(key, SYNC)

    def _podgroup_deleted(self, podgroup: PodGroup) -> None:
        key = self._job_of(podgroup)
        if key in self._jobs.store:
            self.ledger(key).ensured.pop(podgroup.metadata.name, None)
            self.mail(key, SYNC)

    def _job_of(self, podgroup: PodGroup) -> str:
        owner = controller_of(podgroup.metadata)
        name = owner.name if owner is not None and owner.kind == JOB_KIND else podgroup.metadata.name
        return f"{podgroup.metadata.namespace}/{name}"

    def _command_added(self, command: Command) -> None:
        target = command.target
        if target is None or target.kind != JOB_KIND or target.api_version != JOB_API_VERSION:
            return
        key = f"{command.metadata.namespace}/{target.name}"
        self.ledger(key).commands.append(command)
        self._queue.add(key)
