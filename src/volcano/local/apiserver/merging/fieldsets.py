"""Sets of fields as server-side apply keeps them (FieldsV1), and how to find them in objects.

A set is the JSON form itself: nested dicts by path element ("f:spec", 'k:{"name":"a"}', "v:1"); an empty dict is a
field in the set, "." marks a parent that is in it too. apply.py decides who owns which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.merging.shapes import Shape

FieldSet = dict[str, Any]

_SELF = "."
_LEAF: FieldSet = {}
"""Shared by all sets for speed: sets are values, nobody changes one in place."""


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields in either set."""
    result = dict(left)
    for key, node in right.items():
        result[key] = _join(result[key], node) if key in result else node
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields of `left` that are not in `right`."""
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            result[key] = node
        elif key != _SELF:
            _put(result, key, is_member(node) and not is_member(other), difference(_below(node), _below(other)))
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields in both sets."""
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is not None and key != _SELF:
            _put(result, key, is_member(node) and is_member(other), intersection(_below(node), _below(other)))
    return result


def without(fields: FieldSet, removed: FieldSet) -> FieldSet:
    """`fields` less everything at or below a field of `removed`: values that are gone have no owner."""
    result: FieldSet = {}
    for key, node in fields.items():
        gone = removed.get(key)
        if gone is None:
            result[key] = node
        elif not is_member(gone):
            _put(result, key, is_member(node), without(_below(node), _below(gone)))
    return result


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The fields of a set as people read them: .spec.containers[name="a"].image"""
    for key, node in fields.items():
        path = prefix + _path_element(key)
        if is_member(node):
            yield path
        yield from paths(_below(node), path)


def fields_of(value: Any, shape: Shape) -> FieldSet:
    """The fields that an applied object sets."""
    result: FieldSet = {}
    if isinstance(value, dict):
        for name, item in value.items():
            below = _fields_of_value(item, shape.field(name))
            if below is not None:
                result["f:" + name] = below if not below or shape.names(name) else {_SELF: {}, **below}
    elif isinstance(value, list):
        for element, items in grouped(value, shape).items():
            below = _fields_of_value(items[0], shape.items) if len(items) == 1 else {}
            result[element] = {_SELF: {}, **below} if below else {}
    return result


def everything_in(value: Any, shape: Shape) -> FieldSet:
    """A value that is new as a whole: its fields and all that contains them. Empty when it is one field."""
    if not value or shape.leaf:
        return _LEAF
    result: FieldSet = {_SELF: _LEAF}
    if isinstance(value, dict):
        members = shape.members
        for name, item in value.items():
            key, inner = members.get(name) or shape.member(name)
            result[key] = _LEAF if not item or inner.leaf else everything_in(item, inner)
    elif isinstance(value, list) and shape.list_type != "atomic":
        for element, items in grouped(value, shape).items():
            result[element] = everything_in(items[0], shape.items) if len(items) == 1 else _LEAF
    else:
        return _LEAF
    return result


def compare(old: Any, new: Any, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """The fields that `new` sets or changes against `old`, and those that it lacks."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    if isinstance(new, dict):
        for name, item in new.items():
            if name not in old:
                changed["f:" + name] = everything_in(item, shape.field(name))
            elif old[name] != item:
                _differ("f:" + name, old[name], item, shape.field(name), changed, removed)
        removed.update(("f:" + name, _LEAF) for name in old if name not in new)
        return changed, removed
    before, after = grouped(old, shape), grouped(new, shape)
    for element, items in after.items():
        previous = before.get(element)
        if previous is None:
            changed[element] = everything_in(items[0], shape.items) if len(items) == 1 else _LEAF
        elif len(items) == len(previous) == 1:
            if items != previous:
                _differ(element, previous[0], items[0], shape.items, changed, removed)
        elif items != previous:
            changed[element] = everything_in(items[0], shape.items) if len(items) == 1 else _LEAF
    removed.update((element, _LEAF) for element in before if element not in after)
    return changed, removed


def _differ(key: str, old: Any, new: Any, shape: Shape, changed: FieldSet, removed: FieldSet) -> None:
    """Add to both sets what two unequal values of one field have against each other."""
    if not is_granular(new, shape) or not is_granular(old, shape) or type(old) is not type(new):
        old_is_nothing = old is None and is_granular(new, shape)
        if old_is_nothing and new:
            below = everything_in(new, shape)
            below.pop(_SELF, None)
            changed[key] = below
        else:
            changed[key] = {}
        return
    more, less = compare(old, new, shape)
    if more:
        changed[key] = more
    if less:
        removed[key] = less


def grouped(items: list[Any], shape: Shape) -> dict[str, list[Any]]:
    """The items of a list that is a map or a set, by path element. Several share one where a list repeats itself."""
    groups: dict[str, list[Any]] = {}
    for element, item in elements(items, shape):
        if element in groups:
            groups[element].append(item)
        else:
            groups[element] = [item]
    return groups


def elements(items: list[Any], shape: Shape) -> list[tuple[str, Any]]:
    """The items of a list that is a map or a set, each with its path element."""
    if shape.list_type == "set":
        return [("v:" + msgspec.json.encode(item).decode(), item) for item in items]
    return [(element_of(item, shape), item) for item in items]


def element_of(item: Any, shape: Shape) -> str:
    """The path element of one item of a list with keys."""
    values = {key: key_value(item, key, shape) for key in sorted(shape.keys)}
    return "k:" + msgspec.json.encode({key: value for key, value in values.items() if value is not None}).decode()


def key_value(item: Any, key: str, shape: Shape) -> Any:
    """The value of one of an item's identifying keys, its default where it is left out."""
    value = item.get(key) if isinstance(item, dict) else None
    return shape.key_defaults.get(key) if value is None else value


def is_granular(value: Any, shape: Shape) -> bool:
    """Whether parts of `value` can have different owners."""
    if isinstance(value, dict):
        return not shape.whole
    return isinstance(value, list) and shape.list_type != "atomic"


def _fields_of_value(value: Any, shape: Shape) -> FieldSet | None:
    """What lies below a value; empty when the value is one field, None when it is a list that has none."""
    if not is_granular(value, shape):
        return {}
    return None if value == [] else fields_of(value, shape)


def is_member(node: FieldSet) -> bool:
    return not node or _SELF in node


def _below(node: FieldSet) -> FieldSet:
    return {key: value for key, value in node.items() if key != _SELF} if _SELF in node else node


def _join(left: FieldSet, right: FieldSet) -> FieldSet:
    below = union(_below(left), _below(right))
    return {_SELF: {}, **below} if below and (is_member(left) or is_member(right)) else below


def _put(result: FieldSet, key: str, member: bool, below: FieldSet) -> None:
    if member:
        result[key] = {_SELF: {}, **below} if below else {}
    elif below:
        result[key] = below


def _path_element(key: str) -> str:
    form, text = key[:2], key[2:]
    if form == "f:":
        return "." + text
    if form == "k:":
        pairs = msgspec.json.decode(text).items()
        return "[" + ",".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in pairs) + "]"
    return f"[={text}]" if form == "v:" else f"[{text}]"
