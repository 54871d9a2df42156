"""Every extension point: its method on `Plugin`, how the answers of several plugins combine, which switch gates it.

`plugin.py` documents the methods; `dispatch.py` implements the folds; conf files set the switches per plugin entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Fold(Enum):
    """Plugins are asked tier by tier, in order. What their answers make together:"""

    ORDER = "sort keys side by side: the first difference decides"
    ALL = "all must agree; nobody asked means yes"
    ANY = "one is enough; nobody asked means no"
    FIRST_TIER_ALL = "the first tier with an opinion decides, all of it must agree; nobody asked means no"
    VOTE = "one rejection ends it; a permit settles after its tier; nobody asked means yes"
    VICTIMS = "intersection within a tier; the first tier that names victims decides"
    UNION = "union within a tier; the first tier that names anybody decides"
    FIRST_FAILURE = "the first objection decides"
    FIRST_RESULT = "the first answer decides"
    LARGEST = "the largest number"
    SMALLEST = "the smallest number"
    NODES = "columns over nodes: refusals first come first served, scores added up (placement.py)"
    NOTIFY = "everybody is told"


@dataclass(frozen=True, slots=True)
class Hook:
    name: str
    fold: Fold
    switch: str = ""
    """The key in the conf file that turns it off for one plugin; empty: it cannot be turned off."""


HOOKS: Final[tuple[Hook, ...]] = (
    Hook("job_order", Fold.ORDER, "enableJobOrder"),
    Hook("queue_order", Fold.ORDER, "enableQueueOrder"),
    Hook("victim_queue_compare", Fold.ORDER),
    Hook("task_order", Fold.ORDER, "enableTaskOrder"),
    Hook("sub_job_order", Fold.ORDER, "enabledSubJobOrder"),
    Hook("job_valid", Fold.FIRST_FAILURE),
    Hook("job_ready", Fold.ALL, "enableJobReady"),
    Hook("sub_job_ready", Fold.ALL, "enabledSubJobReady"),
    Hook("missing_members", Fold.LARGEST, "enableJobReady"),
    Hook("job_pipelined", Fold.VOTE, "enableJobPipelined"),
    Hook("sub_job_pipelined", Fold.VOTE, "enabledSubJobPipelined"),
    Hook("job_starving", Fold.FIRST_TIER_ALL, "enableJobStarving"),
    Hook("job_enqueueable", Fold.VOTE, "enableJobEnqueued"),
    Hook("admits_ahead", Fold.ALL, "enableJobEnqueued"),
    Hook("entitled", Fold.ANY, "enableJobEnqueued"),
    Hook("job_enqueued", Fold.NOTIFY, "enableJobEnqueued"),
    Hook("overused", Fold.ANY, "enabledOverused"),
    Hook("allocatable", Fold.ALL, "enabledAllocatable"),
    Hook("allowance", Fold.SMALLEST, "enabledAllocatable"),
    Hook("quota_refusal", Fold.FIRST_FAILURE, "enabledAllocatable"),
    Hook("preemptive", Fold.ALL, "enablePreemptive"),
    Hook("pre_filter", Fold.FIRST_FAILURE, "enablePredicate"),
    Hook("filter", Fold.NODES, "enablePredicate"),
    Hook("score_terms", Fold.NODES, "enableNodeOrder"),
    Hook("couples_nodes", Fold.ANY),
    Hook("affected", Fold.NODES),
    Hook("best_node", Fold.FIRST_RESULT, "enableBestNode"),
    Hook("domain_scores", Fold.NODES, "enableNodeOrder"),
    Hook("hypernode_order", Fold.NODES, "enabledHyperNodeOrder"),
    Hook("hypernode_gradients", Fold.FIRST_RESULT, "enabledHyperNodeGradient"),
    Hook("preemptable", Fold.VICTIMS, "enablePreemptable"),
    Hook("reclaimable", Fold.VICTIMS, "enableReclaimable"),
    Hook("evictable", Fold.VICTIMS),
    Hook("victim_tasks", Fold.UNION, "enabledVictim"),
    Hook("let_out", Fold.NOTIFY),
    Hook("allocated", Fold.NOTIFY),
    Hook("deallocated", Fold.NOTIFY),
    Hook("bind_annotations", Fold.NOTIFY),
    Hook("bind_claims", Fold.NOTIFY),
)

SWITCHES: Final[tuple[str, ...]] = (
    *dict.fromkeys(hook.switch for hook in HOOKS if hook.switch),
    "enableHierarchy",
    "enabledClusterOrder",
    "enableTargetJob",
    "enableReservedNodes",
)
"""Every switch that a plugin entry of the conf file may carry; the last ones gate nothing that upstream calls."""

OFF_BY_DEFAULT: Final = frozenset({"enableHierarchy", "enabledClusterOrder"})
