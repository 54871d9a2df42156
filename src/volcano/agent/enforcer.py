"""Writes into the node's cgroups what pods may have, and the limit of all best effort pods.

`podwriter` knows the files of a pod, `throttling` the limit; `cgroups` can take everything back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from volcano.agent import podwriter, qos, requirements, throttling, values
from volcano.agent.cgroups import CgroupError, Hierarchy
from volcano.agent.telling import Trouble

if TYPE_CHECKING:
    from volcano.agent.configuration import Configuration
    from volcano.agent.options import Flags
    from volcano.agent.usage import Usage
    from volcano.api.core.pods import Pod

log = logging.getLogger(__name__)


class Enforcer:
    def __init__(self, hierarchy: Hierarchy, flags: Flags) -> None:
        self._hierarchy, self._flags = hierarchy, flags
        self._written: frozenset[str] = frozenset()
        self._cgroups: dict[str, str] = {}
        self._limit: int | None = None

    def start(self, pods: Iterable[Pod]) -> None:
        """Lift what an agent may have left behind that ended together with its keeper."""
        self._lift()
        for pod in pods:
            try:
                podwriter.clear(pod, self._hierarchy)
            except CgroupError as problem:
                log.error("pod %s: %s", pod.metadata.key, problem)

    def stop(self) -> None:
        """Leave every cgroup as it was found."""
        self._restore()
        self._lift()

    def follow(
        self, pods: Iterable[Pod], allocatable: int, usage: Usage | None, configuration: Configuration
    ) -> Iterator[Trouble]:
        """What could not be done. `allocatable` in milli-CPU; pods that are not ready are left alone."""
        features = self._flags.features & in_force(configuration)
        for message in requirements.lacking(self._hierarchy, features):
            yield Trouble("FeatureUnavailable", message)
        if self._written - features:
            self._restore()
        self._written = features
        yield from self._write(pods, features)
        try:
            self._throttle(allocatable, usage, configuration, on="CPUThrottle" in features)
        except CgroupError as problem:
            yield Trouble("CgroupWriteFailed", str(problem))

    def _write(self, pods: Iterable[Pod], features: frozenset[str]) -> Iterator[Trouble]:
        present = {pod.metadata.uid: pod for pod in pods}
        for uid in self._cgroups.keys() - present.keys():
            self._hierarchy.forget(self._cgroups.pop(uid))
        for uid, pod in present.items():
            if not qos.ready(pod):
                continue
            self._cgroups[uid] = self._hierarchy.pod(uid, pod.status.qos_class)
            try:
                podwriter.write(pod, self._hierarchy, self._flags.names, features)
            except CgroupError as problem:
                yield Trouble("CgroupWriteFailed", str(problem), pod)
            except ValueError as problem:
                yield Trouble("ColocationConfigParseFailed", str(problem), pod)

    def _throttle(self, allocatable: int, usage: Usage | None, configuration: Configuration, *, on: bool) -> None:
        if not on or usage is None:
            return
        online = throttling.online_usage(usage.pods_cpu, usage.besteffort_cpu)
        limit = throttling.next_limit(allocatable, online, self._limit, configuration.cpu_throttling_config)
        if limit is not None:
            self._hierarchy.write(self._hierarchy.besteffort(), values.throttle(limit, self._hierarchy.version))
            self._limit = limit

    def _restore(self) -> None:
        for problem in self._hierarchy.restore():
            log.error("%s", problem)
        self._limit = None

    def _lift(self) -> None:
        """For good: what an agent that was killed had written is not what was found."""
        try:
            self._hierarchy.correct(self._hierarchy.besteffort(), values.throttle(None, self._hierarchy.version))
        except CgroupError as problem:
            log.error("%s", problem)


def in_force(configuration: Configuration) -> frozenset[str]:
    """The features of cgroups that the configuration turns on."""
    found = {"Resources"}
    if configuration.colocated or configuration.oversubscribed:
        switches = {
            "CPUQoS": configuration.cpu_qos_config,
            "CPUBurst": configuration.cpu_burst_config,
            "MemoryQoS": configuration.memory_qos_config,
            "MemoryQoSV2": configuration.memory_qos_v2_config,
        }
        found |= {name for name, switch in switches.items() if switch.enable}
    if configuration.oversubscribed and configuration.cpu_throttling_config.enable:
        found.add("CPUThrottle")
    return frozenset(found)
