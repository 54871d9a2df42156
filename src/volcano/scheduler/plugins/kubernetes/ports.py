"""Host ports: one pod per port (and address) of a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.census import Census
from volcano.scheduler.cluster.nodes import Mask, Rows
from volcano.scheduler.cluster.profiles import Profile

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

Port = tuple[str, str, int]
ANY_ADDRESS: Final = "0.0.0.0"


def conflicts(left: Iterable[Port], right: Iterable[Port]) -> bool:
    taken = tuple(right)
    return any(
        (protocol, port) == (other_protocol, other_port) and (address == other or ANY_ADDRESS in (address, other))
        for address, protocol, port in left
        for other, other_protocol, other_port in taken
    )


def taken(cluster: Cluster, profile: Profile, rows: Rows) -> Mask:
    """Nodes where a pod holds a port that this one needs."""
    wanted = profile.ports
    kind = cluster.index(Census).kind(
        ("ports", frozenset(wanted)), lambda other: int(bool(other.ports) and conflicts(wanted, other.ports))
    )
    holding = kind.column[rows.index] > 0
    if rows.extra is not None:
        holding = holding | (rows.extra > 0)
    return np.asarray(holding)
