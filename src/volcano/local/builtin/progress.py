"""How far a deployment's rollout is: its status, for `kubectl rollout status` and `kubectl wait`. Pure.

Neighbours: `rollout` decides the steps; `deployments` writes the status.
"""

from __future__ import annotations

from collections.abc import Sequence

from volcano.api.meta import JsonObject
from volcano.local.builtin.rollout import count_of, current, limits
from volcano.local.builtin.scaling import wanted
from volcano.local.times import seconds_since_epoch, timestamp

DEFAULT_DEADLINE_SECONDS = 600
_TOTALS = ("replicas", "readyReplicas", "availableReplicas")
_ENOUGH = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
_TOO_FEW = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")


def status(deployment: JsonObject, replica_sets: Sequence[JsonObject], now: float) -> tuple[JsonObject, float | None]:
    """The status, and the seconds until the deadline for progress needs another look."""
    new = current(deployment, replica_sets)
    replicas, (_, unavailable) = wanted(deployment), limits(deployment)
    counts: JsonObject = {name: sum(count_of(item, name) for item in replica_sets) for name in _TOTALS}
    counts["updatedReplicas"] = count_of(new, "replicas") if new is not None else 0
    counts["unavailableReplicas"] = max(0, replicas - counts["availableReplicas"])
    is_complete = (
        counts["updatedReplicas"] == counts["replicas"] == replicas and counts["availableReplicas"] >= replicas
    )
    has_moved = any((deployment.get("status") or {}).get(name, 0) != value for name, value in counts.items())
    left = None if is_complete or has_moved else _seconds_left(deployment, now)
    name = (new or deployment)["metadata"]["name"]
    progress = _progress(deployment, name, is_complete=is_complete, is_late=left is not None and left <= 0)
    enough = counts["availableReplicas"] >= replicas - unavailable
    return {
        **counts,
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "conditions": [
            _condition(deployment, "Available", *(_ENOUGH if enough else _TOO_FEW), now=now),
            _condition(deployment, "Progressing", *progress, now=now, has_moved=has_moved),
        ],
    }, left if left is not None and left > 0 else None


def _seconds_left(deployment: JsonObject, now: float) -> float | None:
    """Until the rollout counts as stuck; None when it has no deadline or has not begun."""
    seconds = deployment["spec"].get("progressDeadlineSeconds", DEFAULT_DEADLINE_SECONDS)
    stored = _stored(deployment, "Progressing")
    if seconds is None or stored is None or deployment["spec"].get("paused"):
        return None
    return seconds_since_epoch(stored["lastUpdateTime"]) + float(seconds) - now


def _progress(deployment: JsonObject, name: str, *, is_complete: bool, is_late: bool) -> tuple[str, str, str]:
    if deployment["spec"].get("paused"):
        return "Unknown", "DeploymentPaused", "Deployment is paused"
    if is_complete:
        return "True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'
    if is_late:
        return "False", "ProgressDeadlineExceeded", f'ReplicaSet "{name}" has timed out progressing.'
    return "True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'


def _condition(
    deployment: JsonObject, kind: str, truth: str, reason: str, message: str, *, now: float, has_moved: bool = False
) -> JsonObject:
    """The condition; the times of the stored one are kept while it says the same and nothing has moved."""
    stored = _stored(deployment, kind)
    said = {"type": kind, "status": truth, "reason": reason, "message": message}
    if stored is not None and not has_moved and all(stored.get(key) == value for key, value in said.items()):
        return stored
    time = timestamp(now)
    since = stored["lastTransitionTime"] if stored is not None and stored["status"] == truth else time
    return {**said, "lastUpdateTime": time, "lastTransitionTime": since}


def _stored(deployment: JsonObject, kind: str) -> JsonObject | None:
    conditions = (deployment.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == kind), None)
