"""What the reference broke in some random worlds, as checks of our own outcome of these worlds.

Each check answers with the offenders; `CHECKS` names them as the worlds do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from volcano.api.core import Pod, PodAffinityTerm, TopologySpreadConstraint
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.hypernodes import Topology
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.selectors import selects
from volcano.scheduler.cluster.tasks import TERMINATED_STATUSES, Status, Task
from volcano.scheduler.framework.conf import Conf
from volcano.scheduler.framework.decisions import Decisions

HOLDING = frozenset({Status.RUNNING, Status.BOUND, Status.BINDING, Status.ALLOCATED})


@dataclass(frozen=True)
class Outcome:
    """A world before the cycle, and what the cycle made of it."""

    before: Cluster
    conf: Conf
    decisions: Decisions

    @property
    def evicted(self) -> set[str]:
        return {eviction.key for eviction in self.decisions.evictions}

    def keeping(self, job: Job) -> list[Task]:
        """Members that hold a node now: those that did and were not evicted, and those just bound."""
        return [
            task
            for task in job.tasks.values()
            if task.key in self.decisions.binds or (task.status in HOLDING and task.key not in self.evicted)
        ]

    def promised(self, job: Job) -> list[Task]:
        """Members that have room reserved, now or later, and no node yet."""
        states = self.decisions.tasks
        waiting = (task for task in job.tasks.values() if task.key in states and task.key not in self.decisions.binds)
        return [task for task in waiting if states[task.key].status in ("Allocated", "Pipelined")]

    def places(self) -> dict[str, tuple[Pod, int]]:
        """Every pod that is on a node after the cycle, with the row of that node."""
        rows = self.before.nodes.row_of
        found = {}
        for task in self.before.tasks.values():
            node = self.decisions.binds.get(task.key, task.node_name)
            if node in rows and task.status not in TERMINATED_STATUSES and task.key not in self.evicted:
                found[task.key] = (task.pod, rows[node])
        return found


def gangs_broken(outcome: Outcome) -> Iterator[str]:
    """A gang that ran is left with some of its minimum, where the gang plugin has a say in evictions."""
    if not _gang_is_asked(outcome):
        return
    for key in {eviction.job for eviction in outcome.decisions.evictions}:
        job = outcome.before.jobs[key]
        left = len(outcome.keeping(job))
        held = sum(task.status in HOLDING for task in job.tasks.values())
        if 0 < left < job.min_available <= held:
            yield f"{key} keeps {left} of minMember {job.min_available}"


def _gang_is_asked(outcome: Outcome) -> bool:
    switches = [option.switches for option in outcome.conf.plugins if option.name == "gang"]
    wanted = {"preempt": "enablePreemptable", "reclaim": "enableReclaimable"}
    causes = {eviction.cause for eviction in outcome.decisions.evictions}
    return bool(switches) and all(wanted[cause] in switches[-1] for cause in causes if cause in wanted)


def gangs_promised_in_part(outcome: Outcome) -> Iterator[str]:
    for key, job in outcome.before.jobs.items():
        promised, kept = len(outcome.promised(job)), len(outcome.keeping(job))
        best_effort = sum(task.best_effort and task.status is Status.PENDING for task in job.tasks.values())
        if promised and promised + kept + best_effort < job.min_available:
            yield f"{key} has {promised + kept} of minMember {job.min_available}"


def anti_affinity_broken(outcome: Outcome) -> Iterator[str]:
    """Two pods in a domain that one of them refuses to share; at least one of them came in this cycle."""
    by_domain: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    places = outcome.places()
    nodes = outcome.before.nodes.objects
    terms = {key: list(_refusals(pod)) for key, (pod, _) in places.items()}
    topologies = {term.topology_key for found in terms.values() for term in found}
    for key, (_, row) in places.items():
        node = nodes[row]
        for topology in topologies:
            if node is not None and topology in node.metadata.labels:
                by_domain[topology, node.metadata.labels[topology]].append(key)
    for (topology, _), keys in by_domain.items():
        for pair in combinations(keys, 2):
            fresh = any(key in outcome.decisions.binds for key in pair)
            if fresh and any(_refuses(outcome, terms[a], topology, places, a, b) for a, b in (pair, pair[::-1])):
                yield " and ".join(pair)


def _refusals(pod: Pod) -> Iterator[PodAffinityTerm]:
    affinity = pod.spec.affinity
    if affinity is not None and affinity.pod_anti_affinity is not None:
        yield from affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution


def _refuses(
    outcome: Outcome,
    terms: list[PodAffinityTerm],
    topology: str,
    places: dict[str, tuple[Pod, int]],
    owner: str,
    other: str,
) -> bool:
    pod, guest = places[owner][0], places[other][0]
    labels = outcome.before.objects["namespaces"]
    for term in terms:
        if term.topology_key != topology or not selects(term.label_selector, guest.metadata.labels):
            continue
        home = guest.metadata.namespace
        named = home in (term.namespaces or ([] if term.namespace_selector else [pod.metadata.namespace]))
        namespace = labels.get(home)
        chosen = term.namespace_selector is not None and selects(
            term.namespace_selector, namespace.metadata.labels if namespace is not None else {}
        )
        if named or chosen:
            return True
    return False


def completed_with_unfinished(outcome: Outcome) -> Iterator[str]:
    for key, decided in outcome.decisions.podgroups.items():
        tasks = outcome.before.jobs[key].tasks.values()
        if decided.phase == "Completed" and any(task.status not in TERMINATED_STATUSES for task in tasks):
            yield key


def important_victims(outcome: Outcome) -> Iterator[str]:
    """Evicted by preemption, though nobody who gained is more important."""
    gained = [
        task.priority
        for job in outcome.before.jobs.values()
        for task in (*outcome.promised(job), *(t for t in job.tasks.values() if t.key in outcome.decisions.binds))
    ]
    for eviction in outcome.decisions.evictions:
        victim = outcome.before.tasks[eviction.uid]
        if "preempt" in eviction.cause and victim.priority >= max(gained, default=0):
            yield eviction.key


def topology_broken(outcome: Outcome) -> Iterator[str]:
    """New members of a job with a hard limit outside the domain of the others."""
    tree = outcome.before.index(Topology).tree()
    rows = outcome.before.nodes.row_of
    for key, job in outcome.before.jobs.items():
        spec = job.pod_group.spec.network_topology if job.pod_group else None
        new = [outcome.decisions.binds[t.key] for t in job.tasks.values() if t.key in outcome.decisions.binds]
        if not new or spec is None or spec.mode != "hard" or spec.highest_tier_allowed is None:
            continue
        held = [rows[outcome.decisions.binds.get(task.key, task.node_name)] for task in outcome.keeping(job)]
        home = tree.smallest_holding(np.array(held, dtype=np.intp))
        if not home or tree[home].tier > spec.highest_tier_allowed:
            yield f"{key} spans {home or 'everything'}"


def evictions_for_nobody(outcome: Outcome) -> Iterator[str]:
    if outcome.decisions.evictions and not (outcome.decisions.pipelined or outcome.decisions.binds):
        yield from sorted(outcome.evicted)


def sub_groups_in_part(outcome: Outcome) -> Iterator[str]:
    for key, job in outcome.before.jobs.items():
        for sub_job in job.sub_jobs.values():
            if sub_job.policy is None:
                continue
            held = sum(task in sub_job.tasks.values() for task in outcome.keeping(job))
            new = any(task.key in outcome.decisions.binds for task in sub_job.tasks.values())
            if new and held < sub_job.min_available:
                yield f"{key} {sub_job.key}: {held} of {sub_job.min_available}"


def spread_broken(outcome: Outcome) -> Iterator[str]:
    """A pod was bound where, at that moment, it made a hard spread uneven beyond what it allows."""
    placed = {key: (pod, row) for key, (pod, row) in outcome.places().items() if key not in outcome.decisions.binds}
    by_key = {task.key: task for task in outcome.before.tasks.values()}
    for key, node in outcome.decisions.bind_order:
        pod, row = by_key[key].pod, outcome.before.nodes.row_of[node]
        placed[key] = (pod, row)
        for constraint in pod.spec.topology_spread_constraints:
            if constraint.when_unsatisfiable != "DoNotSchedule":
                continue
            counts = _domain_counts(outcome, pod, constraint, placed)
            here = _label(outcome, row, constraint.topology_key)
            if counts[here] - min(counts.values()) > constraint.max_skew:
                yield f"{key} on {node}: {dict(counts)}"


def _domain_counts(
    outcome: Outcome, pod: Pod, constraint: TopologySpreadConstraint, placed: dict[str, tuple[Pod, int]]
) -> Counter[str]:
    wanted = pod.spec.node_selector
    counts: Counter[str] = Counter()
    for row in outcome.before.nodes.active.tolist():
        domain = _label(outcome, row, constraint.topology_key)
        if domain and all(_label(outcome, row, name) == value for name, value in wanted.items()):
            counts[domain] += 0
    for other, row in placed.values():
        domain = _label(outcome, row, constraint.topology_key)
        same = other.metadata.namespace == pod.metadata.namespace
        leaving = other.metadata.deletion_timestamp is not None
        if domain in counts and same and not leaving and selects(constraint.label_selector, other.metadata.labels):
            counts[domain] += 1
    return counts


def _label(outcome: Outcome, row: int, name: str) -> str:
    node = outcome.before.nodes.objects[row]
    return "" if node is None else node.metadata.labels.get(name, "")


def misplaced_jobs_placed(outcome: Outcome) -> Iterator[str]:
    """Members of a job in a queue that has children, or whose parent does not exist, got a node."""
    queues = outcome.before.queues
    parents = {queue.object.spec.parent for queue in queues.values()}
    for key, job in outcome.before.jobs.items():
        queue = queues.get(job.queue_name)
        misplaced = queue is not None and (job.queue_name in parents or _is_orphan(queue.object.spec.parent, queues))
        if misplaced and any(task.key in outcome.decisions.binds for task in job.tasks.values()):
            yield key


def _is_orphan(parent: str, queues: Mapping[str, object]) -> bool:
    return bool(parent) and parent not in queues


def budgets_overdrawn(outcome: Outcome) -> Iterator[str]:
    """More pods of a disruption budget were evicted than it allowed."""
    for key, budget in outcome.before.objects["poddisruptionbudgets"].items():
        evicted = sum(
            task.namespace == budget.metadata.namespace
            and task.key in outcome.evicted
            and selects(budget.spec.selector, task.pod.metadata.labels)
            for task in outcome.before.tasks.values()
        )
        if evicted > budget.status.disruptions_allowed:
            yield f"{key}: {evicted} of {budget.status.disruptions_allowed}"


CHECKS: dict[str, Callable[[Outcome], Iterator[str]]] = {
    "gang broken by eviction": gangs_broken,
    "required pod anti-affinity broken": anti_affinity_broken,
    "gang partially pipelined": gangs_promised_in_part,
    "podgroup Completed with unfinished pods": completed_with_unfinished,
    "preemption victim of a priority not below any claimant": important_victims,
    "hard topology broken": topology_broken,
    "eviction without any pipelined or bound claimant": evictions_for_nobody,
    "sub-group partially bound": sub_groups_in_part,
}


def named(violations: list[str]) -> Counter[str]:
    """Which of the checks a world's list of violations is about."""
    return Counter(name for text in violations for name in CHECKS if text.startswith(name))
