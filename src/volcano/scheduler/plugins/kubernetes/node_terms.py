"""Node selectors and node affinity, evaluated on whole label columns: one answer per row of the node table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.nodes import Column, Mask, NodeTable

if TYPE_CHECKING:
    from volcano.api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod

NAME_FIELD = "metadata.name"


def required(nodes: NodeTable, pod: Pod) -> Mask | None:
    """Nodes that the pod's nodeSelector and required node affinity allow; None if it has neither."""
    allowed: Mask | None = None
    for key, value in pod.spec.node_selector.items():
        has = nodes.labels.column(key) == nodes.labels.code(key, value)
        allowed = has if allowed is None else allowed & has
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    selector = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    if selector is not None:
        chosen = selects(nodes, selector)
        allowed = chosen if allowed is None else allowed & chosen
    return allowed


def preferred(nodes: NodeTable, pod: Pod) -> Column | None:
    """The sum of the weights of the preferred terms that each node meets; None if the pod prefers nothing."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else []
    if not terms:
        return None
    total = np.zeros(nodes.capacity, dtype=np.int64)
    for term in terms:
        preference = term.preference
        if term.weight and (preference.match_expressions or preference.match_fields):
            total += term.weight * meets(nodes, preference)
    return total


def selects(nodes: NodeTable, selector: NodeSelector) -> Mask:
    """Nodes that meet any term; a term without requirements chooses nothing."""
    chosen = np.zeros(nodes.capacity, dtype=np.bool_)
    for term in selector.node_selector_terms:
        if term.match_expressions or term.match_fields:
            chosen |= meets(nodes, term)
    return chosen


def meets(nodes: NodeTable, term: NodeSelectorTerm) -> Mask:
    met = np.ones(nodes.capacity, dtype=np.bool_)
    for requirement in term.match_expressions:
        met &= _expression(nodes, requirement)
    for requirement in term.match_fields:
        met &= _field(nodes, requirement)
    return met


def _expression(nodes: NodeTable, requirement: NodeSelectorRequirement) -> Mask:
    labels, key = nodes.labels, requirement.key
    column = labels.column(key)
    match requirement.operator:
        case "In":
            return _is_any(column, [labels.code(key, value) for value in requirement.values])
        case "NotIn":
            return ~_is_any(column, [labels.code(key, value) for value in requirement.values])
        case "Exists":
            return column >= 0
        case "DoesNotExist":
            return column < 0
        case "Gt" | "Lt":
            return _compares(nodes, requirement, column)
    return np.zeros(nodes.capacity, dtype=np.bool_)


def _compares(nodes: NodeTable, requirement: NodeSelectorRequirement, column: NDArray[np.int32]) -> Mask:
    """Both sides are numbers, and one is larger; anything that is no number meets nothing."""
    limit = as_integer(requirement.values[0]) if len(requirement.values) == 1 else None
    meets_by_code = np.zeros(len(nodes.labels.values(requirement.key)) + 1, dtype=np.bool_)
    if limit is not None:
        for code, text in enumerate(nodes.labels.values(requirement.key)):
            number = as_integer(text)
            if number is not None:
                meets_by_code[code] = number > limit if requirement.operator == "Gt" else number < limit
    found: Mask = meets_by_code[column]  # -1, the absent label, is the last place: False
    return found


def _field(nodes: NodeTable, requirement: NodeSelectorRequirement) -> Mask:
    named = np.zeros(nodes.capacity, dtype=np.bool_)
    if requirement.key != NAME_FIELD or len(requirement.values) != 1 or requirement.operator not in ("In", "NotIn"):
        return named
    row = nodes.row_of.get(requirement.values[0])
    if row is not None:
        named[row] = True
    return named if requirement.operator == "In" else ~named


def _is_any(column: NDArray[np.int32], codes: list[int]) -> Mask:
    if len(codes) == 1:
        return np.asarray(column == codes[0])
    return np.isin(column, codes)


def as_integer(text: str) -> int | None:
    """A 64-bit number as Kubernetes reads it."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not digits.isascii() or not digits.isdigit():
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None
