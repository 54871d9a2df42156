"""One round of the agent: measure, then throttle, evict, offer what is spare, and write what pods may have.

The policies decide; this module carries out. `main` calls it every ten seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from volcano.agent import eviction, exclusive, oversubscription, qos
from volcano.agent.cgroups import CgroupError, Hierarchy
from volcano.agent.configuration import KEY, Configuration, ConfigurationError, read
from volcano.agent.enforcer import Enforcer
from volcano.agent.networkqos import NetworkQos
from volcano.agent.options import Flags
from volcano.agent.qos import Amount
from volcano.agent.telling import Teller, Trouble
from volcano.agent.usage import Meter, Usage
from volcano.api import resources
from volcano.api.core.nodes import Node, Taint
from volcano.api.core.pods import Pod
from volcano.api.yaml_text import repeated_in_json
from volcano.http.metrics import Family, Gauge
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, NotFound
from volcano.kube.events import NORMAL, WARNING, EventRecorder

log = logging.getLogger(__name__)

TURNED_OFF: Final = "Evict offline pod due to node overSubscription is turned off"


@dataclass(frozen=True, slots=True)
class View:
    """What the watches show."""

    node: Node
    pods: tuple[Pod, ...]
    configuration: str
    """Text of the ConfigMap."""


class Agent:
    def __init__(
        self,
        client: Client,
        events: EventRecorder,
        hierarchy: Hierarchy,
        meter: Meter,
        flags: Flags,
        offered: Family[Gauge],
        network: NetworkQos,
    ) -> None:
        self._client, self._events, self._flags, self._offered = client, events, flags, offered
        self._hierarchy, self._meter, self._network = hierarchy, meter, network
        self._enforcer = Enforcer(hierarchy, flags)
        self._teller = Teller(events, flags)
        self._configuration: Configuration | None = None
        self._configured_by: tuple[str, dict[str, str], dict[str, str]] | None = None
        self._window = oversubscription.Window()
        self._pressure = eviction.Pressure()
        self._reported: tuple[Amount, int] | None = None

    async def start(self, pods: Iterable[Pod]) -> None:
        self._enforcer.start(pods)
        if "NetworkQoS" in self._flags.features:
            await asyncio.to_thread(self._network.start)

    def stop(self) -> None:
        """Leave every cgroup and the network as they were found."""
        self._enforcer.stop()
        self._network.stop()

    async def round(self, view: View) -> None:
        """Each part that fails is told and tried again in the next round; the others go on."""
        self._configure(view)
        if self._configuration is None:
            return
        pinned, usage = self._measure(view.pods)
        total = qos.allocatable(view.node.status.allocatable)
        self._teller.troubles("cgroups", self._enforcer.follow(view.pods, total.cpu, usage, self._configuration))
        if "NetworkQoS" in self._flags.features:
            shaped = asyncio.to_thread(self._network.follow, view.node, view.pods, self._configuration)
            self._teller.troubles("network", await shaped)
        try:
            if "Eviction" in self._flags.features and usage is not None:
                await self._relieve(view, eviction.percent(usage.amount, total), self._configuration)
            if "OverSubscription" in self._flags.features:
                shared = Amount(max(0, total.cpu - sum(pinned.values())), total.memory)
                await self._offer(view, shared, usage, self._configuration)
        except ApiError as refused:
            log.warning("node %s: %s", view.node.metadata.name, refused)

    def _measure(self, pods: Iterable[Pod]) -> tuple[dict[str, int], Usage | None]:
        """CPUs that are not shared, and what is used; nothing where it cannot be read."""
        try:
            pinned = exclusive.cpus(pods, self._hierarchy)
            usage = self._meter.measure(pinned)
        except CgroupError as problem:
            self._teller.troubles("usage", [Trouble("CgroupReadFailed", str(problem))])
            return {}, None
        self._teller.troubles("usage", [])
        return pinned, usage

    # Configuration

    def _configure(self, view: View) -> None:
        meta = view.node.metadata
        source = (view.configuration, meta.labels, meta.annotations)
        if source == self._configured_by:
            return
        known = self._configured_by and self._configured_by[0] == view.configuration
        self._configured_by = source
        try:
            found = read(*source)
        except ConfigurationError as problem:
            self._teller.own(WARNING, "ConfigApplyFailed", f"Failed to apply config({problem})")
            return
        if not known:
            for remark in repeated_in_json(view.configuration):
                self._teller.own(WARNING, "RepeatedKey", f"{KEY}: {remark}")
        if found != self._configuration:
            self._configuration = found
            self._pressure.reset()
            self._teller.own(NORMAL, "ConfigApplySuccess", "Successfully applied config")

    # Eviction

    async def _relieve(self, view: View, used: Amount, configuration: Configuration) -> None:
        marks = eviction.watermarks(configuration.evicting_config, view.node.metadata.annotations)
        self._pressure.observe(used, marks)
        if eviction.relaxed(used, marks) and eviction.tainted(view.node.spec.taints):
            await self._taint(view.node, eviction.without_taint(view.node.spec.taints))
        if not configuration.oversubscribed:
            return
        if self._pressure.on and not eviction.tainted(view.node.spec.taints):
            await self._taint(view.node, eviction.with_taint(view.node.spec.taints))
        for resource in self._pressure.on:
            candidates = eviction.victims(view.pods, resource, self._flags.names)
            message = f"Evict offline pod due to {resource} resource pressure"
            for pod in candidates:
                if await self._evict(pod, message):
                    break

    async def _evict(self, pod: Pod, message: str) -> bool:
        """With the grace that the pod asks for; a disruption budget may refuse."""
        meta = pod.metadata
        try:
            await self._client.evict(meta.namespace, meta.name, uid=meta.uid)
        except NotFound:
            return False
        except ApiError as refused:
            log.warning("pod %s is not evicted: %s", meta.key, refused)
            return False
        self._events.record(resources.PODS, pod, WARNING, "Evicted", message)
        return True

    async def _taint(self, node: Node, taints: list[Taint]) -> None:
        body = {"metadata": {"resourceVersion": node.metadata.resource_version}, "spec": {"taints": taints}}
        await self._client.patch(resources.NODES, node.metadata.name, msgspec.json.encode(body))

    # Oversubscription

    async def _offer(self, view: View, total: Amount, usage: Usage | None, configuration: Configuration) -> None:
        node, names = view.node, self._flags.names
        if not configuration.oversubscribed:
            self._window.clear()
            self._reported = None
            self._gauge(node, Amount())
            if oversubscription.offers(names, node.status.capacity, node.status.allocatable):
                await self._patch_status(node, None)
            for pod in view.pods:
                if qos.requested(pod, names) != Amount() and eviction.victims([pod], "cpu", names):
                    await self._evict(pod, TURNED_OFF)
            return
        if usage is None:
            return
        self._window.add(oversubscription.spare(total, usage.shared, self._flags.oversubscription_ratio))
        now = self._window.value(configuration.over_subscription_config.types)
        before, rounds = self._reported or (None, 0)
        if oversubscription.worth_reporting(before, now, rounds + 1):
            await self._patch_status(node, now)
            self._reported = (now, 0)
            self._gauge(node, now)
        elif before is not None:
            self._reported = (before, rounds + 1)

    async def _patch_status(self, node: Node, amount: Amount | None) -> None:
        body = oversubscription.status_patch(amount, self._flags.names)
        await self._client.patch(resources.NODES, node.metadata.name, body, subresource="status")

    def _gauge(self, node: Node, amount: Amount) -> None:
        for resource in qos.RESOURCES:
            self._offered.labels(node.metadata.name, resource).set(amount.of(resource))
