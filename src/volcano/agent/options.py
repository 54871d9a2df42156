"""The flags of vc-agent, with the names and defaults of Volcano's, and the environment that its DaemonSet sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from volcano.agent.cgroups import DRIVERS, Hierarchy, driver_of, version_of
from volcano.agent.qos import BatchNames
from volcano.kube import flags
from volcano.kube.flags import FlagError, flag

FEATURES: Final = (
    "CPUQoS",
    "CPUBurst",
    "CPUThrottle",
    "MemoryQoS",
    "MemoryQoSV2",
    "NetworkQoS",
    "OverSubscription",
    "Eviction",
    "Resources",
)


@dataclass
class Flags:
    """The command line of vc-agent."""

    supported_features: str = flag(
        "OverSubscription,Eviction,Resources", "features this node may use; * is all, -Name leaves one out"
    )
    healthz_address: str = flag("", "host of /healthz and /metrics; empty is every interface")
    healthz_port: int = flag(3300, "port of /healthz and /metrics; 0 is any free one")
    kube_cgroup_root: str = flag("", "the kubelet's --cgroup-root")
    kube_node_name: str = flag("", "name of this node; $KUBE_NODE_NAME when empty")
    kube_pod_name: str = flag("", "name of the agent's pod; $KUBE_POD_NAME when empty")
    kube_pod_namespace: str = flag("", "namespace of the agent's pod; $KUBE_POD_NAMESPACE when empty")
    oversubscription_policy: str = flag("extend", "how spare resources are offered; only extend is known")
    oversubscription_ratio: int = flag(60, "percentage of what is not used that is offered again")
    include_system_usage: bool = flag(False, "count what the node uses besides pods")
    extend_resource_cpu_name: str = flag("", "resource of spare CPU; empty is kubernetes.io/batch-cpu")
    extend_resource_memory_name: str = flag("", "resource of spare memory; empty is kubernetes.io/batch-memory")
    kubeconfig: str = flag("", "path of the kubeconfig; empty is the cluster the agent runs in")
    version: bool = flag(False, "print the version and exit")
    verbosity: int = 0

    @property
    def names(self) -> BatchNames:
        usual = BatchNames()
        return BatchNames(self.extend_resource_cpu_name or usual.cpu, self.extend_resource_memory_name or usual.memory)

    @property
    def features(self) -> frozenset[str]:
        wanted = [part.strip() for part in self.supported_features.split(",") if part.strip()]
        return frozenset(name for name in FEATURES if supports(wanted, name))


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Flags:
    found = flags.parse(Flags, arguments, "vc-agent")
    found.kube_node_name = found.kube_node_name or environment.get("KUBE_NODE_NAME", "")
    found.kube_pod_name = found.kube_pod_name or environment.get("KUBE_POD_NAME", "")
    found.kube_pod_namespace = found.kube_pod_namespace or environment.get("KUBE_POD_NAMESPACE", "")
    if found.version:
        return found
    if not found.kube_node_name:
        raise FlagError("--kube-node-name is empty: name the node, or set KUBE_NODE_NAME")
    if not found.kube_pod_namespace:
        raise FlagError("--kube-pod-namespace is empty: name the namespace, or set KUBE_POD_NAMESPACE")
    if found.oversubscription_ratio <= 0:
        raise FlagError("over subscription ratio must be greater than 0")
    if found.oversubscription_policy != "extend":
        raise FlagError(f"--oversubscription-policy={found.oversubscription_policy} is not known: write extend")
    for part in found.supported_features.split(","):
        name = part.strip().removeprefix("-")
        if name not in ("", "*", *FEATURES):
            raise FlagError(f"--supported-features has {name}, which this agent lacks: it has {', '.join(FEATURES)}")
    return found


def supports(wanted: Sequence[str], feature: str) -> bool:
    """The first word that speaks of the feature decides."""
    for word in wanted:
        if word in ("*", feature):
            return True
        if word == f"-{feature}":
            return False
    return False


def hierarchy(
    found: Flags, environment: Mapping[str, str], noted: Callable[[Path, str | None], None] = lambda _path, _text: None
) -> Hierarchy:
    """The cgroups of this node. The driver is told by CGROUP_DRIVER, or by the folder that the kubelet made."""
    mount = mount_of(environment)
    version = version_of(mount)
    told = environment.get("CGROUP_DRIVER", "")
    if told and told not in DRIVERS:
        raise FlagError(f"CGROUP_DRIVER={told} is not known: write {' or '.join(DRIVERS)}")
    driver = next((one for one in DRIVERS if one == told), None) or driver_of(mount, version, found.kube_cgroup_root)
    return Hierarchy(mount, version, driver, found.kube_cgroup_root, noted)


def mount_of(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("SYS_FS_PATH", "/sys/fs")) / "cgroup"
