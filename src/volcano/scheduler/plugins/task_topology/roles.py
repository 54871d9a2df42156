"""Which roles of a job want to be together or apart, and which come first: from the annotations of its PodGroup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.api import keys

SELF_APART, OTHERS_TOGETHER, SELF_TOGETHER, OTHERS_APART = 4, 3, 2, 1
"""How much a role's wish weighs when roles are ordered."""

Groups = list[list[str]]


class RolesError(ValueError):
    """The annotations cannot be used; the message says why."""


@dataclass(slots=True)
class Roles:
    together: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Per role, the roles (perhaps itself) that it wants beside it."""
    apart: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    order: dict[str, int] = field(default_factory=dict)
    """Larger goes first."""
    priority: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

    def has_wishes(self, role: str) -> bool:
        return role in self.priority

    def rank(self, role: str) -> tuple[int, int]:
        """Larger goes first."""
        return (self.order.get(role, 0), self.priority.get(role, 0))

    def attraction(self, role: str, others: Mapping[str, int]) -> int:
        """How many of the others the role wants beside it, less those that it does not."""
        near, far = self.together.get(role, ()), self.apart.get(role, ())
        return sum(n for other, n in others.items() if other in near) - sum(
            n for other, n in others.items() if other in far
        )

    def repulsion(self, role: str, others: Mapping[str, int]) -> int:
        """Below zero: minus how many of the others the role does not want beside it."""
        far = self.apart.get(role, ())
        return -sum(n for other, n in others.items() if other in far)


def roles_of(annotations: Mapping[str, str], known: set[str]) -> Roles | None:
    """None if the job says nothing about its roles."""
    texts = [annotations.get(key, "") for key in (keys.TASK_TOPOLOGY_AFFINITY, keys.TASK_TOPOLOGY_ANTI_AFFINITY)]
    order = annotations.get(keys.TASK_TOPOLOGY_TASK_ORDER, "")
    if not any((*texts, order)):
        return None
    together, apart = (_groups(text, known) for text in texts)
    roles = Roles()
    _apply(together, roles.together, roles.priority, SELF_TOGETHER, OTHERS_TOGETHER)
    _apply(apart, roles.apart, roles.priority, SELF_APART, OTHERS_APART)
    ordered = _groups(order, known)
    names = ordered[0] if ordered else []
    roles.order = {name: len(names) - position for position, name in enumerate(names)}
    return roles


def _groups(text: str, known: set[str]) -> Groups:
    groups = [[name.strip() for name in group.split(",") if name.strip()] for group in text.split(";")]
    for group in groups:
        for name in group:
            if name not in known:
                raise RolesError(f"no task has the role {name!r}")
            if group.count(name) > 1:
                raise RolesError(f"the role {name!r} is named twice in one group")
    return [group for group in groups if group]


def _apply(
    groups: Groups, wishes: defaultdict[str, set[str]], priority: defaultdict[str, int], alone: int, others: int
) -> None:
    for group in groups:
        for name in group:
            wishes[name] |= {name} if len(group) == 1 else set(group) - {name}
            priority[name] = max(priority[name], alone if len(group) == 1 else others)
