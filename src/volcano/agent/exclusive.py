"""CPUs that the kubelet's static CPU manager gave to containers alone: nobody else runs there, even while they rest.

Seen from the `cgroups` themselves, whatever the kubelet's configuration says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from volcano.agent import qos
from volcano.api import quantity

if TYPE_CHECKING:
    from volcano.agent.cgroups import Hierarchy
    from volcano.api.core.pods import Pod


def cpus(pods: Iterable[Pod], hierarchy: Hierarchy) -> dict[str, int]:
    """Milli-CPU by cgroup, of online containers that asked for whole CPUs and are alone on as many."""
    everywhere = hierarchy.cpus(hierarchy.pods_root())
    found = {}
    for pod in pods:
        if pod.status.qos_class != "Guaranteed" or qos.offline(pod) or not qos.ready(pod):
            continue
        cgroup = hierarchy.pod(pod.metadata.uid, pod.status.qos_class)
        identities = {one.name: one.container_id for one in pod.status.container_statuses}
        for container in pod.spec.containers:
            asked = quantity.milli(container.resources.limits.get("cpu", 0))
            identity = identities.get(container.name)
            if not identity or not asked or asked % 1000:
                continue
            own = hierarchy.container(cgroup, identity)
            if hierarchy.cpus(own) * 1000 == asked < everywhere * 1000:
                found[own] = asked
    return found
