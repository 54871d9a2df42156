"""Which nodes a daemon set runs on, and what it shows of its pods. Pure.

Neighbours: `daemonsets` performs the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.builtin.podmaking import pod_from_template
from volcano.local.builtin.views import PodView

_TOLERATED = (
    (keys.TAINT_NOT_READY, "NoExecute"),
    (keys.TAINT_UNREACHABLE, "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    (keys.TAINT_UNSCHEDULABLE, "NoSchedule"),
)


@dataclass
class PlacePlan:
    """Nodes to create pods on, and pods to delete."""

    create: list[str] = field(default_factory=list)
    delete: list[PodView] = field(default_factory=list)


def plan(
    owner: JsonObject,
    nodes: Sequence[JsonObject],
    pods: Sequence[PodView],
    outdated: Iterable[str] = (),
    spared: Collection[str] = (),
) -> PlacePlan:
    """One pod on every node that suits; of an old template, one gives way at a time. `spared` ones stay."""
    suiting = {node["metadata"]["name"] for node in nodes if suits(owner, node)}
    result = PlacePlan()
    held: dict[str, PodView] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or ""):
        if pod.metadata.deletion_timestamp is not None:
            held.setdefault(pod.spec.node_name, pod)
        elif _is_over(pod, spared) or pod.spec.node_name not in suiting or pod.spec.node_name in held:
            result.delete.append(pod)
        else:
            held[pod.spec.node_name] = pod
    result.create = sorted(suiting - held.keys())
    strategy = (owner["spec"].get("updateStrategy") or {}).get("type")
    well = all(pod.ready_since is not None and pod.is_active for pod in held.values())
    if strategy != "OnDelete" and well and not result.create and not result.delete:
        old = set(outdated)
        result.delete = [pod for pod in held.values() if pod.metadata.uid in old][:1]
    return result


def suits(owner: JsonObject, node: JsonObject) -> bool:
    """Whether the pods of `owner` may run on `node`: its labels, and the taints they tolerate."""
    spec, labels = owner["spec"]["template"].get("spec") or {}, node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    if spec.get("nodeName") and spec["nodeName"] != node["metadata"]["name"]:
        return False
    tolerations = tolerations_of(spec)
    taints = (node.get("spec") or {}).get("taints") or ()
    return all(
        any(_tolerates(item, taint) for item in tolerations)
        for taint in taints
        if taint.get("effect") in ("NoSchedule", "NoExecute")
    )


def tolerations_of(spec: JsonObject) -> list[JsonObject]:
    """A daemon's own tolerations and those that all daemons have."""
    own = list(spec.get("tolerations") or ())
    return own + [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]


def pod_on(owner: JsonObject, node: str, revision: str) -> JsonObject:
    """The daemon's pod for one node."""
    pod = pod_from_template(owner, "apps/v1", "DaemonSet", owner["spec"]["template"])
    pod["metadata"]["labels"][keys.CONTROLLER_REVISION_HASH] = revision
    pod["spec"] |= {"nodeName": node, "tolerations": tolerations_of(pod["spec"])}
    return pod


def status(
    owner: JsonObject, nodes: Sequence[JsonObject], pods: Sequence[PodView], outdated: Iterable[str] = ()
) -> JsonObject:
    """What the daemon set shows."""
    suiting = {node["metadata"]["name"] for node in nodes if suits(owner, node)}
    placed = {pod.spec.node_name: pod for pod in pods if pod.is_active}
    here = [pod for name, pod in placed.items() if name in suiting]
    ready, old = sum(pod.ready_since is not None for pod in here), set(outdated)
    return {
        "desiredNumberScheduled": len(suiting),
        "currentNumberScheduled": len(here),
        "numberMisscheduled": len(placed) - len(here),
        "numberReady": ready,
        "numberAvailable": ready,
        "numberUnavailable": len(suiting) - ready,
        "updatedNumberScheduled": sum(pod.metadata.uid not in old for pod in here),
        "observedGeneration": owner["metadata"].get("generation", 0),
    }


def _is_over(pod: PodView, spared: Collection[str]) -> bool:
    return pod.is_finished and pod.metadata.uid not in spared


def _tolerates(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint.get("key"))
    return bool(toleration.get("key") == taint.get("key") and toleration.get("value", "") == taint.get("value", ""))
