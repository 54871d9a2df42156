"""vcctl hypernode: the domains of nodes that talk fast to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.resources import HYPERNODES
from volcano.cli.cells import age_of
from volcano.cli.text import columns
from volcano.cli.verbs import Noun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from volcano.api.meta import JsonObject

HEADER = ("Name", "Tier", "TierName", "Nodes", "Age")


def table(hypernodes: Sequence[JsonObject]) -> str:
    """The lowest tier first."""
    return columns(HEADER, [_row(each) for each in _by_tier(hypernodes)])


def wide_table(hypernodes: Sequence[JsonObject]) -> str:
    """With the members as they are chosen."""
    rows = [[*_row(each), ", ".join(_members(each)) or "-"] for each in _by_tier(hypernodes)]
    return columns((*HEADER, "Members"), rows)


def _by_tier(hypernodes: Sequence[JsonObject]) -> list[JsonObject]:
    return sorted(hypernodes, key=lambda each: (each["spec"].get("tier", 0), each["metadata"]["name"]))


def _row(each: JsonObject) -> list[object]:
    spec, status = each.get("spec") or {}, each.get("status") or {}
    tier = (spec.get("tier", 0), spec.get("tierName", "") or "-")
    return [each["metadata"]["name"], *tier, status.get("nodeCount", 0), age_of(each)]


def _members(each: JsonObject) -> Iterator[str]:
    for member in each["spec"].get("members") or ():
        selector = member.get("selector") or {}
        prefix = "" if member.get("type") == "Node" else "hypernode "
        if "exactMatch" in selector:
            yield f"{prefix}{selector['exactMatch'].get('name', '')}"
        elif "regexMatch" in selector:
            yield f"{prefix}/{selector['regexMatch'].get('pattern', '')}/"
        else:
            labels = (selector.get("labelMatch") or {}).get("matchLabels") or {}
            yield prefix + ",".join(f"{key}={value}" for key, value in labels.items())


hypernode = Noun(HYPERNODES, "hypernode", table, wide_table).group(
    "List, get and describe the domains of the network; create and delete them."
)
