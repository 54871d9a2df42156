"""What came from outside, as a number: while it stands still, all that happens was decided by the scheduler.

Marks that keep jobs from taking from each other in turn hold for an era (framework/journal.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


class Era:
    """One for a cluster. ingest.py counts nodes, queues and groups that change, and pods that end unasked.

    Pods that appear do not count: they cannot be told from those that are made anew for evicted ones.
    """

    def __init__(self, _cluster: Cluster) -> None:
        self.number = 1
