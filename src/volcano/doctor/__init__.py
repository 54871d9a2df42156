"""What is wrong with a cluster, and what to do about it: `facts.gather` looks, each module of `CHECKS` judges.

`vcctl doctor` prints what they find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano.doctor import admission, configuration, daemons, definitions, nodes, queues, version
from volcano.doctor.findings import Check, Facts, Finding, Severity

CHECKS: Final[tuple[Check, ...]] = (
    version.check,
    definitions.check,
    admission.check,
    daemons.check,
    nodes.check,
    queues.check,
    configuration.check,
)


def examine(facts: Facts) -> Iterator[Finding]:
    """Everything the checks find, and what could not be looked at."""
    for what, why in facts.unseen.items():
        yield Finding(Severity.WARNING, what, f"cannot be read: {why}", "run vcctl doctor as somebody who may read it")
    for check in CHECKS:
        yield from check(facts)
