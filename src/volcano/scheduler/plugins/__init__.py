"""The built-in plugins, one per file, listed here."""

from __future__ import annotations

from volcano.scheduler.framework.plugin import Plugin


def built_in() -> tuple[type[Plugin], ...]:
    from volcano.scheduler.plugins.conformance import Conformance
    from volcano.scheduler.plugins.gang import Gang
    from volcano.scheduler.plugins.overcommit import Overcommit
    from volcano.scheduler.plugins.priority import Priority

    return (Conformance, Gang, Overcommit, Priority)
