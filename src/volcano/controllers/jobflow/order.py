"""Steps of a flow that can never start, for flows that admission has not looked at: what is told about them.

Pure. Asked by machine.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.api.flow import Flow, JobFlow


def obstacles(flow: JobFlow) -> Iterator[str]:
    """One sentence for each thing that is wrong with `spec.flows`."""
    steps = {one.name: targets_of(one) for one in flow.spec.flows}
    for name, count in Counter(one.name for one in flow.spec.flows).items():
        if count > 1:
            yield f"spec.flows names '{name}' {count} times: a step has a name of its own, which is its template's"
    for position, one in enumerate(flow.spec.flows):
        for target in targets_of(one):
            if target not in steps:
                known = ", ".join(steps)
                yield f"spec.flows[{position}].dependsOn.targets: '{target}' is not a step of this flow ({known})"
    if circle := _waiting_for_one_another(steps):
        yield (
            f"spec.flows[].dependsOn.targets: {' and '.join(circle)} "
            f"{'wait for one another' if len(circle) > 1 else 'waits for itself'}: break the circle"
        )


def targets_of(one: Flow) -> list[str]:
    return one.depends_on.targets if one.depends_on is not None else []


def _waiting_for_one_another(steps: dict[str, list[str]]) -> list[str]:
    """The steps on circles: what is left when steps that nobody waits for, or that wait for nobody, are taken away."""
    left = {name: {target for target in targets if target in steps} for name, targets in steps.items()}
    while left:
        wanted = set().union(*left.values())
        free = [name for name, targets in left.items() if not targets or name not in wanted]
        if not free:
            break
        for name in free:
            del left[name]
        for targets in left.values():
            targets.difference_update(free)
    return sorted(left)
