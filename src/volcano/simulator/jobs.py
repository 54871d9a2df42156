"""The job controller of an ideal cluster: the real state machine, its plans carried out at once and in memory.

`controllers.job.machine` decides; `ideal` holds the pods and podgroups.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from volcano.api.batch import Job
from volcano.api.core import Pod
from volcano.api.meta import controller_of
from volcano.api.scheduling import PodGroup
from volcano.controllers.job import events, machine
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.members import Members, member_of
from volcano.controllers.job.plan import Plan
from volcano.controllers.job.pods import group_name, mould

if TYPE_CHECKING:
    from volcano.simulator.ideal import IdealCluster

STEPS_AT_ONCE: Final = 100
"""A job that is still not settled after so many steps goes on in the next cycle."""


class _Tracked:
    """A job, its pods as the machine sees them, and what happened to it since its last step."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.members = Members()
        self.events: deque[Event] = deque([SYNC])


class Jobs:
    def __init__(self, cluster: IdealCluster, priorities: Mapping[str, int]) -> None:
        self._cluster = cluster
        self._priorities = priorities
        self._tracked: dict[str, _Tracked] = {}

    def __len__(self) -> int:
        return len(self._tracked)

    def add(self, job: Job, now: datetime.datetime) -> None:
        """A job that was just created. Without a uid of its own it gets `namespace-name`."""
        metadata = job.metadata
        uid = metadata.uid or f"{metadata.namespace}-{metadata.name}"
        created = metadata.creation_timestamp or now
        job = replace(job, metadata=replace(metadata, uid=uid, creation_timestamp=created))
        self._tracked[metadata.key] = _Tracked(job)
        self.settle(now)

    def owns(self, pod: Pod) -> bool:
        return self._owner(pod) is not None

    def pod_changed(self, old: Pod, new: Pod) -> None:
        if tracked := self._owner(new):
            before, after = member_of(old), member_of(new)
            tracked.members.put(after)
            task = next((task for task in tracked.job.spec.tasks if task.name == after.task), None)
            tracked.events.append(events.pod_updated(before, after, tracked.members, task))

    def pod_gone(self, pod: Pod) -> None:
        if tracked := self._owner(pod):
            member = member_of(pod)
            known = tracked.members.drop(member.task, member.name) is not None
            tracked.events.append(events.pod_deleted(member, known=known))

    def podgroup_changed(self, old: PodGroup, new: PodGroup) -> None:
        for tracked in self._tracked.values():
            same = (tracked.job.metadata.namespace, group_name(tracked.job)) == (
                new.metadata.namespace,
                new.metadata.name,
            )
            if same and (event := events.podgroup_changed(old.status.phase, new.status.phase)):
                tracked.events.append(event)

    def settle(self, now: datetime.datetime) -> None:
        """Let every job answer what happened, until nothing is left to do."""
        for tracked in self._tracked.values():
            for _ in range(STEPS_AT_ONCE):
                if not tracked.events:
                    break
                self._step(tracked, tracked.events.popleft(), now)

    def _step(self, tracked: _Tracked, event: Event, now: datetime.datetime) -> None:
        job = tracked.job
        podgroup = self._cluster.podgroups.get(f"{job.metadata.namespace}/{group_name(job)}")
        plan = machine.step(job, tracked.members, podgroup, event, now, Facts(priorities=self._priorities))
        self._carry_out(tracked, plan, podgroup, now)

    def _carry_out(self, tracked: _Tracked, plan: Plan, podgroup: PodGroup | None, now: datetime.datetime) -> None:
        job, cluster = tracked.job, self._cluster
        moved = plan.status is not None and plan.status.state.phase != job.status.state.phase
        if plan.status is not None:
            tracked.job = job = replace(job, status=plan.status)
        if plan.podgroup_create is not None:
            created = msgspec.convert(plan.podgroup_create, PodGroup)
            cluster.put_podgroup(replace(created, metadata=replace(created.metadata, creation_timestamp=now)))
        if plan.podgroup_patch is not None and podgroup is not None:
            wanted = msgspec.convert(plan.podgroup_patch[1].get("spec") or {}, type(podgroup.spec))
            changed = {field: getattr(wanted, field) for field in _changed(plan.podgroup_patch[1])}
            cluster.put_podgroup(replace(podgroup, spec=replace(podgroup.spec, **changed)))
        if plan.podgroup_delete:
            cluster.remove_podgroup(f"{job.metadata.namespace}/{plan.podgroup_delete}")
        self._create(tracked, plan, now)
        for member in plan.evict:
            cluster.remove_pod(f"{job.metadata.namespace}/{member.name}")
            tracked.members.drop(member.task, member.name)
        if plan.evict or moved:
            tracked.events.append(SYNC)

    def _create(self, tracked: _Tracked, plan: Plan, now: datetime.datetime) -> None:
        job = tracked.job
        plugins = Facts().plugins
        for replica in plan.create:
            document = mould(job, job.spec.tasks[replica.task], plugins).document(replica.index)
            pod = msgspec.convert(document, Pod)
            uid = f"{pod.metadata.namespace}-{pod.metadata.name}"
            if job.status.version:
                uid += f"-{job.status.version}"
            metadata = replace(pod.metadata, uid=uid, creation_timestamp=now)
            spec = replace(pod.spec, priority=self._priority(pod))
            pod = replace(pod, metadata=metadata, spec=spec, status=type(pod.status)(phase="Pending"))
            self._cluster.put_pod(pod)
            tracked.members.put(member_of(pod))

    def _priority(self, pod: Pod) -> int | None:
        """What the API server writes into a pod that names a priority class."""
        return self._priorities.get(pod.spec.priority_class_name, pod.spec.priority)

    def _owner(self, pod: Pod) -> _Tracked | None:
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != "Job":
            return None
        tracked = self._tracked.get(f"{pod.metadata.namespace}/{owner.name}")
        return tracked if tracked is not None and tracked.job.metadata.uid == owner.uid else None


def _changed(patch: dict[str, dict[str, object]]) -> list[str]:
    """Attribute names of the fields that a patch of a PodGroup's spec sets."""
    names = {field.encode_name: field.name for field in msgspec.structs.fields(PodGroup().spec)}
    return [names[key] for key in patch.get("spec") or {}]
