"""From API objects to the cluster: one typed object in, the tables changed. Runs between cycles only.

`daemon/ingest.py` feeds it from informers, `offline.py` from manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from volcano.api import keys
from volcano.api.core import Node, Pod, PriorityClass
from volcano.api.scheduling import PodGroup, Queue, QueueSpec, group_of
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.era import Era
from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.cluster.tasks import PREEMPTABLE_STATUSES, TERMINATED_STATUSES, Status, Task, status_of

if TYPE_CHECKING:
    from volcano.scheduler.cluster.profiles import Profile
    from volcano.scheduler.cluster.resources import Vector

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"

_ASSUMED: Final = frozenset({Status.ALLOCATED, Status.BINDING})
_LEAVING: Final = TERMINATED_STATUSES | {Status.RELEASING}


class Ingest:
    """Applies watch events. Pods of other schedulers count for what they take on nodes, and only then."""

    def __init__(
        self, cluster: Cluster, scheduler_names: Iterable[str] | None = None, node_labels: Iterable[str] = ()
    ) -> None:
        """Without names all pods are ours; `node_labels` are `key:value`, a node needs one of them."""
        self.cluster = cluster
        self._era = cluster.index(Era)
        pairs = (label.partition(":") for label in node_labels)
        self._node_labels = {(key.strip(), value.strip()) for key, _, value in pairs if value.strip()}
        self._names = None if scheduler_names is None else frozenset(scheduler_names)
        self._handlers: dict[str, Callable[[str, Any], None]] = {
            "pods": self._pod,
            "nodes": self._node,
            "podgroups": self._pod_group,
            "queues": self._queue,
            "priorityclasses": self._priority_class,
        }

    def apply(self, event: str, plural: str, source: Any) -> None:
        """One event about an object of the resource of this plural name; kinds that we do not model are just kept."""
        handler = self._handlers.get(plural)
        if handler is not None:
            handler(event, source)
            return
        objects = self.cluster.objects[plural]
        if event == DELETED:
            objects.pop(source.metadata.key, None)
        else:
            objects[source.metadata.key] = source
        self.cluster.object_versions[plural] += 1

    def bind_refused(self, uid: str, not_before: float) -> None:
        """The API server did not take a bind: the pod is pending again, and rests for a while."""
        task = self.cluster.tasks.get(uid)
        if task is None or task.status is not Status.BINDING:
            return
        self.cluster.vacate((task,))
        self.cluster.resting[uid] = not_before
        if task.job is not None:
            self.cluster.dirty_jobs.add(task.job.key)

    def eviction_refused(self, uid: str) -> None:
        """The API server did not take an eviction: the pod stays what it is."""
        task = self.cluster.tasks.get(uid)
        if task is None or uid not in self.cluster.evicting:
            return
        self.cluster.evicting.discard(uid)
        self.cluster.change_status(task, status_of(task.pod))

    # Pods

    def _pod(self, event: str, pod: Pod) -> None:
        cluster = self.cluster
        uid = pod.metadata.uid or f"{pod.metadata.namespace}-{pod.metadata.name}"
        known = cluster.tasks.get(uid)
        if event == MODIFIED and known is not None and self._only_moved_on(known, pod):
            return
        if event == DELETED or not self._is_ours(pod):
            if known is not None:
                self._note_leaving(known, Status.RELEASING)
                cluster.remove_task(known)
            return
        group = group_of(pod.metadata.annotations)
        job_key = f"{pod.metadata.namespace}/{group}" if group else ""
        if self._selects_pods(pod) and cluster.profiles.watch_labels(pod):
            self._intern_again()
        profile = self._profile(pod, job_key)
        if known is not None and self._update_in_place(known, pod, profile, job_key):
            return
        if known is not None:
            cluster.remove_task(known)
        cluster.add_task(Task(pod, profile), job_key)

    def _is_ours(self, pod: Pod) -> bool:
        return self._names is None or pod.spec.scheduler_name in self._names or bool(pod.spec.node_name)

    def _selects_pods(self, pod: Pod) -> bool:
        return pod.spec.affinity is not None or bool(pod.spec.topology_spread_constraints)

    def _intern_again(self) -> None:
        """A label that was of no interest tells pods apart from now on."""
        for task in list(self.cluster.tasks.values()):
            if self._profile(task.pod, task.job.key if task.job else "") is not task.profile:
                self._enter_again(task, task.job.key if task.job else "")

    def _profile(self, pod: Pod, job_key: str) -> Profile:
        job = self.cluster.jobs.get(job_key)
        return self.cluster.profiles.intern(pod, job.queue_name if job else "")

    def _only_moved_on(self, task: Task, pod: Pod) -> bool:
        """What happens to every pod twice: it is bound, it runs, and nothing else about it has changed."""
        old, node_name = task.pod, pod.spec.node_name
        if node_name != task.node_name and (node_name or task.status not in _ASSUMED):
            return False
        if not _differ_in_status_only(old, pod):
            return False
        status = self._status(task, status_of(pod))
        task.pod = pod
        task.nominated_node = pod.status.nominated_node_name
        self.cluster.change_status(task, status)
        return True

    def _update_in_place(self, task: Task, pod: Pod, profile: Profile, job_key: str) -> bool:
        """The usual event: the same pod in another state. False if it must be entered anew."""
        fresh = Task(pod, task.profile)
        same_place = fresh.node_name == task.node_name or (not fresh.node_name and task.status in _ASSUMED)
        same_job = (task.job.key if task.job else "") == job_key
        if not same_place or not same_job or profile is not task.profile or fresh.role != task.role:
            return False
        status = self._status(task, fresh.status)
        task.pod = pod
        task.priority = fresh.priority
        if task.gates != fresh.gates:
            task.gates = fresh.gates
            if task.job is not None:
                task.job.note_change()
        task.preemptable = fresh.preemptable
        task.revocable_zone = fresh.revocable_zone
        task.nominated_node = fresh.nominated_node
        self.cluster.change_status(task, status)
        return True

    def _status(self, task: Task, seen: Status) -> Status:
        """What has been decided stands until the API server shows it, or something later."""
        self._note_leaving(task, seen)
        if task.status in _ASSUMED and seen is Status.PENDING:
            return task.status
        if task.uid in self.cluster.evicting:
            if seen is Status.RELEASING or seen in TERMINATED_STATUSES:
                self.cluster.evicting.discard(task.uid)
                return seen
            return Status.RELEASING
        return seen

    def _note_leaving(self, task: Task, seen: Status) -> None:
        """A pod that runs, and has not been evicted here, goes."""
        if seen in _LEAVING and task.status in PREEMPTABLE_STATUSES:
            self._era.number += 1

    # Nodes

    def _node(self, event: str, node: Node) -> None:
        cluster = self.cluster
        name = node.metadata.name
        if event == DELETED or not self._is_our_node(node):
            if name in cluster.nodes.row_of:
                self._era.number += 1
                cluster.strand(name)
            return
        reported = np.maximum(cluster.dimensions.vector(node.status.allocatable), 0)  # nodes owe nothing to others
        annotations = node.metadata.annotations
        offered = reported.copy()
        offered[CPU] += _whole(annotations.get(keys.OVERSUBSCRIPTION_CPU))
        offered[MEMORY] += _whole(annotations.get(keys.OVERSUBSCRIPTION_MEMORY))
        if self._is_news(node, offered):
            self._era.number += 1
        cluster.nodes.put(node, offered, reported)
        cluster.settle_stranded(name)

    def _is_news(self, node: Node, offered: Vector) -> bool:
        """More than a sign of life."""
        nodes = self.cluster.nodes
        row = nodes.row_of.get(node.metadata.name)
        known = None if row is None else nodes.objects[row]
        if known is None or known.spec != node.spec or known.metadata.labels != node.metadata.labels:
            return True
        return bool((nodes.allocatable[row] != offered).any())

    def _is_our_node(self, node: Node) -> bool:
        return not self._node_labels or not self._node_labels.isdisjoint(node.metadata.labels.items())

    # Groups and queues

    def _pod_group(self, event: str, pod_group: PodGroup) -> None:
        cluster = self.cluster
        key = pod_group.metadata.key
        if event == DELETED:
            self._era.number += 1
            cluster.remove_pod_group(key)
            return
        job = cluster.jobs.get(key)
        if job is None or job.pod_group is None or job.pod_group.spec != pod_group.spec:
            self._era.number += 1
        old_queue = job.queue_name if job else ""
        job = cluster.put_pod_group(pod_group)
        if job.queue_name != old_queue and job.tasks:
            for task in list(job.tasks.values()):
                self._enter_again(task, key)

    def _enter_again(self, task: Task, job_key: str) -> None:
        """The task changes its profile (which depends on its queue, for example), not its state."""
        status, node_name = task.status, task.node_name
        self.cluster.remove_task(task)
        task.profile = self._profile(task.pod, job_key)
        task.status, task.node_name = status, node_name
        self.cluster.add_task(task, job_key)

    def _queue(self, event: str, queue: Queue) -> None:
        known = self.cluster.queues.get(queue.metadata.name)
        if event == DELETED or known is None or _terms(known.object) != _terms(queue):
            self._era.number += 1
        if event == DELETED:
            self.cluster.remove_queue(queue.metadata.name)
        else:
            self.cluster.put_queue(queue)

    def _priority_class(self, event: str, source: PriorityClass) -> None:
        value = None if event == DELETED else source.value
        self.cluster.set_priority_class(source.metadata.name, value, is_default=source.global_default)


def _differ_in_status_only(old: Pod, new: Pod) -> bool:
    """Whether all is the same that profiles and tasks are made of. Not of objects that share parts: whoever made them
    may have changed what both show."""
    before, after = old.metadata, new.metadata
    if old is new or before is after or old.spec is new.spec:
        return False
    if before.labels != after.labels or before.annotations != after.annotations:
        return False
    if old.status.resource_claim_statuses != new.status.resource_claim_statuses:
        return False
    if any(status.resources is not None for pod in (old, new) for status in pod.status.container_statuses):
        return False
    if old.spec.node_name != new.spec.node_name:
        return msgspec.structs.replace(old.spec, node_name=new.spec.node_name) == new.spec
    return old.spec == new.spec


def _terms(queue: Queue) -> tuple[QueueSpec, str]:
    return queue.spec, queue.status.state


def _whole(text: str | None) -> int:
    """A whole number from an annotation; anything else is none."""
    return int(text) if text and text.lstrip("-").isdigit() else 0
