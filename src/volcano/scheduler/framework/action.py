"""The base of all actions: one step of a cycle, run in the order of the conf file on the same session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from volcano.scheduler.framework.plugin import NoArguments

if TYPE_CHECKING:
    from volcano.scheduler.framework.session import Session


class PlacingArguments(msgspec.Struct, frozen=True):
    """What every action that looks for nodes may be told."""

    predicate_error_cache_enable: bool = msgspec.field(default=True, name="predicateErrorCacheEnable")
    """Accepted for compatibility: nodes are filtered once for all pods that are alike, whatever it says."""


class Action:
    name: ClassVar[str] = ""
    Arguments: ClassVar[type[Any]] = NoArguments

    def __init__(self, arguments: Any = None) -> None:
        self.arguments: Any = arguments if arguments is not None else self.Arguments()

    def execute(self, session: Session) -> None:
        raise NotImplementedError
