"""How a stateful set gets to its numbered pods, and what it shows of them. Pure.

Neighbours: `statefulsets` performs the plan; `podmaking` makes ordinary pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.builtin.podmaking import pod_from_template
from volcano.local.builtin.scaling import wanted
from volcano.local.builtin.views import PodView


@dataclass
class OrdinalPlan:
    """Numbers to create pods for, and pods to delete."""

    create: list[int] = field(default_factory=list)
    delete: list[PodView] = field(default_factory=list)


def plan(
    owner: JsonObject, pods: Sequence[PodView], outdated: Iterable[str] = (), spared: Collection[str] = ()
) -> OrdinalPlan:
    """The next step: one pod after the other, or all at once where the order does not matter. `spared` pods stay."""
    numbers = _numbers(owner)
    known = {number: pod for pod in pods if (number := ordinal(owner, pod)) is not None}
    result = OrdinalPlan(delete=[pod for pod in known.values() if _is_over(pod) and pod.metadata.uid not in spared])
    in_order = owner["spec"].get("podManagementPolicy") != "Parallel"
    for number in numbers:
        if number not in known:
            result.create.append(number)
        elif known[number].ready_since is not None and known[number].is_active:
            continue
        if in_order:
            return result
    beyond = sorted((number for number in known if number not in numbers), reverse=True)
    for number in beyond[:1] if in_order else beyond:
        if known[number].metadata.deletion_timestamp is None:
            result.delete.append(known[number])
    if not beyond and not result.create:
        result.delete += _replaced(owner, [known[number] for number in numbers if number in known], set(outdated))
    return result


def ordinal(owner: JsonObject, pod: PodView) -> int | None:
    """The number in a pod's name."""
    prefix, _, digits = pod.metadata.name.rpartition("-")
    return int(digits) if prefix == owner["metadata"]["name"] and digits.isdigit() else None


def pod_of(owner: JsonObject, number: int, revision: str) -> JsonObject:
    """The pod with this number: a stable name, and claims of its own."""
    spec, name = owner["spec"], f"{owner['metadata']['name']}-{number}"
    pod = pod_from_template(owner, "apps/v1", "StatefulSet", spec["template"])
    del pod["metadata"]["generateName"]
    pod["metadata"]["name"] = name
    pod["metadata"]["labels"] |= {
        keys.STATEFUL_SET_POD_NAME: name,
        keys.POD_INDEX: str(number),
        keys.CONTROLLER_REVISION_HASH: revision,
    }
    pod["spec"] |= {"hostname": name, "subdomain": spec.get("serviceName") or ""}
    claims = {template["metadata"]["name"]: claim["metadata"]["name"] for template, claim in _claims(owner, number)}
    others = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in claims]
    own = [{"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in claims.items()]
    if own or others:
        pod["spec"]["volumes"] = others + own
    return pod


def claims_of(owner: JsonObject, number: int) -> list[JsonObject]:
    """The volume claims of the pod with this number; they outlive it."""
    return [claim for _, claim in _claims(owner, number)]


def status(owner: JsonObject, pods: Sequence[PodView], revision: str, outdated: Iterable[str] = ()) -> JsonObject:
    """What the set shows. The current revision becomes the new one when all pods have it."""
    old = set(outdated)
    mine = [pod for pod in pods if ordinal(owner, pod) is not None and not _is_over(pod)]
    ready = sum(pod.ready_since is not None for pod in mine)
    updated = sum(pod.metadata.uid not in old for pod in mine)
    stored = owner.get("status") or {}
    return {
        "replicas": len(mine),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "updatedReplicas": updated,
        "currentReplicas": len(mine) if updated == len(mine) else len(mine) - updated,
        "updateRevision": f"{owner['metadata']['name']}-{revision}",
        "currentRevision": (stored.get("currentRevision") if old else None)
        or f"{owner['metadata']['name']}-{revision}",
        "observedGeneration": owner["metadata"].get("generation", 0),
        "collisionCount": 0,
    }


def _numbers(owner: JsonObject) -> range:
    start = (owner["spec"].get("ordinals") or {}).get("start") or 0
    return range(start, start + wanted(owner))


def _is_over(pod: PodView) -> bool:
    return pod.is_finished and pod.metadata.deletion_timestamp is None


def _replaced(owner: JsonObject, pods: list[PodView], outdated: set[str]) -> list[PodView]:
    """The next pod of an old template to give way: the highest one, when all are well."""
    strategy = owner["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete" or not all(pod.ready_since is not None for pod in pods):
        return []
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    old = [pod for pod in pods if pod.metadata.uid in outdated and (ordinal(owner, pod) or 0) >= partition]
    return old[-1:]


def _claims(owner: JsonObject, number: int) -> Iterable[tuple[JsonObject, JsonObject]]:
    meta = owner["metadata"]
    for template in owner["spec"].get("volumeClaimTemplates") or ():
        labels = {**((owner["spec"].get("selector") or {}).get("matchLabels") or {})}
        name = f"{template['metadata']['name']}-{meta['name']}-{number}"
        own = {"name": name, "namespace": meta["namespace"], "labels": labels}
        yield template, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": own, "spec": template["spec"]}
