"""When a node is under pressure, and which pods have to go then. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from volcano.agent.configuration import Evicting
from volcano.agent.qos import RESOURCES, Amount, BatchNames, ResourceName, critical, offline, requested
from volcano.api import keys
from volcano.api.core.nodes import Taint

if TYPE_CHECKING:
    from volcano.api.core.pods import Pod

ROUNDS: Final = 6
"""So many rounds in a row above the high watermark are pressure."""
TAINT: Final = Taint(key=keys.OFFLINE_JOB_EVICTING, effect="NoSchedule")
_ANNOTATIONS: Final = ("cpu-high", "memory-high", "cpu-low", "memory-low")


def percent(usage: Amount, allocatable: Amount) -> Amount:
    """Usage in percent of what pods may use."""
    return Amount(
        usage.cpu * 100 // allocatable.cpu if allocatable.cpu else 0,
        usage.memory * 100 // allocatable.memory if allocatable.memory else 0,
    )


def watermarks(configured: Evicting, annotations: Mapping[str, str]) -> Evicting:
    """The node's annotations if it has any and they make sense; those that are missing have their defaults."""
    given: dict[str, int] = {}
    for name in _ANNOTATIONS:
        text = annotations.get(f"volcano.sh/evicting-{name}-watermark")
        text = annotations.get(f"volcano.sh/oversubscription-evicting-{name}-watermark") if text is None else text
        if text is None:
            continue
        if not text.isdigit():
            return configured
        given[name.replace("-", "_")] = int(text)
    marks = Evicting(**given)
    sensible = marks.cpu_low < marks.cpu_high and marks.memory_low < marks.memory_high
    return marks if given and sensible else configured


class Pressure:
    """Counts rounds in which a resource is used above its high watermark."""

    def __init__(self) -> None:
        self._rounds = dict.fromkeys(RESOURCES, 0)

    def observe(self, used: Amount, marks: Evicting) -> None:
        highs = Amount(marks.cpu_high, marks.memory_high)
        for resource in RESOURCES:
            above = used.of(resource) >= highs.of(resource)
            self._rounds[resource] = self._rounds[resource] + 1 if above else 0

    def reset(self) -> None:
        self._rounds = dict.fromkeys(RESOURCES, 0)

    @property
    def on(self) -> tuple[ResourceName, ...]:
        """The resources under pressure."""
        return tuple(resource for resource in RESOURCES if self._rounds[resource] >= ROUNDS)


def relaxed(used: Amount, marks: Evicting) -> bool:
    """Whether every resource is at or below its low watermark: batch pods may come again."""
    return used.cpu <= marks.cpu_low and used.memory <= marks.memory_low


def victims(pods: Iterable[Pod], resource: ResourceName, names: BatchNames) -> list[Pod]:
    """The batch pods that may be evicted; the one that asks for most of the spare resource comes first."""
    candidates = [
        pod
        for pod in pods
        if offline(pod)
        and not critical(pod)
        and pod.metadata.deletion_timestamp is None
        and pod.status.phase not in ("Succeeded", "Failed")
    ]
    return sorted(candidates, key=lambda pod: (-requested(pod, names).of(resource), pod.metadata.key))


def with_taint(taints: Sequence[Taint]) -> list[Taint]:
    return [*without_taint(taints), TAINT]


def without_taint(taints: Sequence[Taint]) -> list[Taint]:
    return [taint for taint in taints if (taint.key, taint.effect) != (TAINT.key, TAINT.effect)]


def tainted(taints: Sequence[Taint]) -> bool:
    return any((taint.key, taint.effect) == (TAINT.key, TAINT.effect) for taint in taints)
