"""Sets of fields as server-side apply keeps them (FieldsV1), and how to find them in objects.

A set is the JSON form itself: nested dicts by path element ("f:spec", 'k:{"name":"a"}', "v:1"); an empty dict is a
field in the set, "." marks a parent that is in it too. apply.py decides who owns which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.shapes import Shape

FieldSet = dict[str, Any]

_SELF = "."


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
            _put(result, key, _is_member(node) and not _is_member(other), difference(_below(node), _below(other)))
    return result


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Fields in both sets."""
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is not None and key != _SELF:
            _put(result, key, _is_member(node) and _is_member(other), intersection(_below(node), _below(other)))
    return result


def without(fields: FieldSet, removed: FieldSet) -> FieldSet:
    """`fields` less everything at or below a field of `removed`: values that are gone have no owner."""
    result: FieldSet = {}
    for key, node in fields.items():
        gone = removed.get(key)
        if gone is None:
            result[key] = node
        elif not _is_member(gone):
            _put(result, key, bool(node) and _SELF in node, without(_below(node), _below(gone)))
    return result


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """The fields of a set as people read them: .spec.containers[name="a"].image"""
    for key, node in fields.items():
        path = prefix + _path_element(key)
        if _is_member(node):
            yield path
        yield from paths(_below(node), path)


def fields_of(value: Any, shape: Shape) -> FieldSet:
    """The fields that an applied object sets."""
    result: FieldSet = {}
    if isinstance(value, dict):
        for name, item in value.items():
            result["f:" + name] = _fields_of_value(item, shape.field(name))
    elif isinstance(value, list):
        for element, item in elements(value, shape):
            below = _fields_of_value(item, shape.items)
            result[element] = {_SELF: {}, **below} if below else {}
    return result


def compare(old: Any, new: Any, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """The fields that `new` sets or changes against `old`, and those that it lacks."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    before, after = _members(old, shape), _members(new, shape)
    for key, (item, inner) in after.items():
        if key not in before:
            _put(changed, key, True, _fields_of_value(item, inner))
            continue
        previous = before[key][0]
        if previous is item or previous == item:
            continue
        if not (is_granular(previous, inner) and is_granular(item, inner) and type(previous) is type(item)):
            changed[key] = {}
            continue
        more, less = compare(previous, item, inner)
        _put(changed, key, False, more)
        _put(removed, key, False, less)
    for key in before.keys() - after.keys():
        removed[key] = {}
    return changed, removed


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


def _fields_of_value(value: Any, shape: Shape) -> FieldSet:
    """What lies below a value; empty when the value is one field."""
    return fields_of(value, shape) if is_granular(value, shape) else {}


def _members(value: Any, shape: Shape) -> dict[str, tuple[Any, Shape]]:
    if isinstance(value, dict):
        return {"f:" + name: (item, shape.field(name)) for name, item in value.items()}
    return {element: (item, shape.items) for element, item in elements(value, shape)}


def _is_member(node: FieldSet) -> bool:
    return not node or _SELF in node


def _below(node: FieldSet) -> FieldSet:
    return {key: value for key, value in node.items() if key != _SELF} if _SELF in node else node


def _join(left: FieldSet, right: FieldSet) -> FieldSet:
    below = union(_below(left), _below(right))
    return {_SELF: {}, **below} if below and (_is_member(left) or _is_member(right)) else below


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
