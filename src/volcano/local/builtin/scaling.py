"""How a replica set gets to its number of pods, and what its status says. Pure.

Neighbours: `replicasets` performs the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from volcano.api.meta import JsonObject
from volcano.local.builtin.views import PodView
from volcano.local.times import seconds_since_epoch

BURST = 500


@dataclass(frozen=True)
class ScalePlan:
    """Pods to create, pods to delete."""

    create: int
    delete: list[PodView]


def plan(replica_set: JsonObject, pods: Sequence[PodView]) -> ScalePlan:
    """The step from the active `pods` to `spec.replicas`, at most `BURST` pods at a time."""
    active = [pod for pod in pods if pod.is_active]
    missing = wanted(replica_set) - len(active)
    if missing >= 0:
        return ScalePlan(min(missing, BURST), [])
    return ScalePlan(0, sorted(active, key=_worth)[: min(-missing, BURST)])


def wanted(replica_set: JsonObject) -> int:
    replicas = replica_set["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def _worth(pod: PodView) -> tuple[bool, bool, bool, list[int]]:
    """Least worth keeping first: unplaced, not running, not ready, young."""
    age = [-ord(char) for char in pod.metadata.creation_timestamp or ""]
    return (bool(pod.spec.node_name), pod.status.phase == "Running", pod.ready_since is not None, age)


def status(replica_set: JsonObject, pods: Sequence[PodView], now: float) -> tuple[JsonObject, float | None]:
    """The status, and the seconds until another pod counts as available."""
    active = [pod for pod in pods if pod.is_active]
    ready = [since for pod in active if (since := pod.ready_since) is not None]
    patience = int(replica_set["spec"].get("minReadySeconds") or 0)
    waits = [seconds_since_epoch(since) + patience - now for since in ready] if patience else []
    pending = [wait for wait in waits if wait > 0]
    count = len(active)
    return {
        "replicas": count,
        "fullyLabeledReplicas": count,
        "readyReplicas": len(ready),
        "availableReplicas": len(ready) - len(pending),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }, min(pending, default=None)
