"""Where a pod may go: affinity, spread constraints, tolerations, scheduling gates of a pod template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from volcano.webhooks.rules import names
from volcano.webhooks.rules.documents import mapping, mappings, number, strings, text
from volcano.webhooks.rules.fields import duplicate, forbidden, invalid, required, unsupported

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.webhooks.rules.model import Cause

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
TAINT_EFFECTS: Final = ("NoExecute", "NoSchedule", "PreferNoSchedule")
TOLERATION_OPERATORS: Final = ("Equal", "Exists")
UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")


def affinity_errors(affinity: JsonObject, path: str) -> Iterator[Cause]:
    node = mapping(affinity, "nodeAffinity")
    if REQUIRED in node:
        terms = mappings(mapping(node, REQUIRED), "nodeSelectorTerms")
        where = f"{path}.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
        if not terms:
            yield required(where, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _expression_errors(term, f"{where}[{index}]")
    for index, preference in enumerate(mappings(node, PREFERRED)):
        where = f"{path}.nodeAffinity.{PREFERRED}[{index}]"
        yield from _weight_errors(preference, where)
        yield from _expression_errors(mapping(preference, "preference"), f"{where}.preference")
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity_errors(mapping(affinity, kind), f"{path}.{kind}")


def _pod_affinity_errors(affinity: JsonObject, path: str) -> Iterator[Cause]:
    for index, term in enumerate(mappings(affinity, REQUIRED)):
        yield from _topology_key_errors(term, f"{path}.{REQUIRED}[{index}]")
    for index, weighted in enumerate(mappings(affinity, PREFERRED)):
        where = f"{path}.{PREFERRED}[{index}]"
        yield from _weight_errors(weighted, where)
        yield from _topology_key_errors(mapping(weighted, "podAffinityTerm"), f"{where}.podAffinityTerm")


def _topology_key_errors(term: JsonObject, path: str) -> Iterator[Cause]:
    key = text(term, "topologyKey")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
        return
    for error in names.qualified_name(key):
        yield invalid(f"{path}.topologyKey", key, error)


def _weight_errors(term: JsonObject, path: str) -> Iterator[Cause]:
    weight = number(term, "weight") or 0
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _expression_errors(term: JsonObject, path: str) -> Iterator[Cause]:
    for index, expression in enumerate(mappings(term, "matchExpressions")):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = text(expression, "operator"), strings(expression, "values")
        match operator:
            case "In" | "NotIn":
                if not values:
                    yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
            case "Exists" | "DoesNotExist":
                if values:
                    yield forbidden(
                        f"{where}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                    )
            case "Gt" | "Lt":
                if len(values) != 1:
                    yield required(f"{where}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
            case _:
                yield invalid(f"{where}.operator", operator, "not a valid selector operator")
        for error in names.qualified_name(text(expression, "key")):
            yield invalid(f"{where}.key", text(expression, "key"), error)


def gate_errors(gates: Sequence[JsonObject], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = text(gate, "name")
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
        for error in names.qualified_name(name):
            yield invalid(f"{path}[{index}]", name, error)


def spread_errors(constraints: Sequence[JsonObject], path: str) -> Iterator[Cause]:
    for index, constraint in enumerate(constraints):
        where = f"{path}[{index}]"
        skew = number(constraint, "maxSkew") or 0
        if skew <= 0:
            yield invalid(f"{where}.maxSkew", skew, "must be greater than zero")
        yield from _topology_key_errors(constraint, where)
        action = text(constraint, "whenUnsatisfiable")
        if action not in UNSATISFIABLE:
            yield unsupported(f"{where}.whenUnsatisfiable", action, UNSATISFIABLE)


def toleration_errors(tolerations: Sequence[JsonObject], path: str) -> Iterator[Cause]:
    for index, toleration in enumerate(tolerations):
        yield from _toleration_errors(toleration, f"{path}[{index}]")


def _toleration_errors(toleration: JsonObject, path: str) -> Iterator[Cause]:
    key, value = text(toleration, "key"), text(toleration, "value")
    operator, effect = text(toleration, "operator"), text(toleration, "effect")
    if key:
        for error in names.qualified_name(key):
            yield invalid(f"{path}.key", key, error)
    elif operator != "Exists":
        yield invalid(
            f"{path}.operator",
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("", "Equal"):
        for error in names.label_value(value):
            yield invalid(f"{path}.operator", value, error)
    elif operator == "Exists" and value:
        yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator != "Exists":
        yield unsupported(f"{path}.operator", operator, TOLERATION_OPERATORS)
    if effect and effect not in TAINT_EFFECTS:
        yield unsupported(f"{path}.effect", effect, TAINT_EFFECTS)
