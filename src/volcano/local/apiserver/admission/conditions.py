"""matchConditions: expressions in CEL that must all hold for a webhook to be asked. Needs the extra `volcano[cel]`.

`webhooks` asks at each write; the strategy of webhook configurations refuses what cannot be evaluated.
"""

from __future__ import annotations

import importlib
import json
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from volcano.local.apiserver.faults import Cause

VARIABLES: Final = ("object", "oldObject", "request")
_ENGINE: Final = ("cel", "ext.ext_optional", "ext.ext_strings")
_RESULTS: Final = ("BOOL", "DYN")


class NoEngine(Exception):
    """The extra that evaluates expressions is not installed."""

    def __init__(self) -> None:
        super().__init__("this server evaluates CEL expressions only with the extra: pip install 'volcano[cel]'")


class ConditionError(Exception):
    """An expression that cannot be compiled, or has no answer for an object; the message says why."""


def hold(conditions: Sequence[JsonObject], values: Mapping[str, Any]) -> bool:
    """Whether all conditions are true. One that is false decides, also where others fail; else failures are raised."""
    failure: ConditionError | None = None
    for condition in conditions:
        try:
            if not _evaluated(condition["expression"], values):
                return False
        except ConditionError as error:
            failure = failure or ConditionError(f"match condition {condition.get('name', '')!r}: {error}")
    if failure is not None:
        raise failure
    return True


def faults(field: str, conditions: Sequence[JsonObject]) -> list[Cause]:
    """What is wrong with the conditions at `field` of an object."""
    causes: list[Cause] = []
    for index, condition in enumerate(conditions):
        expression = condition.get("expression") or ""
        try:
            _compiled(expression)
        except NoEngine as error:
            return [status.cause(field, f"Forbidden: {error}", "FieldValueForbidden")]
        except ConditionError as error:
            causes.append(
                status.cause(f"{field}[{index}].expression", f"Invalid value: {json.dumps(expression)}: {error}")
            )
    return causes


def _evaluated(expression: str, values: Mapping[str, Any]) -> bool:
    try:
        found = _compiled(expression).eval(data=dict(values)).value()
    except RuntimeError as problem:  # the engine has no error class of its own
        raise ConditionError(f"{expression!r}: {problem}") from problem
    if not isinstance(found, bool):
        raise ConditionError(f"{expression!r} is neither true nor false here: {found}")
    return found


@cache
def engine() -> Any:
    """What compiles expressions, loaded when the first one comes: it takes 20 MB, and most clusters have none."""
    try:
        cel, optional, strings = (importlib.import_module(f"cel_expr_python.{name}") for name in _ENGINE)
    except ImportError:
        raise NoEngine from None
    variables = dict.fromkeys(VARIABLES, cel.Type.DYN)
    return cel.NewEnv(variables=variables, extensions=[optional.ExtOptional(), strings.ExtStrings()])


def _compiled(expression: str) -> Any:
    return _program(engine(), expression)


@lru_cache(maxsize=256)
def _program(environment: Any, expression: str) -> Any:
    try:
        compiled = environment.compile(expression)
    except RuntimeError as problem:
        first_line = str(problem).partition("\n")[0].removeprefix("INVALID_ARGUMENT: ")
        raise ConditionError(f"compilation failed: {first_line}") from problem
    result = compiled.return_type().name()
    if result not in _RESULTS:
        raise ConditionError(f"must evaluate to bool, not {result.lower()}")
    return compiled
