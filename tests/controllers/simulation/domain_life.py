"""Random histories of nodes in racks and halls, of the domains found in them, and of people who meddle with both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.controllers.simulation.followers import Follower
from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.hypernode.config import KEY
from volcano.controllers.hypernode.controller import HyperNodeController
from volcano.controllers.runtime import Context

NODES: Final = tuple(f"n{number}" for number in range(8))
RACK, HALL = "example.com/rack", "example.com/hall"
PLACES: Final = {RACK: ("r0", "r1", "r2", "r3", ""), HALL: ("h0", "h1", "")}
CONFIGURATION = """
networkTopologyDiscovery:
- source: label
  enabled: {enabled}
  config:
    networkTopologyTypes:
      hall: [{{nodeLabel: example.com/hall}}, {{nodeLabel: example.com/rack}}, {{nodeLabel: kubernetes.io/hostname}}]
"""
CONFIGMAP: Final = ("volcano-system", "topology")


class Domains(Follower):
    kinds = ("nodes", "hypernodes", "configmaps")

    @property
    def acts(self) -> Mapping[Callable[[Any], Awaitable[None]], int]:
        return ACTS

    def controller(self, context: Context) -> HyperNodeController:
        return HyperNodeController(context, configmap=CONFIGMAP)

    async def begin(self) -> None:
        self.configure(enabled=True)
        for _ in range(4):
            await self.node_comes()

    def configure(self, *, enabled: bool) -> None:
        self.is_enabled = enabled
        namespace, name = CONFIGMAP
        data = {KEY: CONFIGURATION.format(enabled=str(enabled).lower())}
        self.make("configmaps", name, namespace, data=data)
        self.server.patch("configmaps", "/".join(CONFIGMAP), {"data": data})

    # What happens

    async def node_comes(self) -> None:
        labels = {key: self.random.choice(values) for key, values in PLACES.items()}
        self.make("nodes", self.random.choice(NODES), metadata={"labels": labels})

    async def node_goes(self) -> None:
        self.remove_some("nodes")

    async def node_moves(self) -> None:
        if name := self.some("nodes"):
            key = self.random.choice((RACK, HALL))
            self.server.patch("nodes", name, {"metadata": {"labels": {key: self.random.choice(PLACES[key])}}})

    async def somebody_configures(self) -> None:
        self.configure(enabled=self.random.random() < 0.7)

    async def somebody_makes_a_domain(self) -> None:
        """Of nodes, or of a domain that is there or was."""
        domains = self.documents("hypernodes")
        of_nodes = [member_of("Node", self.random.choice(NODES)) for _ in range(2)]
        of_domains = [member_of("HyperNode", one["metadata"]["name"]) for one in domains if is_found(one)][:1]
        spec = {"tier": 5, "members": self.random.choice((of_nodes, of_domains))}
        self.make("hypernodes", f"mine-{self.random.randint(0, 1)}", spec=spec)

    async def somebody_spoils_a_domain(self) -> None:
        if name := self.some("hypernodes"):
            change: JsonObject = self.random.choice(
                (
                    {"spec": {"members": [member_of("Node", self.random.choice(NODES))]}},
                    {"status": {"nodeCount": self.random.randint(0, 3)}},
                    {"metadata": {"labels": {RACK: "r9"}}},
                )
            )
            self.server.patch("hypernodes", name, change)

    async def somebody_deletes_a_domain(self) -> None:
        self.remove_some("hypernodes")

    # What must have come of it

    def check(self) -> None:
        if self.is_enabled:
            assert self.found() == self.expected()
        for domain in self.documents("hypernodes"):
            told = domain.get("status", {}).get("nodeCount", 0)
            assert told == len(self.nodes_in(domain["metadata"]["name"])), domain

    def expected(self) -> dict[tuple[str, str], set[str]]:
        """The nodes of each rack, and the racks of each hall, by label."""
        domains: dict[tuple[str, str], set[str]] = {}
        for node in self.documents("nodes"):
            rack, hall = (node["metadata"]["labels"][key] for key in (RACK, HALL))
            if rack:
                domains.setdefault((RACK, rack), set()).add(node["metadata"]["name"])
                if hall:
                    domains.setdefault((HALL, hall), set()).add(rack)
        return domains

    def found(self) -> dict[tuple[str, str], set[str]]:
        """The same of the domains; none of them may be there twice."""
        domains: dict[tuple[str, str], set[str]] = {}
        racks: dict[str, str] = {}
        for domain in sorted(filter(is_found, self.documents("hypernodes")), key=lambda one: int(one["spec"]["tier"])):
            key = (RACK, HALL)[domain["spec"]["tier"] - 1]
            value = domain["metadata"]["labels"][key]
            assert (key, value) not in domains, f"{value} is there twice"
            racks[domain["metadata"]["name"]] = value
            members = members_of(domain)
            domains[key, value] = set(members) if key == RACK else {racks[member] for member in members}
        return domains

    def nodes_in(self, name: str) -> set[str]:
        if name not in self.server.objects["hypernodes"]:
            return set()
        domain = self.server.objects["hypernodes"][name]
        if any(member["type"] == "Node" for member in domain["spec"]["members"]):
            return set(members_of(domain)) & self.server.objects["nodes"].keys()
        return {node for member in members_of(domain) for node in self.nodes_in(member)}


def is_found(domain: JsonObject) -> bool:
    return keys.NETWORK_TOPOLOGY_SOURCE in domain["metadata"].get("labels", {})


def member_of(kind: str, name: str) -> JsonObject:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def members_of(domain: JsonObject) -> list[str]:
    return [member["selector"]["exactMatch"]["name"] for member in domain["spec"]["members"]]


ACTS: Mapping[Callable[[Any], Awaitable[None]], int] = {
    Domains.node_comes: 6,
    Domains.node_goes: 3,
    Domains.node_moves: 6,
    Domains.somebody_configures: 1,
    Domains.somebody_makes_a_domain: 2,
    Domains.somebody_spoils_a_domain: 2,
    Domains.somebody_deletes_a_domain: 1,
}
