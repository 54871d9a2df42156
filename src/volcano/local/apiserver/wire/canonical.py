"""Objects in the form that Kubernetes' own types write: no empty optional fields, but parts that are always there.

Also one spelling for amounts and times. Made from the facts in protobuf_table.py; kinds.py asks after each decoding.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from volcano.api.meta import JsonObject
from volcano.api.quantity import QuantityError, canonical as canonical_quantity
from volcano.local.apiserver.wire.protobuf_table import SCALARS, Field, Shape, fields_of, is_choice, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.local.apiserver.catalog.registry import ResourceInfo

_OBJECT_META = "meta.v1.ObjectMeta"
_LEFT_OUT = frozenset({"creationTimestamp"})
"""The one time that is left out when it is zero; all others are written as null."""
_NEVER_EMPTY = frozenset({"time", "microtime", "quantity", "intorstring", "duration", "raw"})
_ABSENT = object()


class _Rule(NamedTuple):
    """What to do with one field that is there."""

    drops_empty: bool
    fix: Callable[[Any], Any] | None  # changes a container in place, or returns another scalar


class Canon:
    """The form of one message."""

    def __init__(self, message: str) -> None:
        self._rules: dict[str, _Rule] = {}
        self._always: list[tuple[str, Callable[[], Any]]] = []
        self._learn(message)

    def apply(self, document: JsonObject) -> JsonObject:
        """Bring `document` into form, in place."""
        rules, empty = self._rules, None
        for name, value in document.items():
            rule = rules.get(name)
            if rule is None:
                continue
            if not value and rule.drops_empty:
                empty = [name] if empty is None else [*empty, name]
            elif rule.fix is not None and value is not None:
                document[name] = rule.fix(value)
        for name in empty or ():
            del document[name]
        for name, make in self._always:
            if name not in document:
                document[name] = make()
        return document

    def empty(self) -> JsonObject:
        """An object of which nothing has been said."""
        return self.apply({})

    def _learn(self, message: str) -> None:
        for field in fields_of(message).values():
            if field.shape is Shape.INLINE:
                self._learn(field.kind)
                continue
            self._rules[field.name] = _Rule(_drops_empty(field), _fix(field))
            default = _default(field)
            if default is not None:
                self._always.append((field.name, default))


def canon_of(resource: ResourceInfo) -> Canon | None:
    """The form of a resource's objects; None where only the schema says what they are."""
    message = None if resource.custom else message_of(resource.api_version, resource.kind)
    return None if message is None else _canon(message)


def tidy_metadata(document: JsonObject) -> None:
    """Bring the metadata of a custom object into form: that part is Kubernetes' own."""
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        _canon(_OBJECT_META).apply(metadata)


@cache
def _canon(message: str) -> Canon:
    return Canon(message)


def _is_struct(field: Field) -> bool:
    return field.shape is Shape.ONE and field.kind not in SCALARS


def _drops_empty(field: Field) -> bool:
    if field.keeps_zero:
        return False
    if field.shape is not Shape.ONE:
        return True
    return field.kind not in _NEVER_EMPTY and not _is_struct(field)


def _default(field: Field) -> Callable[[], Any] | None:
    """What stands where nothing was said, if anything does."""
    if field.name in _LEFT_OUT:
        return None
    if field.shape is Shape.ONE and not field.pointer:
        if _is_struct(field):
            message = field.kind
            return lambda: _canon(message).empty()
        if field.kind in ("time", "microtime"):
            return lambda: None
        if field.kind == "quantity":
            return lambda: "0"
    if not field.always or field.kind == "raw":
        return None
    if field.shape is not Shape.ONE or field.pointer:
        return lambda: None
    zero: Any = {"string": "", "bool": False, "int": 0, "double": 0, "intorstring": 0}.get(field.kind, _ABSENT)
    return None if zero is _ABSENT else lambda: zero


def _fix(field: Field) -> Callable[[Any], Any] | None:
    one = _scalar_fix(field.kind)
    if one is None:
        return None
    if field.shape is Shape.LIST:
        return lambda items: [one(item) for item in items] if isinstance(items, list) else items
    if field.shape is Shape.MAP:
        return lambda values: {k: one(v) for k, v in values.items()} if isinstance(values, dict) else values
    return one


def _scalar_fix(kind: str) -> Callable[[Any], Any] | None:
    if kind == "quantity":
        return _amount
    if kind in ("time", "microtime"):
        return _time if kind == "time" else _precise_time
    if kind in SCALARS:
        return None
    if is_choice(kind):
        return _choice_fix(kind)
    return lambda value: _canon(kind).apply(value) if isinstance(value, dict) else value


def _choice_fix(message: str) -> Callable[[Any], Any]:
    """Whatever stands for a choice: an object, a list of objects, or a plain value that stays as it is."""
    inner = next(field.kind for field in fields_of(message).values() if _is_struct(field))

    def fix(value: Any) -> Any:
        if isinstance(value, list):
            return [_canon(inner).apply(item) if isinstance(item, dict) else item for item in value]
        return _canon(inner).apply(value) if isinstance(value, dict) else value

    return fix


def _amount(value: Any) -> Any:
    try:
        return canonical_quantity(value)
    except QuantityError:
        return value


def _time(value: Any) -> Any:
    """RFC 3339 in UTC without fractions."""
    if not isinstance(value, str) or (len(value) == 20 and value.endswith("Z")):
        return value
    found = _moment(value)
    return value if found is None else found.strftime("%Y-%m-%dT%H:%M:%SZ")


def _precise_time(value: Any) -> Any:
    found = None if not isinstance(value, str) or (len(value) == 27 and value.endswith("Z")) else _moment(value)
    return value if found is None else found.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else found.astimezone(UTC)
