"""An ideal cluster between cycles: bound pods run at once, evicted pods are gone at once, controllers act at once.

Tells the scheduler's `Ingest` about every change, as watches would; `jobs` is its job controller.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from volcano.api.core import Pod
from volcano.api.meta import controller_of
from volcano.api.resources import NODES, PODGROUPS, PODS, PRIORITY_CLASSES, QUEUES
from volcano.api.scheduling import PodGroup, PodGroupCondition
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.framework.decisions import Condition, Decisions, PodGroupDecision
from volcano.simulator.jobs import Jobs
from volcano.simulator.objects import Given, is_job

RECREATING_OWNERS: Final = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"})
"""Controllers other than ours that replace a pod they lost."""

_ORDER: Final = (PRIORITY_CLASSES, QUEUES, PODGROUPS, NODES)
"""Taken in before anything else; pods come last."""


class IdealCluster:
    """The objects there are. `settle` carries out what a cycle decided and lets the controllers answer."""

    def __init__(self, given: Iterable[Given], ingest: Ingest, now: datetime.datetime) -> None:
        self.pods: dict[str, Pod] = {}
        self.podgroups: dict[str, PodGroup] = {}
        self._ingest = ingest
        self._copies = 0
        given = sorted(given, key=_rank)
        priorities = {one.object.metadata.name: one.object.value for one in given if one.resource is PRIORITY_CLASSES}
        self.jobs = Jobs(self, priorities)
        for one in given:
            if not is_job(one):
                self._take_in(one)
        for one in given:
            if is_job(one):
                self.jobs.add(one.object, now)

    def settle(self, decisions: Decisions, now: datetime.datetime) -> None:
        for bind in decisions.committed:
            self._run(bind.key, bind.node)
        for eviction in decisions.evictions:
            self._evict(eviction.key)
        for key, decision in decisions.podgroups.items():
            self._note(key, decision, now)
        self.jobs.settle(now)

    # What controllers do

    def put_pod(self, pod: Pod) -> None:
        key = pod.metadata.key
        event = MODIFIED if key in self.pods else ADDED
        self.pods[key] = pod
        self._ingest.apply(event, PODS.plural, pod)

    def remove_pod(self, key: str) -> Pod | None:
        pod = self.pods.pop(key, None)
        if pod is not None:
            self._ingest.apply(DELETED, PODS.plural, pod)
        return pod

    def put_podgroup(self, podgroup: PodGroup) -> None:
        key = podgroup.metadata.key
        event = MODIFIED if key in self.podgroups else ADDED
        self.podgroups[key] = podgroup
        self._ingest.apply(event, PODGROUPS.plural, podgroup)

    def remove_podgroup(self, key: str) -> None:
        if podgroup := self.podgroups.pop(key, None):
            self._ingest.apply(DELETED, PODGROUPS.plural, podgroup)

    # What happens to decisions

    def _take_in(self, one: Given) -> None:
        if one.resource is PODS:
            self.put_pod(one.object)
        elif one.resource is PODGROUPS:
            self.put_podgroup(one.object)
        else:
            self._ingest.apply(ADDED, one.resource.plural, one.object)

    def _run(self, key: str, node: str) -> None:
        pod = self.pods[key]
        running = replace(pod, spec=replace(pod.spec, node_name=node), status=replace(pod.status, phase="Running"))
        self.put_pod(running)
        self.jobs.pod_changed(pod, running)

    def _evict(self, key: str) -> None:
        pod = self.remove_pod(key)
        if pod is None:
            return
        owner = controller_of(pod.metadata)
        if self.jobs.owns(pod):
            self.jobs.pod_gone(pod)
        elif owner is not None and owner.kind in RECREATING_OWNERS:
            self.put_pod(self._successor(pod))

    def _successor(self, pod: Pod) -> Pod:
        """What a controller creates in the place of a pod it lost: the same pod, pending, with a uid of its own."""
        self._copies += 1
        uid = f"{pod.metadata.uid or pod.metadata.key.replace('/', '-')}-{self._copies}"
        status = type(pod.status)(phase="Pending")
        return replace(
            pod, metadata=replace(pod.metadata, uid=uid), spec=replace(pod.spec, node_name=""), status=status
        )

    def _note(self, key: str, decision: PodGroupDecision, now: datetime.datetime) -> None:
        podgroup = self.podgroups.get(key)
        if podgroup is None:
            return
        status = replace(
            podgroup.status,
            phase=decision.phase,
            running=decision.running,
            succeeded=decision.succeeded,
            failed=decision.failed,
            conditions=_merged(podgroup.status.conditions, decision.conditions, now),
        )
        if status != podgroup.status:
            self.put_podgroup(replace(podgroup, status=status))
            self.jobs.podgroup_changed(podgroup, self.podgroups[key])


def _merged(old: list[PodGroupCondition], new: list[Condition], now: datetime.datetime) -> list[PodGroupCondition]:
    """New conditions replace those of their type; an unchanged one keeps its time."""
    by_type = {condition.type: condition for condition in old}
    for condition in new:
        before = by_type.get(condition.type)
        same = before is not None and (before.status, before.reason, before.message) == (
            condition.status,
            condition.reason,
            condition.message,
        )
        if not same:
            by_type[condition.type] = PodGroupCondition(
                type=condition.type,
                status=condition.status,
                reason=condition.reason,
                message=condition.message,
                last_transition_time=now,
            )
    return list(by_type.values())


def _rank(given: Given) -> int:
    resource: Any = given.resource
    if resource is PODS:
        return len(_ORDER) + 1
    return _ORDER.index(resource) if resource in _ORDER else len(_ORDER)
