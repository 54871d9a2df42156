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

from volcano.agent import eviction, oversubscription, podwriter, qos, throttling, values
from volcano.agent.cgroups import CgroupError, Hierarchy
from volcano.agent.configuration import Configuration, ConfigurationError, read
from volcano.agent.keeper import Keeper
from volcano.agent.networkqos import NetworkQos
from volcano.agent.options import Flags
from volcano.agent.qos import Amount
from volcano.agent.shaper import Shaper
from volcano.agent.usage import Meter, Usage
from volcano.api import resources
from volcano.api.core.nodes import Node, Taint
from volcano.api.core.pods import Pod
from volcano.api.meta import ObjectReference
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
    """text of the ConfigMap"""


class Agent:
    def __init__(
        self,
        client: Client,
        events: EventRecorder,
        hierarchy: Hierarchy,
        meter: Meter,
        flags: Flags,
        offered: Family[Gauge],
        keeper: Keeper,
        shaper: Shaper,
    ) -> None:
        self._client, self._events, self._flags, self._offered = client, events, flags, offered
        self._hierarchy, self._meter = hierarchy, meter
        self._network = NetworkQos(shaper, keeper)
        self._configuration: Configuration | None = None
        self._configured_by: tuple[str, dict[str, str], dict[str, str]] | None = None
        self._window = oversubscription.Window()
        self._pressure = eviction.Pressure()
        self._reported: tuple[Amount, int] | None = None
        self._limit: int | None = None
        self._written: frozenset[str] = frozenset()
        self._noted: dict[str, str] = {}
        self._cgroups: dict[str, str] = {}

    async def round(self, view: View) -> None:
        """Each part that fails is logged and tried again in the next round; the others go on."""
        self._configure(view)
        if self._configuration is None:
            return
        usage = self._meter.measure()
        total = qos.allocatable(view.node.status.allocatable)
        self._write_pods(view.pods, self._configuration)
        self._throttle(total, usage, self._configuration)
        if "NetworkQoS" in self._flags.features:
            await self._shape(view, self._configuration)
        try:
            if "Eviction" in self._flags.features and usage is not None:
                await self._relieve(view, eviction.percent(usage.amount, total), self._configuration)
            if "OverSubscription" in self._flags.features:
                await self._offer(view, total, usage, self._configuration)
        except ApiError as refused:
            log.warning("node %s: %s", view.node.metadata.name, refused)

    def start(self) -> None:
        """Lift what an agent may have left behind that ended together with its keeper."""
        self._lift_throttle()

    def stop(self) -> None:
        """Leave every cgroup and the network as they were found."""
        self._restore()
        self._lift_throttle()
        self._network.stop()

    # Configuration

    def _configure(self, view: View) -> None:
        meta = view.node.metadata
        source = (view.configuration, meta.labels, meta.annotations)
        if source == self._configured_by:
            return
        self._configured_by = source
        try:
            found = read(*source)
        except ConfigurationError as problem:
            self._tell_own_pod(WARNING, "ConfigApplyFailed", f"Failed to apply config({problem})")
            return
        if found != self._configuration:
            self._configuration = found
            self._pressure.reset()
            self._tell_own_pod(NORMAL, "ConfigApplySuccess", "Successfully applied config")

    def _tell_own_pod(self, kind: str, reason: str, message: str) -> None:
        log.log(logging.WARNING if kind == WARNING else logging.INFO, "%s", message)
        if self._flags.kube_pod_name:
            about = ObjectReference(
                kind="Pod", api_version="v1", namespace=self._flags.kube_pod_namespace, name=self._flags.kube_pod_name
            )
            self._events.record_on(about, kind, reason, message)

    # Network

    async def _shape(self, view: View, configuration: Configuration) -> None:
        for trouble in await asyncio.to_thread(self._network.follow, view.node, view.pods, configuration):
            if trouble.pod is None:
                self._tell_own_pod(WARNING, "NetworkQoSFailed", trouble.message)
            else:
                self._events.record(resources.PODS, trouble.pod, WARNING, "NetworkQoSSkipped", trouble.message)

    # Cgroups

    def _write_pods(self, pods: Iterable[Pod], configuration: Configuration) -> None:
        features = self._flags.features & in_force(configuration)
        if self._written - features:
            self._restore()
        self._written = features
        present = {pod.metadata.uid: pod for pod in pods}
        for uid in self._cgroups.keys() - present.keys():
            self._hierarchy.forget(self._cgroups.pop(uid))
            self._noted.pop(uid, None)
        for uid, pod in present.items():
            if not qos.ready(pod):
                continue
            self._cgroups[uid] = self._hierarchy.pod(uid, pod.status.qos_class)
            try:
                podwriter.write(pod, self._hierarchy, self._flags.names, features)
            except (CgroupError, ValueError) as problem:
                if self._noted.get(uid) != str(problem):
                    self._noted[uid] = str(problem)
                    reason = "CgroupWriteFailed" if isinstance(problem, CgroupError) else "ColocationConfigParseFailed"
                    self._events.record(resources.PODS, pod, WARNING, reason, str(problem))
                    log.warning("pod %s: %s", pod.metadata.key, problem)

    def _restore(self) -> None:
        for problem in self._hierarchy.restore():
            log.error("%s", problem)
        self._limit = None

    def _throttle(self, total: Amount, usage: Usage | None, configuration: Configuration) -> None:
        rules = configuration.cpu_throttling_config
        if "CPUThrottle" not in self._flags.features:
            return
        if not rules.enable or not configuration.oversubscribed:
            self._lift_throttle()
            return
        if usage is None:
            return
        online = throttling.online_usage(usage.pods_cpu, usage.besteffort_cpu)
        limit = throttling.next_limit(total.cpu, online, self._limit, rules)
        if limit is not None and self._write_throttle(limit):
            self._limit = limit

    def _lift_throttle(self) -> None:
        """For good: what an agent that was killed had written is not what was found."""
        try:
            self._hierarchy.correct(self._hierarchy.besteffort(), values.throttle(None, self._hierarchy.version))
            self._limit = None
        except CgroupError as problem:
            log.error("%s", problem)

    def _write_throttle(self, limit: int) -> bool:
        try:
            self._hierarchy.write(self._hierarchy.besteffort(), values.throttle(limit, self._hierarchy.version))
        except CgroupError as problem:
            log.error("%s", problem)
            return False
        return True

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
        self._window.add(oversubscription.spare(total, usage.amount, self._flags.oversubscription_ratio))
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


def in_force(configuration: Configuration) -> frozenset[str]:
    """The features of single pods that the configuration turns on."""
    found = {"Resources"}
    if configuration.colocated or configuration.oversubscribed:
        switches = {
            "CPUQoS": configuration.cpu_qos_config,
            "CPUBurst": configuration.cpu_burst_config,
            "MemoryQoS": configuration.memory_qos_config,
            "MemoryQoSV2": configuration.memory_qos_v2_config,
        }
        found |= {name for name, switch in switches.items() if switch.enable}
    return frozenset(found)
