"""PodGroups for pods that no vcjob made: who needs one, what it is called, what it says.

Pure, on pod documents. Used by controller.py; vcjobs' own groups are job/podgroup.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from volcano.api import keys, quantity
from volcano.api.meta import JsonObject, ObjectMeta, controller_of
from volcano.controllers import quota
from volcano.controllers.owners import reference

if TYPE_CHECKING:
    from volcano.controllers.views import PodView

API_VERSION = "scheduling.volcano.sh/v1beta1"
_COPIED_ANNOTATIONS = (keys.PREEMPTABLE, keys.COOLDOWN_TIME, keys.REVOCABLE_ZONE)
_COPIED_LABELS = (keys.PREEMPTABLE, keys.COOLDOWN_TIME)
_WAITING = frozenset({"", "Pending"})
_TOPOLOGY_MODES = frozenset({"hard", "soft"})

V = TypeVar("V")


def needs_group(pod: PodView, scheduler_names: Collection[str]) -> bool:
    """A pod for one of our schedulers that names no group."""
    return pod.spec.scheduler_name in scheduler_names and not pod.metadata.annotations.get(keys.GROUP_NAME)


def awaits_group(pod: PodView, scheduler_names: Collection[str]) -> bool:
    """A pod that was told its group and may still wait for it: whoever was to create that may have been interrupted."""
    meta = pod.metadata
    if pod.spec.scheduler_name not in scheduler_names or pod.status.phase not in _WAITING:
        return False
    return meta.deletion_timestamp is None and meta.annotations.get(keys.GROUP_NAME) == name_for(meta)


def name_for(meta: ObjectMeta) -> str:
    """All pods of one controller share a group; a pod without controller has its own."""
    owner = controller_of(meta)
    return f"{keys.POD_GROUP_PREFIX}{owner.uid if owner else meta.uid}"


def build(pod: JsonObject, name: str, owner_annotations: Mapping[str, str]) -> JsonObject:
    """The group of `pod`. `owner_annotations` are those of its workload, empty where nothing is inherited."""
    meta, spec = pod["metadata"], pod.get("spec") or {}
    members = minimum_member(owner_annotations)
    usage = quota.scaled(quota.pod_usage(spec), members)
    wanted: JsonObject = {"minMember": members, "minResources": quota.written(usage)}
    if spec.get("priorityClassName"):
        wanted["priorityClassName"] = spec["priorityClassName"]
    annotations = meta.get("annotations") or {}
    if queue := annotations.get(keys.POD_QUEUE_NAME):
        wanted["queue"] = queue
    if topology := network_topology(annotations):
        wanted["networkTopology"] = topology
    group_meta: JsonObject = {
        "name": name,
        "namespace": meta.get("namespace") or "",
        "ownerReferences": owners(pod),
        "annotations": _annotations(annotations, owner_annotations),
        "labels": _chosen(meta.get("labels") or {}, _COPIED_LABELS),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": {key: value for key, value in group_meta.items() if value},
        "spec": wanted,
        "status": {"phase": "Pending"},
    }


def changes(want: JsonObject, have: JsonObject) -> JsonObject:
    """A merge patch that brings an existing group in line with its pod; empty when it is.

    What the pod does not say (a queue by default, annotations of others) is left as it is.
    """
    have_meta, have_spec = have.get("metadata") or {}, have.get("spec") or {}
    spec = {key: value for key, value in want["spec"].items() if not _equal(value, have_spec.get(key))}
    meta = {
        part: news
        for part in ("labels", "annotations")
        if (news := _news(want["metadata"].get(part) or {}, have_meta.get(part) or {}))
    }
    return {name: part for name, part in (("metadata", meta), ("spec", spec)) if part}


def minimum_member(owner_annotations: Mapping[str, str]) -> int:
    text = owner_annotations.get(keys.GROUP_MIN_MEMBER)
    if text is None:
        return 1
    try:
        count = int(text)
    except ValueError:
        return 1
    return count if count >= 0 else 1


def network_topology(annotations: Mapping[str, str]) -> JsonObject | None:
    mode = annotations.get(keys.NETWORK_TOPOLOGY_MODE)
    tier = annotations.get(keys.NETWORK_TOPOLOGY_HIGHEST_TIER)
    if mode is None and tier is None:
        return None
    chosen = (mode or "").lower()
    topology: JsonObject = {"mode": chosen if chosen in _TOPOLOGY_MODES else "hard"}
    if tier is not None and tier.lstrip("+-").isdecimal():
        topology["highestTierAllowed"] = int(tier)
    return topology


def owners(pod: JsonObject) -> list[JsonObject]:
    """The pod's own owners where one of them controls it, else the pod."""
    meta = pod["metadata"]
    references: list[JsonObject] = meta.get("ownerReferences") or []
    if any(owner.get("controller") for owner in references):
        return references
    return [reference("v1", "Pod", meta.get("name") or "", meta.get("uid") or "")]


def merged_annotations(of_owners: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Annotations of several owners; of two values for one key the first owner's counts."""
    merged: dict[str, str] = {}
    for one in of_owners:
        merged = {**one, **merged}
    return merged


def representative(pods: Sequence[PodView], name: str, scheduler_names: Collection[str]) -> PodView | None:
    """The pod that speaks for its workload: one of ours that has no group yet, or has this one."""
    for pod in pods:
        group = pod.metadata.annotations.get(keys.GROUP_NAME)
        if pod.spec.scheduler_name in scheduler_names and group in {None, "", name}:
            return pod
    return None


def _annotations(of_pod: Mapping[str, str], of_owner: Mapping[str, str]) -> dict[str, str]:
    inherited = {key: value for key, value in of_owner.items() if key.startswith(keys.VOLCANO_PREFIX)}
    chosen = _chosen(of_pod, _COPIED_ANNOTATIONS)
    for budget in (keys.JDB_MIN_AVAILABLE, keys.JDB_MAX_UNAVAILABLE):
        if budget in of_pod:
            chosen[budget] = of_pod[budget]
            break
    return {**inherited, **chosen}


def _chosen(values: Mapping[str, V], names: Iterable[str]) -> dict[str, V]:
    return {name: values[name] for name in names if name in values}


def _news(want: Mapping[str, str], have: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in want.items() if have.get(key) != value}


def _equal(want: object, have: object) -> bool:
    if want == have or not (isinstance(want, dict) and isinstance(have, dict)) or set(want) != set(have):
        return want == have
    try:
        return all(quantity.parse(want[name]) == quantity.parse(have[name]) for name in want)
    except ValueError:
        return False
