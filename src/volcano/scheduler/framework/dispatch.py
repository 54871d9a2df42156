"""The one tier dispatcher: which plugins answer a hook, and how their answers fold into one.

Built once per session from the plugins and their switches; hooks.py says which fold a hook has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.guard import NO_ANSWER, Guarded, Report
from volcano.scheduler.framework.hooks import HOOKS, Hook
from volcano.scheduler.framework.plugin import Plugin, Vote, overrides
from volcano.scheduler.framework.reasons import Reason

Tiers = Sequence[Sequence[tuple[Plugin, "frozenset[str]"]]]
"""Plugins by tier, each with the switches that are on for this entry."""

HOOK = {hook.name: hook for hook in HOOKS}


def _ignore(_text: str) -> None:
    """Nobody listens."""


class Dispatcher:
    """`report` is told what plugins that fail have done; `broken` ones failed to open and are not asked."""

    def __init__(self, tiers: Tiers, report: Report = _ignore, broken: Iterable[str] = ()) -> None:
        self._tiers: dict[str, tuple[tuple[Guarded, ...], ...]] = {}
        self._flat: dict[str, tuple[Guarded, ...]] = {}
        self._report = report
        self._broken = frozenset(broken)
        answering = [self._answering(tier) for tier in tiers]
        for hook in HOOKS:
            asked = tuple(tuple(tier[hook.name]) for tier in answering if hook.name in tier)
            self._tiers[hook.name] = asked
            self._flat[hook.name] = tuple(callback for tier in asked for callback in tier)

    def _answering(self, tier: Sequence[tuple[Plugin, frozenset[str]]]) -> dict[str, list[Guarded]]:
        """By hook who of a tier answers it, where there is anybody."""
        found: dict[str, list[Guarded]] = {}
        for plugin, switches in tier:
            broken = plugin.name in self._broken
            for hook in hooks_of(type(plugin)):  # type: ignore[arg-type] # mypy takes the hash of instances for it
                if not hook.switch or hook.switch in switches:
                    found.setdefault(hook.name, []).append(Guarded(plugin, hook, self._report, broken=broken))
        return found

    def callbacks(self, hook: str) -> tuple[Guarded, ...]:
        return self._flat[hook]

    def order(self, hook: str, subject: Any) -> tuple[Any, ...]:
        """The sort keys of all plugins, most significant first."""
        return tuple([callback(subject) for callback in self._flat[hook]])

    def compare(self, hook: str, *subjects: Any) -> int:
        for callback in self._flat[hook]:
            result: int = callback(*subjects)
            if result:
                return result
        return 0

    def all(self, hook: str, *subjects: Any) -> bool:
        for callback in self._flat[hook]:  # noqa: SIM110 - in half the time of a generator, and asked for every pod
            if not callback(*subjects):
                return False
        return True

    def any(self, hook: str, *subjects: Any) -> bool:
        for callback in self._flat[hook]:  # noqa: SIM110 - likewise
            if callback(*subjects):
                return True
        return False

    def first_tier_all(self, hook: str, *subjects: Any) -> bool:
        tiers = self._tiers[hook]
        return bool(tiers) and all(callback(*subjects) for callback in tiers[0])

    def vote(self, hook: str, *subjects: Any) -> tuple[bool, Reason | None]:
        """The verdict, and the reason of the plugin that rejected, if it gave one."""
        for tier in self._tiers[hook]:
            permitted = False
            for callback in tier:
                answer = callback(*subjects)
                if isinstance(answer, Reason):
                    return False, answer
                if answer is Vote.REJECT:
                    return False, None
                permitted = permitted or answer is Vote.PERMIT
            if permitted:
                return True, None
        return True, None

    def first_failure(self, hook: str, *subjects: Any) -> Reason | None:
        for callback in self._flat[hook]:
            reason: Reason | None = callback(*subjects)
            if reason is not None:
                return reason
        return None

    def first_result(self, hook: str, *subjects: Any) -> Any:
        for callback in self._flat[hook]:
            result = callback(*subjects)
            if result is not None:
                return result
        return None

    def largest(self, hook: str, *subjects: Any, default: int) -> int:
        return max([callback(*subjects) for callback in self._flat[hook]], default=default)

    def notify(self, hook: str, *subjects: Any) -> None:
        for callback in self._flat[hook]:
            callback(*subjects)

    def victims(self, hook: str, claimant: Any, candidates: Sequence[Task]) -> list[Task]:
        """Tasks that every plugin of the deciding tier gives up.

        A plugin that abstains (None) is passed over; one that gives up nobody ends its tier, and the next one is
        asked. Upstream lets an intersection that has become empty be filled anew by the next plugin of the tier; we do
        not: a task protected by two plugins stays protected.
        """
        for tier in self._tiers[hook]:
            victims: list[Task] | None = None
            for callback in tier:
                answer = callback(claimant, candidates)
                if answer is None:
                    continue
                if answer is NO_ANSWER:
                    return []
                chosen = list(answer) if victims is None else _intersection(victims, answer)
                if not chosen:
                    victims = None
                    break
                victims = chosen
            if victims:
                return self.unprotected(hook, claimant, victims)
        return []

    def unprotected(self, hook: str, claimant: Any, victims: list[Task]) -> list[Task]:
        """Without those whom a plugin of any tier protects."""
        asked = [callback for callback in self._flat[hook] if callback.plugin.protects]
        return _agreed(asked, claimant, victims)

    def beyond_shares(self, hook: str, claimant: Any, victims: list[Task]) -> list[Task]:
        """Those whom the plugins that share the cluster among queues give up, whichever their tier."""
        asked = [callback for callback in self._flat[hook] if callback.plugin.shares_out]
        return _agreed(asked, claimant, victims)

    def union(self, hook: str, tasks: Sequence[Task]) -> list[Task]:
        for tier in self._tiers[hook]:
            chosen = {task.uid: task for callback in tier for task in callback(tasks)}
            if chosen:
                return list(chosen.values())
        return []


@lru_cache(maxsize=256)
def hooks_of(kind: type[Plugin]) -> tuple[Hook, ...]:
    """The hooks that plugins of this class answer."""
    return tuple(hook for hook in HOOKS if overrides(kind, hook.name))


def _agreed(asked: Iterable[Guarded], claimant: Any, victims: list[Task]) -> list[Task]:
    """Whom none of these plugins keeps."""
    for callback in asked:
        answer = callback(claimant, victims)
        if answer is NO_ANSWER:
            return []
        victims = victims if answer is None else _intersection(victims, answer)
    return victims


def _intersection(victims: Iterable[Task], answer: Iterable[Task]) -> list[Task]:
    given_up = {task.uid for task in answer}
    return [task for task in victims if task.uid in given_up]


NO_HOOKS = Dispatcher(())
"""Before plugins are open nobody answers."""
