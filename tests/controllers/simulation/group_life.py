"""Random histories of workloads that are scaled and annotated, of their pods, and of pods without an owner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.controllers.simulation.followers import Follower
from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.podgroup.controller import PodGroupController
from volcano.controllers.runtime import Context

WORKLOADS: Final = ("v", "w")
PODS: Final = ("a", "b", "c", "d")
MARK: Final = "volcano.sh/mark"


class Groups(Follower):
    kinds = ("pods", "replicasets", "podgroups")

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> PodGroupController:
        return PodGroupController(context)

    async def begin(self) -> None:
        await self.workload_comes()

    # What happens

    async def workload_comes(self) -> None:
        meta = {"annotations": self.some_mark()}
        self.make("replicasets", self.random.choice(WORKLOADS), "ns", metadata=meta, spec={"replicas": 2})

    async def workload_goes(self) -> None:
        """With all that is its own."""
        if key := self.some("replicasets"):
            uid = self.server.objects["replicasets"][key]["metadata"]["uid"]
            self.server.remove("replicasets", key)
            self.collect(uid)

    async def workload_is_annotated(self) -> None:
        if key := self.some("replicasets"):
            self.server.patch("replicasets", key, {"metadata": {"annotations": self.some_mark()}})

    def some_mark(self) -> JsonObject:
        return {MARK: str(self.random.randint(0, 9))}

    async def workload_is_scaled(self) -> None:
        """To nothing, which ends its pods, or up again."""
        if key := self.some("replicasets"):
            workload = self.server.objects["replicasets"][key]
            replicas = self.random.choice((0, 2))
            self.server.patch("replicasets", key, {"spec": {"replicas": replicas}})
            for name, pod in list(self.server.objects["pods"].items()):
                if replicas == 0 and owner_of(pod) == workload["metadata"]["uid"]:
                    self.end_pod(name)

    async def pod_comes(self) -> None:
        """Of a workload that wants some, or of nobody."""
        wanting = [one for one in self.documents("replicasets") if one["spec"]["replicas"]]
        owners = []
        if wanting and self.random.random() < 0.8:
            meta = self.random.choice(wanting)["metadata"]
            owners = [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                }
            ]
        spec = {"schedulerName": self.random.choice(("volcano", "volcano", "volcano", "another"))}
        status = {"phase": "Pending"}
        name = self.random.choice(PODS)
        self.make("pods", name, "ns", metadata={"ownerReferences": owners}, spec=spec, status=status)

    async def pod_runs(self) -> None:
        """One whose group is there: else no scheduler would have placed it."""
        key = self.some("pods")
        if key and f"ns/{group_of(self.server.objects['pods'][key])}" in self.server.objects["podgroups"]:
            self.server.patch("pods", key, {"status": {"phase": "Running"}})

    async def pod_goes(self) -> None:
        if key := self.some("pods"):
            self.end_pod(key)

    def end_pod(self, key: str) -> None:
        uid = self.server.objects["pods"][key]["metadata"]["uid"]
        self.server.remove("pods", key)
        self.collect(uid)

    async def somebody_deletes_a_group(self) -> None:
        """One whose pods all wait; those that run need none."""
        running = {group_of(pod) for pod in self.documents("pods") if pod["status"]["phase"] == "Running"}
        if (key := self.some("podgroups")) and key.removeprefix("ns/") not in running:
            self.server.remove("podgroups", key)

    def collect(self, uid: str) -> None:
        """What Kubernetes does with what an owner leaves behind."""
        for plural in ("pods", "podgroups"):
            for key, document in list(self.server.objects[plural].items()):
                if owner_of(document) == uid:
                    self.server.remove(plural, key)

    # What must have come of it

    async def rests(self) -> None:
        """Kubernetes collects what was made for an owner that was gone already, too."""
        await super().rests()
        alive = {one["metadata"]["uid"] for plural in ("pods", "replicasets") for one in self.documents(plural)}
        for uid in {owner_of(one) for one in self.documents("podgroups")} - alive:
            self.collect(uid)

    def check(self) -> None:
        pods = [pod for pod in self.documents("pods") if pod["spec"]["schedulerName"] == "volcano"]
        for pod in pods:
            name = group_of(pod)
            assert name == f"podgroup-{owner_of(pod) or pod['metadata']['uid']}", f"{pod} has no group"
            if pod["status"]["phase"] == "Pending":
                assert f"ns/{name}" in self.server.objects["podgroups"], f"{pod} waits for a group"
        for workload in self.documents("replicasets"):
            meta = workload["metadata"]
            group = self.server.objects["podgroups"].get(f"ns/podgroup-{meta['uid']}")
            if workload["spec"]["replicas"] == 0:
                assert group is None, f"{workload} has a group though it wants no pods"
            elif group is not None and any(owner_of(pod) == meta["uid"] for pod in pods):
                assert group["metadata"]["annotations"][MARK] == meta["annotations"][MARK], f"{group} is behind"


def group_of(pod: JsonObject) -> str | None:
    name: str | None = pod["metadata"].get("annotations", {}).get(keys.GROUP_NAME)
    return name


def owner_of(document: JsonObject) -> str:
    owners = document["metadata"].get("ownerReferences") or [{"uid": ""}]
    uid: str = owners[0]["uid"]
    return uid


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Groups.workload_comes: 3,
    Groups.workload_goes: 1,
    Groups.workload_is_annotated: 3,
    Groups.workload_is_scaled: 3,
    Groups.pod_comes: 8,
    Groups.pod_runs: 2,
    Groups.pod_goes: 4,
    Groups.somebody_deletes_a_group: 2,
}
