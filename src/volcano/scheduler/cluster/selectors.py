"""Label selectors on plain label maps: does this selector choose these labels?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.api.meta import LabelSelector


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """An empty selector chooses everything, none at all nothing; an unknown operator chooses nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    return all(requires(term.key, term.operator, term.values, labels) for term in selector.match_expressions)


def requires(key: str, operator: str, values: list[str], labels: Mapping[str, str]) -> bool:
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
