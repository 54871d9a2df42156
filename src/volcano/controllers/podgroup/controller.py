"""The podgroup controller: pods without a group get one, and follow the workload that owns them.

`build.py` decides. Watches pods, ReplicaSets and StatefulSets; other owners are asked for when a pod names them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec import field

from volcano.api import keys, resources
from volcano.api.meta import JsonObject, Model, ObjectMeta, controller_of
from volcano.api.resources import Resource
from volcano.api.scheduling import group_of
from volcano.controllers.notes import WARNING
from volcano.controllers.podgroup import build
from volcano.controllers.runtime import TASKS_PER_WORKER, Context
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube.errors import AlreadyExists, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

if TYPE_CHECKING:
    from volcano.api.meta import OwnerReference
    from volcano.api.scheduling import PodGroup
    from volcano.kube.informer import Informer

REGROUP_SECONDS: Final = 5.0
"""After it, pods that still wait for a group that was deleted get it again."""
_POD = "pod:"
_WORKLOAD = "workload:"


class ReplicasView(Model, kw_only=True):
    replicas: int | None = None


class WorkloadView(Model, kw_only=True):
    """A ReplicaSet or StatefulSet, as far as its group goes."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: ReplicasView = field(default_factory=ReplicasView)


def _as_workload(resource: Resource[Any]) -> Resource[WorkloadView]:
    return resource.as_type(WorkloadView)


WATCHED: Final = {
    resource.kind: _as_workload(resource) for resource in (resources.REPLICA_SETS, resources.STATEFUL_SETS)
}
ASKED: Final = {resource.kind: _as_workload(resource) for resource in (resources.DAEMON_SETS, resources.BATCH_JOBS)}


class PodGroupController:
    name = "pg-controller"

    def __init__(
        self,
        context: Context,
        *,
        workers: int = 5,
        scheduler_names: Collection[str] = ("volcano",),
        inherit_owner_annotations: bool = True,
        workloads: bool = True,
    ) -> None:
        self.workers = workers * TASKS_PER_WORKER
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._names = frozenset(scheduler_names)
        self._inherit = inherit_owner_annotations
        self._owned: dict[str, dict[str, None]] = {}
        self._behind: set[str] = set()
        """Workloads (by uid) that their groups have to be made equal to, as soon as a pod speaks for them."""
        informers = context.informers
        self._pods = informers.of(POD_VIEWS, Callbacks(self._pod_added, None, self._pod_deleted))
        self._podgroups = informers.of(
            resources.PODGROUPS, Callbacks(self._podgroup_added, None, self._podgroup_deleted)
        )
        self._workloads: dict[str, Informer[WorkloadView]] = {}
        if workloads:
            for kind, resource in WATCHED.items():
                handler = Callbacks(self._workload_added, self._workload_updated, self._workload_deleted)
                self._workloads[kind] = informers.of(resource, handler)

    async def reconcile(self, key: str) -> None:
        if key.startswith(_POD):
            await self._group_pod(key.removeprefix(_POD))
        else:
            await self._follow_workload(*key.removeprefix(_WORKLOAD).split(":", 1))

    async def gave_up(self, key: str, error: Exception) -> None:
        """A pod without its group never starts: keep trying, slowly."""
        self.queue.add_after(key, 60.0)

    async def _group_pod(self, key: str) -> None:
        pod = self._pods.store.get(key)
        if pod is None:
            return
        if build.awaits_group(pod, self._names):
            await self._ensure(pod)
        if not build.needs_group(pod, self._names):
            return
        if named := group_of(pod.metadata.annotations):
            message = f"{keys.VOLCANO_GROUP_NAME} names the group {named!r}: taken over as {keys.GROUP_NAME}"
            self._context.recorder.record(POD_VIEWS, pod, WARNING, "GroupNameTakenOver", message)
            with suppress(NotFound):
                await self._name_group(pod, named)
            return
        await self._ensure(pod)

    async def _follow_workload(self, kind: str, key: str) -> None:
        workload = self._workloads[kind].store.get(key)
        if workload is None:
            return
        meta = workload.metadata
        name = f"{keys.POD_GROUP_PREFIX}{meta.uid}"
        if workload.spec.replicas == 0:
            if self._podgroups.get(name, meta.namespace) is not None:
                await self._delete(name, meta.namespace)
            return
        self._behind.add(meta.uid)
        owned = [pod for pod_key in self._owned.get(meta.uid, ()) if (pod := self._pods.store.get(pod_key))]
        speaker = build.representative(owned, name, self._names)
        if speaker is not None:
            await self._ensure(speaker)

    async def _ensure(self, view: PodView) -> None:
        """Tell a pod the name of its group, then create the group (or bring it up to date): so it is never empty."""
        meta = view.metadata
        name, workload = build.name_for(meta), _controller_uid(meta)
        update = workload in self._behind
        try:
            pod = None if meta.annotations.get(keys.GROUP_NAME) else await self._name_group(view, name)
            if self._podgroups.get(name, meta.namespace) is not None and not update:
                return
            if pod is None:
                pod = await self._context.client.get(resources.PODS.untyped, meta.name, meta.namespace)
        except NotFound:
            return
        self._behind.discard(workload)  # who annotates it while we write, is not forgotten
        try:
            group = build.build(pod, name, await self._owner_annotations(view))
            await self._write(group, name, meta.namespace, update=update)
        except Exception:
            if update:
                self._behind.add(workload)
            raise

    async def _name_group(self, pod: PodView, name: str) -> JsonObject:
        """Returns the pod as it is now."""
        meta = pod.metadata
        body = {"metadata": {"uid": meta.uid, "annotations": {keys.GROUP_NAME: name}}}
        return await self._context.client.patch(resources.PODS.untyped, meta.name, body, meta.namespace)

    async def _write(self, group: JsonObject, name: str, namespace: str, *, update: bool) -> None:
        client = self._context.client
        untyped = resources.PODGROUPS.untyped
        if self._podgroups.get(name, namespace) is None:
            try:
                await client.create(untyped, group, namespace)
            except AlreadyExists:
                if not update:
                    return
            else:
                return
        try:
            change = build.changes(group, await client.get(untyped, name, namespace))
            if change:
                await client.patch(untyped, name, change, namespace)
        except NotFound:
            await client.create(untyped, group, namespace)

    async def _delete(self, name: str, namespace: str) -> None:
        try:
            await self._context.client.delete(resources.PODGROUPS, name, namespace)
        except NotFound:
            return

    async def _owner_annotations(self, pod: PodView) -> Mapping[str, str]:
        if not self._inherit:
            return {}
        found = []
        for owner in pod.metadata.owner_references:
            informer, resource = self._workloads.get(owner.kind), ASKED.get(owner.kind)
            if informer is not None:
                workload = informer.get(owner.name, pod.metadata.namespace)
            elif resource is not None:
                workload = await self._ask(resource, owner.name, pod.metadata.namespace)
            else:
                continue
            if workload is not None:
                found.append(workload.metadata.annotations)
        return build.merged_annotations(found)

    async def _ask(self, resource: Resource[WorkloadView], name: str, namespace: str) -> WorkloadView | None:
        try:
            return await self._context.client.get(resource, name, namespace)
        except NotFound:
            return None

    # What the watches tell

    def _pod_added(self, pod: PodView) -> None:
        if pod.spec.scheduler_name not in self._names:
            return
        owner = controller_of(pod.metadata)
        named = pod.metadata.annotations.get(keys.GROUP_NAME)
        if owner is not None and (not named or named == build.name_for(pod.metadata)):
            self._owned.setdefault(owner.uid, {})[pod.metadata.key] = None
        if build.needs_group(pod, self._names) or build.awaits_group(pod, self._names):
            self.queue.add(f"{_POD}{pod.metadata.key}")
        elif owner is not None and owner.uid in self._behind:
            self._follow(owner, pod.metadata.namespace)

    def _pod_deleted(self, pod: PodView) -> None:
        owner = controller_of(pod.metadata)
        owned = self._owned.get(owner.uid) if owner is not None else None
        if owner is not None and owned is not None:
            owned.pop(pod.metadata.key, None)
            if not owned:
                del self._owned[owner.uid]
            elif owner.uid in self._behind:  # this one was to speak for it, and was gone already
                self._follow(owner, pod.metadata.namespace)

    def _podgroup_added(self, podgroup: PodGroup) -> None:
        """Its workload may have been scaled to nothing before we knew that there is a group to delete."""
        for owner in podgroup.metadata.owner_references:
            informer = self._workloads.get(owner.kind)
            workload = informer.get(owner.name, podgroup.metadata.namespace) if informer is not None else None
            if workload is not None and workload.metadata.uid == owner.uid and workload.spec.replicas == 0:
                self._follow(owner, podgroup.metadata.namespace)

    def _podgroup_deleted(self, podgroup: PodGroup) -> None:
        """By hand, or with its owner: whose pods then go too, a little later."""
        for owner in podgroup.metadata.owner_references:
            alone = f"{podgroup.metadata.namespace}/{owner.name}" if owner.kind == resources.PODS.kind else ""
            for key in (alone,) if alone else self._owned.get(owner.uid, ()):
                self.queue.add_after(f"{_POD}{key}", REGROUP_SECONDS)

    def _workload_added(self, workload: WorkloadView) -> None:
        self._look_at(workload)

    def _workload_updated(self, old: WorkloadView, new: WorkloadView) -> None:
        if old.spec.replicas != new.spec.replicas or old.metadata.annotations != new.metadata.annotations:
            self._look_at(new)

    def _follow(self, owner: OwnerReference, namespace: str) -> None:
        self.queue.add(f"{_WORKLOAD}{owner.kind}:{namespace}/{owner.name}")

    def _workload_deleted(self, workload: WorkloadView) -> None:
        self._behind.discard(workload.metadata.uid)

    def _look_at(self, workload: WorkloadView) -> None:
        for kind, informer in self._workloads.items():
            if informer.store.get(workload.metadata.key) is workload:
                self.queue.add(f"{_WORKLOAD}{kind}:{workload.metadata.key}")


def _controller_uid(meta: ObjectMeta) -> str:
    owner = controller_of(meta)
    return owner.uid if owner is not None else ""
