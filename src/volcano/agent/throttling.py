"""How much CPU all batch pods of a node may use together. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.agent.configuration import Throttling


def next_limit(allocatable: int, online: int, last: int | None, rules: Throttling) -> int | None:
    """The limit in milli-CPU; None when the `last` one stays, or throttling is off.

    Batch pods lose at once what online pods need, and get it back little by little.
    """
    if not rules.enable:
        return None
    wanted = max(0, allocatable * rules.threshold // 100 - online)
    if not last:
        return wanted if last is None or wanted else None
    wanted = min(wanted, max(last + 1, last * (100 + rules.recover) // 100))
    change = abs(wanted - last)
    return wanted if change and change * 100 >= last * rules.jitter else None


def online_usage(root: int, besteffort: int) -> int:
    """What pods that are not best effort use."""
    return max(0, root - besteffort)
