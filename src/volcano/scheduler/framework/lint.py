"""What in a scheduler's configuration has no effect, or probably not the one that was meant. Pure.

The engine warns of the same while it works; here it is said beforehand, for `vcctl config lint`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from volcano.scheduler.framework.arguments import decode, suggest
from volcano.scheduler.framework.conf import Conf, parse
from volcano.scheduler.framework.gates import PREEMPTING, RECLAIMING, gates

if TYPE_CHECKING:
    from volcano.scheduler.framework.registry import Registry


def warnings(text: str, registry: Registry) -> list[str]:
    """Everything there is to remark; raises ConfError for a file that the scheduler would refuse."""
    conf = parse(text, registry.actions)
    found = [*conf.warnings, *_without_effect(conf, registry.actions), *_at_odds(conf)]
    for option in conf.plugins:
        kind = registry.plugins.get(option.name)
        if kind is None:
            found.append(f"plugin {option.name!r} is not known and is left out{suggest(option.name, registry.plugins)}")
        else:
            found += decode(kind.Arguments, option.arguments, f"plugin {option.name!r}")[1]
    for name, arguments in conf.configurations.items():
        if name in registry.actions:
            found += decode(registry.actions[name].Arguments, arguments, f"action {name!r}")[1]
    return found


def _without_effect(conf: Conf, known: Container[str]) -> list[str]:
    """Parts that only work together with others that are not there."""
    found = []
    plugins = {option.name for option in conf.plugins}
    actions = set(conf.actions)
    if "priority" in plugins and actions & RECLAIMING and not actions & PREEMPTING:
        found.append("plugin 'priority': jobs are only ordered by it; for evictions add the action preempt")
    if actions & PREEMPTING and not plugins & {"priority", "drf"}:
        found.append("actions: preempt evicts whom priority or drf give up; without them it evicts regardless of both")
    if actions & RECLAIMING and not plugins & {"proportion", "capacity"}:
        found.append("actions: reclaim takes back what queues do not deserve; add proportion or capacity")
    if "overcommit" in plugins and "enqueue" not in actions:
        found.append("plugin 'overcommit': only enqueue asks it; without that action every job is let in at once")
    if "shuffle" in actions and not plugins & {"rescheduling", "tdm"}:
        found.append("actions: shuffle moves what rescheduling or tdm name; add one of them")
    found += [
        f"plugin {option.name!r}: enableHierarchy has no effect; it is for capacity, drf and nodegroup"
        for option in conf.plugins
        if option.name not in ("capacity", "drf", "nodegroup") and "enableHierarchy" in option.switches
    ]
    found += [
        f"configurations: arguments of {name!r} have no effect, it is not among the actions"
        for name in conf.configurations
        if name not in conf.actions and name in known
    ]
    return found


def _at_odds(conf: Conf) -> list[str]:
    """Plugins that pull in opposite directions."""
    found = []
    options = {option.name: option for option in conf.plugins}
    filling = options["binpack"].arguments if "binpack" in options else {}
    if filling and "nodeorder" in options:  # without arguments both are as Volcano ships them, which is balanced
        nodeorder = options["nodeorder"].arguments
        spreading = _weight(nodeorder, "leastrequested.weight", 1)
        if spreading >= _weight(filling, "binpack.weight", 1) > 0 and not _weight(nodeorder, "mostrequested.weight", 0):
            found.append(
                "plugins: binpack fills nodes and nodeorder's leastrequested spreads over them; "
                "set leastrequested.weight to 0, or binpack.weight higher, where nodes are to be filled"
            )
    keepers = gates(conf.plugins)
    if "enqueue" in conf.actions and PREEMPTING & set(conf.actions) and keepers:
        found.append(
            f"actions: preempt makes room only for jobs that have been let in, and {' and '.join(keepers)} may keep "
            "them out while the cluster is full; set enableJobEnqueued: false where preempt is to empty full nodes"
        )
    drf = options.get("drf")
    if drf is not None and "enableHierarchy" in drf.switches and "proportion" in options:
        found.append("plugins: drf with enableHierarchy and proportion both share among queues; use one of them")
    if "gang" in options and "enableJobReady" not in options["gang"].switches:
        found.append("plugin 'gang': with enableJobReady off, members are bound before their gang is complete")
    return found


def _weight(arguments: Mapping[str, object], name: str, default: int) -> int:
    """A weight as it is given; what is no number is remarked elsewhere, and the default stays in force."""
    try:
        return int(str(arguments.get(name, default)))
    except ValueError:
        return default
