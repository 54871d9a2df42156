"""Which objects a list, watch or deletecollection is about: namespace, label selector, field selector."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver.strategies.events import from_core
from volcano.local.apiserver.verbs.selectors import (
    field_getter,
    parse_field_selector,
    parse_label_selector,
    supported_fields,
)

if TYPE_CHECKING:
    from volcano.http.message import Request
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.verbs.selectors import FieldSelector

_NO_LABELS: dict[str, str] = {}


class Selection:
    """A predicate over entries, plus the key prefix that narrows a scan."""

    def __init__(self, resource: ResourceInfo, namespace: str | None, request: Request) -> None:
        self.prefix = f"{namespace}/" if namespace and resource.namespaced else ""
        labels, fields = request.param("labelSelector"), request.param("fieldSelector")
        self._labels = parse_label_selector(labels) if labels else None
        self._fields: FieldSelector | None = None
        self._values: list[tuple[int, bool, str]] = []
        if fields:
            self._select_fields(resource, fields)

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
        if not self._values:
            return True
        values = entry.view(self._reader)
        return all((values[index] == value) is equal for index, equal, value in self._values)

    def _select_fields(self, resource: ResourceInfo, text: str) -> None:
        self._reader = _reader(resource)
        paths = self._reader.paths
        self._fields = parse_field_selector(text, paths)
        self._values = [(paths.index(item.path), item.equal, item.value) for item in self._fields.requirements]
        pinned = self._fields.exact("metadata.namespace")
        if pinned and not self.prefix and resource.namespaced:
            self.prefix = f"{pinned}/"


class FieldReader:
    """Reads all fields of a resource that selectors can name, as a tuple of texts in the order of `paths`."""

    def __init__(self, resource: ResourceInfo) -> None:
        selectable = [item["jsonPath"] for item in resource.definition.get("selectableFields") or ()]
        self.paths = tuple(sorted(supported_fields(resource.group, resource.plural, selectable)))
        self._getters = [field_getter(path) for path in self.paths]
        self._translated = resource.group == "events.k8s.io"

    def __call__(self, document: JsonObject) -> tuple[str, ...]:
        if self._translated:
            document = from_core(document)
        return tuple(intern(get(document)) for get in self._getters)


@lru_cache(maxsize=512)
def _reader(resource: ResourceInfo) -> FieldReader:
    return FieldReader(resource)


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
