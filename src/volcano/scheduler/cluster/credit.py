"""Which queues ask for podgroups to be let in before they are there: an index beside the tables.

Filled by daemon/credit.py before each cycle, answered by actions/enqueue.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


class CreditRequest(NamedTuple):
    """So many podgroups are expected, none of which asks for more than `each`, a resource list."""

    groups: int
    each: Mapping[str, str]
    queues: int = 1
    """So many queues are in a rush, this one with them."""


class CreditRequests:
    """One for a cluster. Nobody asks for anything until somebody fills `by_queue`."""

    def __init__(self, _cluster: Cluster) -> None:
        self.by_queue: Mapping[str, CreditRequest] = {}
