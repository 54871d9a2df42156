"""Where we decide otherwise on purpose: rules over records, each with its reason. A record under a rule is an xfail."""

from __future__ import annotations

from collections.abc import Callable

from tests.corpus.loader import Record


def _removals_hidden_from_affinity(record: Record) -> bool:
    """The record switches off, for `predicates` alone, that its simulation sees victims leave."""
    arguments = {entry["name"]: entry.get("arguments") or {} for entry in record["conf"].get("configurations") or ()}
    entries = [entry for tier in record["conf"]["tiers"] for entry in tier["plugins"] if entry["name"] == "predicates"]
    blind = any(not entry.get("enablePreemptable") and not entry.get("enabledAllocatable") for entry in entries)
    anti_affinity = any("podAntiAffinity" in (pod["spec"].get("affinity") or {}) for pod in record["objects"]["pods"])
    return blind and anti_affinity and bool(arguments.get("preempt", {}).get("enableTopologyAwarePreemption"))


def _unknown_tier_name(record: Record) -> bool:
    """A hard limit at a tier that does not exist."""
    known = {info.get("tierName") for info in record["objects"].get("hypernodeSets", {}).get("info", {}).values()}
    specs = [group["spec"].get("networkTopology") or {} for group in record["objects"]["podgroups"]]
    return any(spec.get("highestTierName") and spec["highestTierName"] not in known for spec in specs)


RULES: dict[str, Callable[[Record], bool]] = {
    "we simulate evictions on the real state, so inter-pod anti-affinity always sees a victim leave": (
        _removals_hidden_from_affinity
    ),
    "a hard limit that cannot be understood is refused with a reason, not ignored": _unknown_tier_name,
}


def reason(record: Record) -> str:
    """Why the record's outcome is not ours; empty if it should be."""
    return next((text for text, applies in RULES.items() if applies(record)), "")
