"""A model of everything around the job machine: an API server without delays, nodes, a scheduler, and bad luck."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.corpus.controller_records import merged
from volcano.api.batch import Job, JobSpec, LifecyclePolicy, TaskSpec
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup
from volcano.controllers.job import events, machine, policies
from volcano.controllers.job.delays import Delays
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.members import TERMINATING, Member, Members
from volcano.controllers.job.plan import Plan
from volcano.controllers.job.vocabulary import Action, PodPhase
from volcano.controllers.statuses import difference

FACTS = Facts()
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Interrupted(Exception):
    """The controller was killed between two writes."""


@dataclass
class World:
    job: Job
    pods: dict[str, Member] = field(default_factory=dict)
    podgroup: PodGroup | None = None
    known: Members = field(default_factory=Members)
    """what the controller's cache shows"""
    mail: list[Event] = field(default_factory=list)
    delays: Delays = field(default_factory=Delays)
    seconds: int = 0
    created: Counter[str] = field(default_factory=Counter)
    phases: list[str] = field(default_factory=list)
    writes_left: int | None = None
    uids: Any = field(default_factory=itertools.count)

    @property
    def now(self) -> datetime.datetime:
        return START + datetime.timedelta(seconds=self.seconds)

    # The controller

    def reconcile(self) -> None:
        """What controller.py does with the mail of a job."""
        for delayed in self.delays.take_due(self.seconds):
            if not policies.is_stale(self.job, delayed.event):
                self.mail.append(msgspec.structs.replace(delayed.event, action=delayed.action))
        while self.mail:
            event = self.mail[0]
            resolution = policies.resolve(self.job, event)
            if resolution.delay:
                plan = machine.step(self.job, self.known, self.podgroup, event, self.now, FACTS)
                assert plan.delayed is not None
                self.delays.arm(plan.delayed, self.seconds)
            elif resolution != policies.JUST_SYNC:
                self.perform(machine.step(self.job, self.known, self.podgroup, event, self.now, FACTS))
                self.delays.acted(resolution.action, event)
            self.mail.pop(0)
        self.perform(machine.step(self.job, self.known, self.podgroup, SYNC, self.now, FACTS))

    def perform(self, plan: Plan) -> None:
        if plan.intent is not None:
            self.write_status(plan.intent)
        if plan.podgroup_create is not None and self.podgroup is None:
            self.spend()
            self.podgroup = msgspec.convert(plan.podgroup_create, PodGroup)
        if plan.podgroup_patch is not None:
            self.spend()
            changed = merged(msgspec.to_builtins(self.podgroup), plan.podgroup_patch[1])
            self.podgroup = msgspec.convert(changed, PodGroup)
        for member in plan.evict:
            self.spend()
            present = self.pods.get(member.name)
            if present is not None and present.uid == member.uid and not present.terminating:
                self.change(replace_member(present, terminating=True, out_of_sync=True))
        for replica in plan.create:
            self.spend()
            if replica.name in self.pods:
                continue  # AlreadyExists
            task = self.job.spec.tasks[replica.task]
            self.created[replica.name] += 1
            self.change(
                Member(
                    name=replica.name,
                    task=task.name,
                    uid=f"{replica.name}#{next(self.uids)}",
                    job_uid=self.job.metadata.uid,
                    version=self.job.status.version,
                )
            )
        if plan.podgroup_delete and self.podgroup is not None:
            self.spend()
            self.podgroup = None
        if plan.status is not None:
            self.write_status(plan.status)

    def write_status(self, status: Any) -> None:
        if not difference(msgspec.to_builtins(self.job.status), msgspec.to_builtins(status)):
            return
        self.spend()
        before = self.job.status.state.phase
        self.job = msgspec.structs.replace(self.job, status=status)
        if status.state.phase != before:
            self.phases.append(status.state.phase)
            self.mail.append(SYNC)

    def spend(self) -> None:
        if self.writes_left is None:
            return
        if self.writes_left == 0:
            raise Interrupted
        self.writes_left -= 1

    def restart(self) -> None:
        """A new process: memory is gone, everything is listed again."""
        self.writes_left = None
        self.delays = Delays()
        self.known = Members(self.pods.values())
        self.mail = [SYNC]
        for member in self.known:
            self.mail.append(events.pod_added(member, self.known, policies.task_named(self.job, member.task)))

    # The world

    def change(self, new: Member, *, told: bool = True) -> None:
        """A pod was created or changed; the controller hears of it unless its watch lags."""
        self.pods[new.name] = new
        if told:
            self.tell(new)

    def tell(self, new: Member) -> None:
        old = self.known.put(new)
        task = policies.task_named(self.job, new.task)
        if old is None or old.uid != new.uid:
            event = events.pod_added(new, self.known, task)
        else:
            event = events.pod_updated(old, new, self.known, task)
        self.delays.saw(event)
        self.mail.append(event)

    def vanish(self, name: str) -> None:
        gone = self.pods.pop(name)
        known = self.known.get(gone.task, name)
        self.known.drop(gone.task, name)
        event = events.pod_deleted(known or gone, known=known is not None)
        self.delays.saw(event)
        self.mail.append(event)

    def catch_up(self) -> None:
        """The watch delivers what it still owes."""
        for member in list(self.known):
            if member.name not in self.pods or self.pods[member.name].uid != member.uid:
                self.known.drop(member.task, member.name)
                self.mail.append(events.pod_deleted(member, known=True))
        for member in self.pods.values():
            if self.known.get(member.task, member.name) != member:
                self.tell(member)

    def admit(self) -> None:
        if self.podgroup is not None and self.podgroup.status.phase in {"", "Pending"}:
            self.podgroup.status.phase = "Inqueue"
            self.mail.append(Event(""))

    def settle(self, rounds: int = 60) -> None:
        """Let everything that is under way come to its end; nothing new happens."""
        self.catch_up()
        for _ in range(rounds):
            before = (self.job.status, dict(self.pods), self.podgroup)
            self.seconds += 1
            self.reconcile()
            for name, member in list(self.pods.items()):
                if member.terminating:
                    self.vanish(name)
            if before == (self.job.status, dict(self.pods), self.podgroup) and not self.mail:
                return
        raise AssertionError(f"no rest after {rounds} rounds: {self.job.status}, {self.pods}")

    def cooperate(self, rounds: int = 40) -> None:
        """Everybody does their best: groups are admitted, pods run and succeed."""
        for _ in range(rounds):
            self.settle()
            self.admit()
            self.settle()
            for member in list(self.pods.values()):
                if member.phase in {PodPhase.PENDING, PodPhase.UNKNOWN}:
                    self.change(replace_member(member, phase=PodPhase.RUNNING, ready=True))
            self.settle()
            for member in list(self.pods.values()):
                if member.phase == PodPhase.RUNNING:
                    self.change(replace_member(member, phase=PodPhase.SUCCEEDED))
            self.settle()
            self.seconds += 100

    def counters(self) -> dict[str, int]:
        counts = Counter(member.standing for member in self.pods.values())
        names = ("Pending", "Running", "Succeeded", "Failed", "Unknown", TERMINATING)
        return {name.lower(): counts[name] for name in names}


def new_world(tasks: list[tuple[str, int]], minimum: int, max_retry: int, rules: list[LifecyclePolicy]) -> World:
    specs = [TaskSpec(name=name, replicas=replicas, template={"spec": {}}) for name, replicas in tasks]
    spec = JobSpec(min_available=minimum, max_retry=max_retry, tasks=specs, policies=rules, queue="default")
    meta = ObjectMeta(name="j", namespace="default", uid="u", creation_timestamp=START)
    world = World(Job(metadata=meta, spec=spec))
    world.mail.append(SYNC)
    return world


def replace_member(member: Member, **changes: Any) -> Member:
    return msgspec.structs.replace(member, **changes)


COMMANDS = (
    Action.ABORT_JOB,
    Action.RESTART_JOB,
    Action.TERMINATE_JOB,
    Action.COMPLETE_JOB,
    Action.RESUME_JOB,
)
