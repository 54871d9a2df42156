"""The built-in plugins, one per file or folder, listed here."""

from __future__ import annotations

from volcano.scheduler.framework.plugin import Plugin


def built_in() -> tuple[type[Plugin], ...]:
    from volcano.scheduler.plugins.binpack import Binpack
    from volcano.scheduler.plugins.capacity import Capacity
    from volcano.scheduler.plugins.conformance import Conformance
    from volcano.scheduler.plugins.drf import Drf
    from volcano.scheduler.plugins.gang import Gang
    from volcano.scheduler.plugins.nodeorder import NodeOrder
    from volcano.scheduler.plugins.overcommit import Overcommit
    from volcano.scheduler.plugins.predicates import Predicates
    from volcano.scheduler.plugins.priority import Priority
    from volcano.scheduler.plugins.proportion import Proportion

    return (Binpack, Capacity, Conformance, Drf, Gang, NodeOrder, Overcommit, Predicates, Priority, Proportion)
