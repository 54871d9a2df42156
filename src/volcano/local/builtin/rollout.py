"""How a deployment moves from its old replica sets to the one of its template. Pure.

Neighbours: `deployments` performs the plan; `progress` says how far it is; `scaling` works one level below.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.builtin.podmaking import owner_reference
from volcano.local.builtin.scaling import wanted

DEFAULT_HISTORY = 10
DEFAULT_SHARE = "25%"


@dataclass
class RolloutPlan:
    """What to write: a replica set to create, sizes to change (by name), revisions to set, replica sets to delete."""

    create: JsonObject | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)
    delete: list[str] = field(default_factory=list)
    revision: str = ""


def template_hash(template: JsonObject) -> str:
    """A short name for a template: equal templates share it. Letters and digits that Kubernetes uses in names."""
    digest = hashlib.blake2b(json.dumps(template, sort_keys=True).encode(), digest_size=5).digest()
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    number, text = int.from_bytes(digest, "big"), ""
    for _ in range(9):
        number, rest = divmod(number, len(alphabet))
        text += alphabet[rest]
    return text


def current(deployment: JsonObject, replica_sets: Sequence[JsonObject]) -> JsonObject | None:
    """The replica set made from the deployment's present template."""
    template = _plain(deployment["spec"]["template"])
    name = template_hash(template)
    matching = [item for item in replica_sets if _hash(item) == name or _plain(item["spec"]["template"]) == template]
    return min(matching, key=lambda item: item["metadata"].get("creationTimestamp") or "", default=None)


def _hash(item: JsonObject) -> str:
    return str((item["metadata"].get("labels") or {}).get(keys.POD_TEMPLATE_HASH, ""))


def _plain(template: JsonObject) -> JsonObject:
    """The template without the label that tells replica sets apart."""
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != keys.POD_TEMPLATE_HASH}
    metadata.pop("creationTimestamp", None)
    return {**template, "metadata": {**metadata, "labels": labels}}


def plan(deployment: JsonObject, replica_sets: Sequence[JsonObject]) -> RolloutPlan:
    """The next step. Sizes change only as far as surge and unavailability allow."""
    new = current(deployment, replica_sets)
    old = [item for item in replica_sets if item is not new]
    result = RolloutPlan()
    _number(new, replica_sets, result)
    if deployment["spec"].get("paused"):
        if new is not None:
            _resize(result, new, _share_of(deployment, old))
        return result
    if new is None:
        result.create = _replica_set(deployment, result.revision, _first_size(deployment, old))
    elif _is_recreate(deployment):
        _recreate(deployment, new, old, result)
    else:
        _roll(deployment, new, old, result)
    if _is_recreate(deployment):
        for item in old:
            _resize(result, item, 0)
    _trim(deployment, old, result)
    return result


def _share_of(deployment: JsonObject, old: Sequence[JsonObject]) -> int:
    return max(0, wanted(deployment) - sum(wanted(item) for item in old))


def _number(new: JsonObject | None, replica_sets: Sequence[JsonObject], result: RolloutPlan) -> None:
    """The newest template has the highest revision; going back to an old one gives it a new number."""
    highest = max((revision_of(item) for item in replica_sets if item is not new), default=0)
    if new is not None and revision_of(new) > highest:
        result.revision = str(revision_of(new))
        return
    result.revision = str(highest + 1)
    if new is not None:
        result.revisions[new["metadata"]["name"]] = result.revision


def revision_of(item: JsonObject) -> int:
    text = (item["metadata"].get("annotations") or {}).get(keys.DEPLOYMENT_REVISION, "0")
    return int(text) if text.isdigit() else 0


def _first_size(deployment: JsonObject, old: Sequence[JsonObject]) -> int:
    existing = sum(wanted(item) for item in old)
    if _is_recreate(deployment):
        return 0 if existing or any(count_of(item, "replicas") for item in old) else wanted(deployment)
    surge, _ = limits(deployment)
    return min(wanted(deployment), max(0, wanted(deployment) + surge - existing))


def _recreate(deployment: JsonObject, new: JsonObject, old: Sequence[JsonObject], result: RolloutPlan) -> None:
    if all(wanted(item) == 0 and count_of(item, "replicas") == 0 for item in old):
        _resize(result, new, wanted(deployment))


def _roll(deployment: JsonObject, new: JsonObject, old: Sequence[JsonObject], result: RolloutPlan) -> None:
    replicas, (surge, unavailable) = wanted(deployment), limits(deployment)
    others = sum(wanted(item) for item in old)
    if wanted(new) > replicas:
        _resize(result, new, replicas)
    else:
        room = replicas + surge - others - wanted(new)
        _resize(result, new, min(replicas, wanted(new) + max(0, room)))
    least = replicas - unavailable
    new_unavailable = wanted(new) - count_of(new, "availableReplicas")
    removable = others + wanted(new) - least - max(0, new_unavailable)
    for item in sorted(old, key=revision_of):  # what never became available goes first and costs nothing
        broken = wanted(item) - count_of(item, "availableReplicas")
        gone = min(wanted(item), max(0, removable), max(0, broken))
        removable -= gone
        result.sizes[item["metadata"]["name"]] = wanted(item) - gone
    available = sum(count_of(item, "availableReplicas") for item in (*old, new))
    spare = max(0, available - least)
    for item in sorted(old, key=revision_of):
        name = item["metadata"]["name"]
        left = result.sizes[name]
        gone = min(left, spare)
        spare -= gone
        _resize(result, item, left - gone)


def limits(deployment: JsonObject) -> tuple[int, int]:
    """How many pods more, and how many fewer, than wanted a rolling update may have."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    replicas = wanted(deployment)
    surge = _portion(rolling.get("maxSurge", DEFAULT_SHARE), replicas, up=True)
    unavailable = _portion(rolling.get("maxUnavailable", DEFAULT_SHARE), replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def _portion(value: int | str, total: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        exact = int(value[:-1]) * total / 100
        return math.ceil(exact) if up else math.floor(exact)
    return int(value)


def _resize(result: RolloutPlan, item: JsonObject, size: int) -> None:
    if wanted(item) == size:
        result.sizes.pop(item["metadata"]["name"], None)
    else:
        result.sizes[item["metadata"]["name"]] = size


def _trim(deployment: JsonObject, old: Sequence[JsonObject], result: RolloutPlan) -> None:
    """Keep as many retired replica sets as `revisionHistoryLimit` says, for undo."""
    limit = deployment["spec"].get("revisionHistoryLimit")
    retired = [item for item in old if wanted(item) == 0 and count_of(item, "replicas") == 0]
    retired.sort(key=revision_of)
    excess = len(retired) - (DEFAULT_HISTORY if limit is None else limit)
    result.delete = [item["metadata"]["name"] for item in retired[: max(0, excess)]]


def _is_recreate(deployment: JsonObject) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"


def _replica_set(deployment: JsonObject, revision: str, size: int) -> JsonObject:
    spec, metadata = deployment["spec"], deployment["metadata"]
    mark = {keys.POD_TEMPLATE_HASH: template_hash(_plain(spec["template"]))}
    template_metadata = spec["template"].get("metadata") or {}
    labels = {**(template_metadata.get("labels") or {}), **mark}
    selector = spec.get("selector") or {}
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != keys.LAST_APPLIED}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name']}-{mark[keys.POD_TEMPLATE_HASH]}",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {**annotations, keys.DEPLOYMENT_REVISION: revision},
            "ownerReferences": [owner_reference(deployment, "apps/v1", "Deployment")],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": spec.get("minReadySeconds") or 0,
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **mark}},
            "template": {**spec["template"], "metadata": {**template_metadata, "labels": labels}},
        },
    }


def count_of(item: JsonObject, name: str) -> int:
    """A number of a replica set's status."""
    return int((item.get("status") or {}).get(name) or 0)
