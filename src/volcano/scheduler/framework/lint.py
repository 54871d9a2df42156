"""What in a scheduler's configuration has no effect, or probably not the one that was meant. Pure.

The engine warns of the same while it works; here it is said beforehand, for `vcctl config lint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.scheduler.framework.arguments import decode, suggest
from volcano.scheduler.framework.conf import parse

if TYPE_CHECKING:
    from volcano.scheduler.framework.registry import Registry


def warnings(text: str, registry: Registry) -> list[str]:
    """Everything there is to remark; raises ConfError for a file that the scheduler would refuse."""
    conf = parse(text, registry.actions)
    found = list(conf.warnings)
    for option in conf.plugins:
        kind = registry.plugins.get(option.name)
        if kind is None:
            found.append(f"plugin {option.name!r} is not known and is left out{suggest(option.name, registry.plugins)}")
        else:
            found += decode(kind.Arguments, option.arguments, f"plugin {option.name!r}")[1]
    for name, arguments in conf.configurations.items():
        if name in registry.actions:
            found += decode(registry.actions[name].Arguments, arguments, f"action {name!r}")[1]
        else:
            found.append(f"configurations: action {name!r} is not known{suggest(name, registry.actions)}")
    return found
