"""What a silent node means: its Ready condition becomes Unknown and taints keep new pods away. Pure.

Neighbours: `nodes` observes leases and writes the result.
"""

from __future__ import annotations

from volcano.api import keys
from volcano.api.meta import JsonObject

SILENCE_SECONDS = 40.0
_OUR_TAINTS = (keys.TAINT_NOT_READY, keys.TAINT_UNREACHABLE)


def is_silent(lease_seconds: int | None, heard_at: float, now: float) -> bool:
    """Whether a node whose lease last changed at `heard_at` has been silent for too long."""
    return now - heard_at > max(SILENCE_SECONDS, float(lease_seconds or 0))


def unknown_conditions(node: JsonObject, now: str) -> list[JsonObject]:
    """The node's conditions when nobody has heard of it: all Unknown."""
    return [
        condition
        if condition["status"] == "Unknown"
        else {
            **condition,
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": now,
        }
        for condition in (node.get("status") or {}).get("conditions") or []
    ]


def wanted_taints(node: JsonObject, now: str) -> list[JsonObject]:
    """The node's taints, with ours as its Ready condition demands."""
    stored = (node.get("spec") or {}).get("taints") or []
    ready = next(
        (c["status"] for c in (node.get("status") or {}).get("conditions") or [] if c["type"] == "Ready"), "Unknown"
    )
    key = {"True": None, "False": keys.TAINT_NOT_READY}.get(ready, keys.TAINT_UNREACHABLE)
    kept = [taint for taint in stored if taint["key"] not in _OUR_TAINTS or taint["key"] == key]
    present = {(taint["key"], taint["effect"]) for taint in kept}
    if key is not None:
        missing = [effect for effect in ("NoSchedule", "NoExecute") if (key, effect) not in present]
        kept += [{"key": key, "effect": effect, "timeAdded": now} for effect in missing]
    unschedulable = bool((node.get("spec") or {}).get("unschedulable"))
    cordoned = (keys.TAINT_UNSCHEDULABLE, "NoSchedule") in present
    if unschedulable and not cordoned:
        kept.append({"key": keys.TAINT_UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": now})
    if not unschedulable and cordoned:
        kept = [taint for taint in kept if taint["key"] != keys.TAINT_UNSCHEDULABLE]
    return kept
