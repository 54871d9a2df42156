"""nodegroup: queues keep to their groups of nodes, and to what they may use of each.

Nodes name their group in a label; queues name groups in `spec.affinity`, and caps per group in an annotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
import numpy as np

from volcano.api import keys
from volcano.api.quantity import QuantityError
from volcano.api.scheduling import QueueAffinity
from volcano.scheduler.cluster.nodes import Index, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.queues import ROOT, Queue
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, Task
from volcano.scheduler.framework.plugin import Plugin, Scores
from volcano.scheduler.framework.reasons import FITS, Codes, Refusal
from volcano.scheduler.framework.session import Session

HIERARCHY: Final = "enableHierarchy"
REQUIRED_SCORE: Final = 100.0
PREFERRED_SCORE: Final = 50.0
AVOIDED_SCORE: Final = -1.0


def _refusal(text: str) -> Refusal:
    return Refusal("nodegroup", text, resolvable=False)


BAD_LIMITS: Final = _refusal("node group resource limit annotation invalid")
NO_LABEL: Final = _refusal("node group label not found")
NO_AFFINITY: Final = _refusal("node group affinity not specified")
WRONG_GROUP: Final = _refusal("node does not satisfy the node group affinity")
LIMIT_EXCEEDED: Final = _refusal("node group resource limit exceeded")


class Arguments(msgspec.Struct, frozen=True):
    strict: bool = True
    """Nodes without a group are for nobody; else they are for queues without affinity."""
    preferred_order: bool = msgspec.field(default=False, name="enablePreferredOrder")


@dataclass(slots=True)
class Rules:
    """What one queue says about groups, and what it uses of those it has a cap on."""

    required: frozenset[str] = frozenset()
    preferred: tuple[str, ...] = ()
    avoided: frozenset[str] = frozenset()
    rather_avoided: frozenset[str] = frozenset()
    limits: dict[str, dict[int, int]] = field(default_factory=dict)
    are_limits_bad: bool = False
    used: dict[str, Vector] = field(default_factory=dict)
    version: int = 0
    """Counts the changes of `used`."""

    @property
    def is_unset(self) -> bool:
        return not (self.required or self.preferred or self.avoided or self.rather_avoided)

    def admits(self, group: str) -> bool:
        if group in self.rather_avoided:
            return True
        return (group in self.required or group in self.preferred) and group not in self.avoided


class NodeGroups(Plugin):
    name = "nodegroup"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        self._rules = {name: self._rules_of(queue) for name, queue in session.queues.items()}
        self._seen: dict[int, int] = {}

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        rules = self._rules.get(profile.queue, Rules())
        labels = self.nodes.labels
        by_group = np.zeros(len(labels.values(keys.NODEGROUP_NAME)) + 1, dtype=np.int32)
        for code, group in enumerate(labels.values(keys.NODEGROUP_NAME)):
            by_group[code] = self._judge(rules, group)
        by_group[-1] = self._judge_unlabelled(rules)
        codes: Codes = by_group[labels.column(keys.NODEGROUP_NAME)[rows.index]]
        for group in rules.limits:
            self._apply_limit(rules, group, profile, rows, codes)
        return codes

    def score(self, profile: Profile, rows: Rows) -> Scores:
        rules = self._rules.get(profile.queue, Rules())
        labels = self.nodes.labels
        by_group = np.zeros(len(labels.values(keys.NODEGROUP_NAME)) + 1, dtype=np.float64)
        for code, group in enumerate(labels.values(keys.NODEGROUP_NAME)):
            by_group[code] = self._rank(rules, group)
        found: Scores = by_group[labels.column(keys.NODEGROUP_NAME)[rows.index]]
        return found

    def couples_nodes(self, profile: Profile) -> bool:
        """A cap is on the whole group: each placement counts on all of its nodes."""
        rules = self._rules.get(profile.queue)
        return rules is not None and bool(rules.limits)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        rules = self._rules.get(profile.queue)
        if rules is None or not rules.limits or self._seen.get(profile.id, 0) == rules.version:
            return changed[:0]
        self._seen[profile.id] = rules.version
        return None

    def allocated(self, tasks: Sequence[Task]) -> None:
        self._move(tasks, 1)

    def deallocated(self, tasks: Sequence[Task]) -> None:
        self._move(tasks, -1)

    # Verdicts

    def _judge(self, rules: Rules, group: str) -> int:
        code = self.session.refusals.code
        if rules.are_limits_bad:
            return code(BAD_LIMITS)
        if rules.is_unset:
            return code(NO_AFFINITY)
        return FITS if rules.admits(group) else code(WRONG_GROUP)

    def _judge_unlabelled(self, rules: Rules) -> int:
        code = self.session.refusals.code
        if rules.are_limits_bad:
            return code(BAD_LIMITS)
        return FITS if rules.is_unset and not self.arguments.strict else code(NO_LABEL)

    def _apply_limit(self, rules: Rules, group: str, profile: Profile, rows: Rows, codes: Codes) -> None:
        used = rules.used[group]
        limit = rules.limits[group]
        if all(used[dimension] + profile.request[dimension] <= amount for dimension, amount in limit.items()):
            return
        labels = self.nodes.labels
        inside = labels.column(keys.NODEGROUP_NAME)[rows.index] == labels.code(keys.NODEGROUP_NAME, group)
        codes[inside & (codes == FITS)] = self.session.refusals.code(LIMIT_EXCEEDED)

    def _rank(self, rules: Rules, group: str) -> float:
        if group in rules.rather_avoided:
            return AVOIDED_SCORE
        score = REQUIRED_SCORE if group in rules.required else 0.0
        if group in rules.preferred:
            number = len(set(rules.preferred))
            last = max(i for i, name in enumerate(rules.preferred) if name == group)
            score += PREFERRED_SCORE * (number - last) / number if self.arguments.preferred_order else PREFERRED_SCORE
        return score

    # Rules

    def _rules_of(self, queue: Queue) -> Rules:
        rules = Rules()
        affinity = self._affinity_of(queue)
        if affinity is not None:
            near, apart = affinity.node_group_affinity, affinity.node_group_anti_affinity
            if near is not None:
                rules.required = frozenset(near.required_during_scheduling_ignored_during_execution)
                rules.preferred = tuple(near.preferred_during_scheduling_ignored_during_execution)
            if apart is not None:
                rules.avoided = frozenset(apart.required_during_scheduling_ignored_during_execution)
                rules.rather_avoided = frozenset(apart.preferred_during_scheduling_ignored_during_execution)
        self._read_limits(queue, rules)
        return rules

    def _affinity_of(self, queue: Queue) -> QueueAffinity | None:
        """The queue's own or, in a hierarchy, that of the nearest ancestor that has one."""
        seen: set[str] = set()
        current: Queue | None = queue
        while current is not None and current.name not in seen:
            affinity = current.object.spec.affinity
            if affinity is not None or not self.switches.get(HIERARCHY):
                return affinity
            seen.add(current.name)
            current = self.session.queues.get(current.parent or ROOT)
        return None

    def _read_limits(self, queue: Queue, rules: Rules) -> None:
        text = queue.object.metadata.annotations.get(keys.NODEGROUP_RESOURCE_LIMITS, "")
        if not text:
            return
        dimensions = self.session.cluster.dimensions
        try:
            limits = msgspec.json.decode(text, type=dict[str, dict[str, str | int | float]])
            rules.limits = {
                group: {
                    dimension: dimensions.amount(name, amount)
                    for name, amount in limit.items()
                    if (dimension := dimensions.find(name)) is not None  # else nobody asks for it
                }
                for group, limit in limits.items()
            }
        except (msgspec.MsgspecError, QuantityError) as problem:
            rules.are_limits_bad = True
            self.session.warn(
                f"nodegroup: queue {queue.name!r}: annotation {keys.NODEGROUP_RESOURCE_LIMITS} is not a map of "
                f"groups to resources, so no pod of the queue gets a node: {problem}"
            )
            return
        rules.used = {group: dimensions.zeros() for group in rules.limits}
        for job in queue.jobs.values():
            for task in job.tasks.values():
                if task.status in ALLOCATED_STATUSES:
                    self._count(rules, task, 1)

    def _move(self, tasks: Sequence[Task], sign: int) -> None:
        job = tasks[0].job
        rules = self._rules.get(job.queue_name) if job is not None else None
        if rules is not None and rules.limits:
            for task in tasks:
                self._count(rules, task, sign)
            rules.version += 1

    def _count(self, rules: Rules, task: Task, sign: int) -> None:
        node = self.nodes.objects[task.node] if task.node >= 0 else None
        group = node.metadata.labels.get(keys.NODEGROUP_NAME, "") if node is not None else ""
        if group in rules.used:
            rules.used[group] += sign * task.profile.request
