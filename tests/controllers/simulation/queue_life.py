"""Random histories of a tree of queues that people close and open while podgroups come and go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.controllers.simulation.world import LONGEST_BACK_OFF_SECONDS, World
from volcano.api.keys import CLOSED_BY_PARENT
from volcano.api.meta import JsonObject
from volcano.controllers.queue.controller import QueueController
from volcano.controllers.runtime import Context

NAMES = ("a", "b", "c", "d", "e")
SHUT = {"Closing", "Closed"}
PHASES = ("Inqueue", "Running", "Completed")


class Queues(World):
    kinds = ("queues", "podgroups", "commands")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.numbers = 0

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> QueueController:
        return QueueController(context)

    async def begin(self) -> None:
        self.server.put("queues", "root", {"metadata": {"name": "root"}, "spec": {"weight": 1}})
        await self.somebody_makes_a_queue()

    # Users

    async def somebody_makes_a_queue(self) -> None:
        """Below one that is there."""
        name, queues = self.random.choice(NAMES), self.server.objects["queues"]
        if name not in queues:
            spec = {"weight": 1, "parent": self.random.choice(list(queues))}
            self.server.put("queues", name, {"metadata": {"name": name}, "spec": spec})

    async def somebody_deletes_a_queue(self) -> None:
        """One that nothing is in: admission sees to that."""
        name = self.some("queues")
        if name == "root" or any(parent_of(queue) == name for queue in self.queues.values()):
            return
        if not any(group["spec"]["queue"] == name for group in self.server.objects["podgroups"].values()):
            self.server.remove("queues", str(name))

    async def somebody_orders(self) -> None:
        self.order(str(self.some("queues")), self.random.choice(("OpenQueue", "CloseQueue")))

    def order(self, name: str, action: str) -> None:
        self.numbers += 1
        meta = {"name": f"order-{self.numbers}", "namespace": "ns"}
        target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": name}
        self.server.put("commands", f"ns/{meta['name']}", {"metadata": meta, "action": action, "target": target})

    async def somebody_submits(self) -> None:
        """To a queue that is open: admission sees to that."""
        name = str(self.some("queues"))
        if name != "root" and state_of(self.queues[name]) == "Open":
            self.numbers += 1
            meta = {"name": f"group-{self.numbers}", "namespace": "ns"}
            group = {"metadata": meta, "spec": {"queue": name, "minMember": 1}, "status": {"phase": "Pending"}}
            self.server.put("podgroups", f"ns/{meta['name']}", group)

    async def group_gets_on(self) -> None:
        if key := self.some("podgroups"):
            self.server.patch("podgroups", key, {"status": {"phase": self.random.choice(PHASES)}})

    async def group_goes(self) -> None:
        if key := self.some("podgroups"):
            self.server.remove("podgroups", key)

    # The end

    async def comes_to_rest(self) -> None:
        await self.rests()
        self.check()

    async def end(self) -> None:
        await self.comes_to_rest()
        await self.hears_late(1)
        for _ in range(len(NAMES) + 1):
            for name, queue in self.queues.items():
                if name != "root" and state_of(queue) in SHUT and state_of(self.parent(queue)) == "Open":
                    self.order(name, "OpenQueue")
            await self.pause(2 * LONGEST_BACK_OFF_SECONDS)
        await self.rests()
        self.check()
        assert {state_of(queue) for queue in self.queues.values()} == {"Open"}
        for key in list(self.server.objects["podgroups"]):
            self.server.remove("podgroups", key)
        for child in [name for name, queue in self.queues.items() if name != "root" and parent_of(queue) == "root"]:
            self.order(child, "CloseQueue")
        await self.rests()
        self.check()
        assert {state_of(queue) for name, queue in self.queues.items() if name != "root"} <= {"Closed"}

    @property
    def queues(self) -> Mapping[str, JsonObject]:
        return self.server.objects["queues"]

    def parent(self, queue: JsonObject) -> JsonObject:
        return self.queues[parent_of(queue)]

    def check(self) -> None:
        """At rest the tree agrees with itself."""
        assert not self.server.objects["commands"]
        for name, queue in self.queues.items():
            state = state_of(queue)
            assert state in {"Open", *SHUT}
            if name == "root":
                continue
            closed_with_parent = queue["metadata"].get("annotations", {}).get(CLOSED_BY_PARENT) == "true"
            if state_of(self.parent(queue)) in SHUT:
                assert state in SHUT, f"{name} is {state} below a queue that is closed"
            else:
                assert not closed_with_parent or state == "Open", f"{name} waits for a parent that is open"
            if state == "Closing":
                groups = [one for one in self.server.objects["podgroups"].values() if one["spec"]["queue"] == name]
                assert any(group["status"]["phase"] != "Completed" for group in groups), f"{name} never closes"


def state_of(queue: JsonObject) -> str:
    state: str = queue.get("status", {}).get("state", "Open")
    return state


def parent_of(queue: JsonObject) -> str:
    parent: str = queue["spec"].get("parent", "")
    return parent or ("root" if queue["metadata"]["name"] != "root" else "")


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Queues.somebody_makes_a_queue: 4,
    Queues.somebody_deletes_a_queue: 1,
    Queues.somebody_orders: 6,
    Queues.somebody_submits: 6,
    Queues.group_gets_on: 6,
    Queues.group_goes: 3,
}
