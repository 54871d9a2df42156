"""Network topology bounds of jobs, partitions, PodGroups and their subgroups: by tier number or name, not both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from volcano.api.batch import NetworkTopologySpec

TIER_CONFLICT: Final = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def names_both_tiers(topology: NetworkTopologySpec | None) -> bool:
    return topology is not None and topology.highest_tier_allowed is not None and bool(topology.highest_tier_name)
