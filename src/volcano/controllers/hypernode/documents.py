"""HyperNodes as discovery writes them, and what has to change so that the server has the same.

Pure. Used by labels.py, ufm.py and controller.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from volcano.api import keys, resources
from volcano.api.meta import JsonObject
from volcano.api.topology import HYPER_NODE, NODE


@dataclass(slots=True)
class Changes:
    create: list[JsonObject] = field(default_factory=list)
    patch: dict[str, JsonObject] = field(default_factory=dict)
    """Merge patches by name."""
    delete: dict[str, str] = field(default_factory=dict)
    """UIDs by name: somebody else may make one of the same name meanwhile."""


def hypernode(
    name: str,
    source: str,
    tier: int,
    members: Iterable[str],
    *,
    tier_name: str = "",
    labels: Mapping[str, str] | None = None,
) -> JsonObject:
    """A domain with these members: nodes in the lowest tier, domains of the tier below in all others."""
    kind = NODE if tier == 1 else HYPER_NODE
    spec: JsonObject = {
        "tier": tier,
        "members": [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in sorted(set(members))],
    }
    if tier_name:
        spec["tierName"] = tier_name
    return {
        "apiVersion": resources.HYPERNODES.api_version,
        "kind": resources.HYPERNODES.kind,
        "metadata": {"name": name, "labels": {**(labels or {}), keys.NETWORK_TOPOLOGY_SOURCE: source}},
        "spec": spec,
    }


def changes(source: str, wanted: Sequence[JsonObject], present: Iterable[JsonObject]) -> Changes:
    """What makes the hypernodes of `source` equal to `wanted`; those that are right already are left alone."""
    mine = {
        document["metadata"]["name"]: document
        for document in present
        if (document["metadata"].get("labels") or {}).get(keys.NETWORK_TOPOLOGY_SOURCE) == source
    }
    result = Changes()
    for document in wanted:
        meta: dict[str, Any] = document["metadata"]
        labels = {**(meta.get("labels") or {}), keys.NETWORK_TOPOLOGY_SOURCE: source}
        known = mine.pop(meta["name"], None)
        if known is None:
            result.create.append({**document, "metadata": {**meta, "labels": labels}})
        elif change := _difference(known, document, labels):
            result.patch[meta["name"]] = change
    result.delete = {name: mine[name]["metadata"].get("uid", "") for name in sorted(mine)}
    return result


def _difference(known: JsonObject, wanted: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    change: JsonObject = {}
    for name, mapping in (("labels", labels), ("annotations", wanted["metadata"].get("annotations") or {})):
        present = known["metadata"].get(name) or {}
        missing = {key: value for key, value in mapping.items() if present.get(key) != value}
        if missing:
            change.setdefault("metadata", {})[name] = missing
    if known["spec"] != wanted["spec"]:
        gone = dict.fromkeys(known["spec"].keys() - wanted["spec"].keys())
        change["spec"] = {**wanted["spec"], **gone}
    if change and (uid := known["metadata"].get("uid")):
        change.setdefault("metadata", {})["uid"] = uid
    return change
