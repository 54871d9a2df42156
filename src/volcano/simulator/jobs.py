"""The job controller without a cluster: the real state machine, its plans carried out at once and in memory.

`controllers.job.machine` decides; `scheduler.offline.World` holds the pods and podgroups.
"""

from __future__ import annotations

import datetime
from collections import deque
from typing import Final

import msgspec
from msgspec.structs import replace

from volcano.api.batch import Job
from volcano.api.core import Pod, PodStatus
from volcano.api.meta import JsonObject, controller_of
from volcano.api.scheduling import PodGroup
from volcano.controllers.job import events, machine
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.members import Members, member_of
from volcano.controllers.job.plan import Plan
from volcano.controllers.job.pods import group_name, mould
from volcano.scheduler.offline import World

STEPS_AT_ONCE: Final = 100
"""A job that is still not settled after so many steps goes on before the next cycle."""


class _Tracked:
    """A job, its pods as the machine sees them, and what happened to it since its last step."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.members = Members()
        self.events: deque[Event] = deque([SYNC])

    @property
    def group_key(self) -> str:
        return f"{self.job.metadata.namespace}/{group_name(self.job)}"


class InstantJobController:
    """See `scheduler.offline.JobController`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._facts = Facts(priorities=world.priorities)
        self._tracked: dict[str, _Tracked] = {}

    def add(self, job: Job) -> None:
        self._tracked[job.metadata.key] = _Tracked(job)

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

    def pod_group_changed(self, old: PodGroup, new: PodGroup) -> None:
        event = events.podgroup_changed(old.status.phase, new.status.phase)
        for tracked in self._tracked.values() if event else ():
            if event and tracked.group_key == new.metadata.key:
                tracked.events.append(event)

    def settle(self, now: float) -> None:
        moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
        for tracked in self._tracked.values():
            for _ in range(STEPS_AT_ONCE):
                if not tracked.events:
                    break
                self._step(tracked, tracked.events.popleft(), moment)

    def _step(self, tracked: _Tracked, event: Event, now: datetime.datetime) -> None:
        podgroup = self._world.pod_groups.get(tracked.group_key)
        plan = machine.step(tracked.job, tracked.members, podgroup, event, now, self._facts)
        moved = plan.status is not None and plan.status.state.phase != tracked.job.status.state.phase
        if plan.status is not None:
            tracked.job = replace(tracked.job, status=plan.status)
        self._keep_podgroup(tracked, plan, podgroup, now)
        self._keep_pods(tracked, plan, now)
        if plan.evict or moved:
            tracked.events.append(SYNC)

    def _keep_podgroup(self, tracked: _Tracked, plan: Plan, podgroup: PodGroup | None, now: datetime.datetime) -> None:
        if plan.podgroup_create is not None:
            created = msgspec.convert(plan.podgroup_create, PodGroup)
            metadata = replace(created.metadata, creation_timestamp=now)
            self._world.put_pod_group(replace(created, metadata=metadata))
        if plan.podgroup_patch is not None and podgroup is not None:
            self._world.put_pod_group(_patched(podgroup, plan.podgroup_patch[1]))
        if plan.podgroup_delete:
            self._world.remove_pod_group(tracked.group_key)

    def _keep_pods(self, tracked: _Tracked, plan: Plan, now: datetime.datetime) -> None:
        job = tracked.job
        for replica in plan.create:
            document = mould(job, job.spec.tasks[replica.task], self._facts.plugins).document(replica.index)
            pod = self._created(msgspec.convert(document, Pod), job.status.version, now)
            self._world.put_pod(pod)
            tracked.members.put(member_of(pod))
        for member in plan.evict:
            self._world.remove_pod(f"{job.metadata.namespace}/{member.name}")
            tracked.members.drop(member.task, member.name)

    def _created(self, pod: Pod, version: int, now: datetime.datetime) -> Pod:
        """What the API server adds: a uid, a time, the value of the priority class, a phase."""
        uid = f"{pod.metadata.namespace}-{pod.metadata.name}" + (f"-{version}" if version else "")
        priority = self._facts.priorities.get(pod.spec.priority_class_name, pod.spec.priority)
        return replace(
            pod,
            metadata=replace(pod.metadata, uid=uid, creation_timestamp=now),
            spec=replace(pod.spec, priority=priority),
            status=PodStatus(phase="Pending"),
        )

    def _owner(self, pod: Pod) -> _Tracked | None:
        owner = controller_of(pod.metadata)
        if owner is None or owner.kind != "Job":
            return None
        tracked = self._tracked.get(f"{pod.metadata.namespace}/{owner.name}")
        return tracked if tracked is not None and tracked.job.metadata.uid == owner.uid else None


def _patched(podgroup: PodGroup, patch: JsonObject) -> PodGroup:
    """`podgroup` after a merge patch of its specification."""
    spec = {**msgspec.to_builtins(podgroup.spec), **(patch.get("spec") or {})}
    present = {key: value for key, value in spec.items() if value is not None}
    return replace(podgroup, spec=msgspec.convert(present, type(podgroup.spec)))
