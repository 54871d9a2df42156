"""When a plugin raises, it is named, its answer is replaced by one that does no harm, and the cycle goes on.

No harm means: the job, queue or node in question is passed over in this cycle. dispatch.py calls plugins through here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from volcano.scheduler.framework.hooks import Fold, Hook
from volcano.scheduler.framework.plugin import Plugin, ScoreTerm
from volcano.scheduler.framework.reasons import Reason, Stage

Report = Callable[[str], None]

NO_ANSWER: Final = object()
"""Stands for the answer of a plugin that failed, where the fold itself must know (victims)."""


class _Indifferent:
    """A sort key that is equal to every other: the plugins after this one decide."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


INDIFFERENT: Final = _Indifferent()


class Guarded:
    """A hook of one plugin. Calls pass through; failures are reported and answered for."""

    __slots__ = ("_ask", "broken", "hook", "plugin", "report")

    def __init__(self, plugin: Plugin, hook: Hook, report: Report, *, broken: bool = False) -> None:
        self.plugin = plugin
        self.hook = hook
        self._ask: Callable[..., Any] = self._refuse if broken else getattr(plugin, hook.name)
        self.report = report
        self.broken = broken

    def _refuse(self, *_subjects: Any) -> Any:
        return harmless(self.hook, self.plugin, "it failed to open")

    def __call__(self, *subjects: Any) -> Any:
        try:
            return self._ask(*subjects)
        except Exception as problem:  # noqa: BLE001 - a plugin may raise anything; it is named and passed over
            text = describe(self.plugin, self.hook.name, subjects, problem)
            self.report(text)
            return harmless(self.hook, self.plugin, text)


def describe(plugin: Plugin, what: str, subjects: tuple[Any, ...], problem: Exception) -> str:
    about = next((_name(subject) for subject in subjects if _name(subject)), "")
    return f"plugin {plugin.name!r}: {what}{about and f' for {about}'} failed: {type(problem).__name__}: {problem}"


def harmless(hook: Hook, plugin: Plugin, text: str) -> Any:
    """The answer in place of a plugin that failed."""
    match hook.fold:
        case Fold.ORDER:
            return 0 if hook.name.endswith("_compare") else INDIFFERENT
        case Fold.ALL | Fold.FIRST_TIER_ALL:
            return False
        case Fold.ANY:
            return True
        case Fold.VOTE | Fold.FIRST_FAILURE:
            return failure(plugin, text)
        case Fold.VICTIMS:
            return NO_ANSWER
        case Fold.LARGEST:
            return 1
        case Fold.SMALLEST:
            return 0
        case Fold.UNION:
            return ()
        case Fold.FIRST_RESULT:
            return () if hook.name == "hypernode_gradients" else None
    answer = _HARMLESS.get(hook.name)
    return None if answer is None else answer(plugin, text)


def failure(plugin: Plugin, text: str) -> Reason:
    return Reason(Stage.PLUGIN, "PluginFailed", blocker=plugin.name, message=text)


_HARMLESS: Final[dict[str, Callable[[Plugin, str], Any]]] = {
    "allocated": failure,
    "bind_annotations": lambda _plugin, _text: {},
    "bind_claims": lambda _plugin, _text: (),
    "filter": failure,
    "hypernode_order": lambda _plugin, _text: {},
    "score_terms": lambda _plugin, _text: (),
}


def guarded_term(plugin: Plugin, term: ScoreTerm, report: Report) -> ScoreTerm:
    """A score term that counts nothing where it fails."""

    def raw(profile: Any, rows: Any) -> Any:
        try:
            return term.raw(profile, rows)
        except Exception as problem:  # noqa: BLE001 - as above
            report(describe(plugin, "a score", (profile,), problem))
            return np.zeros(len(rows))

    def normalize(column: Any, feasible: Any) -> Any:
        assert term.normalize is not None, "only terms with a normalisation get here"
        try:
            return term.normalize(column, feasible)
        except Exception as problem:  # noqa: BLE001 - as above
            report(describe(plugin, "a score's normalisation", (), problem))
            return np.zeros(len(column))

    return ScoreTerm(raw, normalize if term.normalize is not None else None, term.weight, term.own_rows, term.settled)


def _name(subject: Any) -> str:
    for attribute in ("key", "name"):
        name = getattr(subject, attribute, "")
        if isinstance(name, str) and name:
            return f"{type(subject).__name__.lower()} {name}"
    return ""
