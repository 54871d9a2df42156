"""One scheduling cycle: open a session, run the actions, conclude, and leave nothing uncommitted behind.

This is where rings 1 and 2 end: no clock, no I/O, no randomness but what is passed in.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.arguments import decode, suggest
from volcano.scheduler.framework.journal import OnCommit
from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.outcome import conclude
from volcano.scheduler.framework.plugin import Plugin
from volcano.scheduler.framework.session import Clock, Session

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster
    from volcano.scheduler.framework.action import Action
    from volcano.scheduler.framework.conf import Conf
    from volcano.scheduler.framework.decisions import Decisions
    from volcano.scheduler.framework.registry import Registry


def cycle(
    cluster: Cluster,
    conf: Conf,
    options: Options,
    now: float,
    rng: random.Random,
    *,
    registry: Registry | None = None,
    on_commit: OnCommit | None = None,
    timer: Clock | None = None,
) -> Decisions:
    """Decide what happens next. Same cluster, conf, options, `now` and seed: same decisions.

    `on_commit` gets the binds of each gang as soon as it is complete; `timer` makes the decisions carry timings.
    """
    registry = registry or registries.built_in()
    clock: Clock = timer or (lambda: 0.0)
    began = clock()
    session = open_session(cluster, conf, options, now, rng, registry, on_commit, clock)
    timings = session.decisions.timings
    timings["open/"] = clock() - began
    try:
        for name in conf.actions:
            began = clock()
            _run(session, name, registry)
            timings[f"action/{name}"] = clock() - began
        for name, plugin in session.plugins.items():
            began = clock()
            session.close_plugin(plugin)
            timings[f"close/{name}"] = clock() - began
        return conclude(session)
    finally:
        session.restore()


def open_session(
    cluster: Cluster,
    conf: Conf,
    options: Options,
    now: float,
    rng: random.Random,
    registry: Registry,
    on_commit: OnCommit | None = None,
    clock: Clock | None = None,
) -> Session:
    """A session with its plugins open. Whoever opens one must `restore()` it."""
    problems = _prepare(cluster, conf, registry)
    session = Session(cluster, conf, options, now, rng, on_commit, clock)
    for problem in problems:
        session.warn(problem)
    tiers: list[list[tuple[Plugin, frozenset[str]]]] = []
    for tier in conf.tiers:
        opened: list[tuple[Plugin, frozenset[str]]] = []
        for option in tier:
            kind = registry.plugins.get(option.name)
            if kind is None:
                session.warn(
                    f"plugin {option.name!r} is not known and is left out{suggest(option.name, registry.plugins)}"
                )
                continue
            arguments, warnings = decode(kind.Arguments, option.arguments, f"plugin {option.name!r}")
            session.decisions.warnings += warnings
            opened.append((kind(arguments, dict.fromkeys(option.switches, True)), option.switches))
        tiers.append(opened)
    session.use(tiers)
    return session


def _prepare(cluster: Cluster, conf: Conf, registry: Registry) -> list[str]:
    """Let plugins bring up to date what nodes offer; what goes wrong with that."""
    problems = []
    for option in conf.plugins:
        kind = registry.plugins.get(option.name, Plugin)
        try:
            kind.prepare(cluster)
        except Exception as problem:  # noqa: BLE001 - a plugin may raise anything; it is named and passed over
            problems.append(f"plugin {option.name!r}: prepare failed: {type(problem).__name__}: {problem}")
    return problems


def _run(session: Session, name: str, registry: Registry) -> None:
    """One action. If it fails, what it has not committed is undone, and the next one has its turn."""
    session.action = name
    mark = session.journal.mark
    try:
        _action(session, name, registry).execute(session)
    except Exception as problem:  # noqa: BLE001 - an action may be a user's; it is named and the cycle goes on
        session.journal.abandon(mark)
        session.warn(f"action {name!r} failed: {type(problem).__name__}: {problem}")


def _action(session: Session, name: str, registry: Registry) -> Action:
    kind = registry.actions[name]
    arguments, warnings = decode(kind.Arguments, session.conf.configurations.get(name, {}), f"action {name!r}")
    session.decisions.warnings += warnings
    return kind(arguments)
