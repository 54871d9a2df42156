"""Which objects a list, watch or deletecollection is about: namespace, label selector, field selector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.events import from_core
from volcano.local.apiserver.selectors import parse_field_selector, parse_label_selector, supported_fields

if TYPE_CHECKING:
    from volcano.http.message import Request
    from volcano.local.apiserver.registry import ResourceInfo
    from volcano.local.apiserver.selectors import FieldSelector, LabelSelector
    from volcano.local.apiserver.store import Entry

JsonObject = dict[str, Any]

_NO_LABELS: dict[str, str] = {}


class Selection:
    """A predicate over entries, plus the key prefix that narrows a scan."""

    def __init__(self, resource: ResourceInfo, namespace: str | None, request: Request) -> None:
        self.prefix = f"{namespace}/" if namespace and resource.namespaced else ""
        labels, fields = request.param("labelSelector"), request.param("fieldSelector")
        self._labels: LabelSelector | None = None
        self._fields: FieldSelector | None = None
        if labels:
            self._labels = parse_label_selector(labels)
        if fields:
            selectable = [item["jsonPath"] for item in resource.definition.get("selectableFields") or ()]
            known = supported_fields(resource.group, resource.plural, selectable)
            self._fields = parse_field_selector(fields, known)
        self._translated = resource.group == "events.k8s.io"
        self._trim = _scalar_fields if not resource.custom else _whole
        if not self.prefix and self._fields is not None and resource.namespaced:
            pinned = self._fields.exact("metadata.namespace")
            self.prefix = f"{pinned}/" if pinned else ""

    @property
    def everything(self) -> bool:
        """Nothing within the prefix is left out."""
        return self._labels is None and self._fields is None

    @property
    def name(self) -> str | None:
        """The one name that can match, if the field selector pins it."""
        return self._fields.exact("metadata.name") if self._fields else None

    def __call__(self, entry: Entry) -> bool:
        if self._labels is not None and not self._labels.matches(entry.labels or _NO_LABELS):
            return False
        if self._fields is None:
            return True
        if self._translated:
            return self._fields.matches(from_core(entry.document()))
        return self._fields.matches(entry.view(self._trim))


_BULKY = frozenset({"data", "binaryData", "stringData"})


def _scalar_fields(document: JsonObject) -> JsonObject:
    """`document` without what no field selector can look at: what is kept per object must be small."""
    return {
        key: _scalars(value) if isinstance(value, dict) else value
        for key, value in document.items()
        if key not in _BULKY
    }


def _scalars(section: JsonObject) -> JsonObject:
    return {key: value for key, value in section.items() if isinstance(value, (str, int))}


def _whole(document: JsonObject) -> JsonObject:
    return document


def selector_matches(selector: JsonObject | None, labels: dict[str, str]) -> bool:
    """A LabelSelector document (matchLabels, matchExpressions) against labels; none matches nothing, empty all."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_expression_holds(item, labels) for item in selector.get("matchExpressions") or ())


def _expression_holds(expression: JsonObject, labels: dict[str, str]) -> bool:
    key, operator, values = expression.get("key", ""), expression.get("operator"), expression.get("values") or ()
    if operator == "In":
        return labels.get(key) in values
    if operator == "NotIn":
        return labels.get(key) not in values
    return (key in labels) == (operator == "Exists")
