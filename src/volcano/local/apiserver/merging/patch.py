"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386), with Kubernetes' errors.

Neighbours: strategic.py and apply.py are the other two kinds of PATCH; the HTTP layer picks one by media type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver.faults import BadRequest, PatchError, Unprocessable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_OPERATIONS", "json_patch", "merge_patch"]

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024


def merge_patch(document: Any, patch: Any) -> Any:
    """`document` with `patch` merged in; null removes. Shares unchanged parts with `document`."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def json_patch(document: Any, operations: Any) -> Any:
    """`document` after all `operations`, or an error and no change at all."""
    if not isinstance(operations, list):
        raise BadRequest(
            "error decoding patch: a JSON patch is a list of operations, e.g. "
            '[{"op": "add", "path": "/metadata/labels/a", "value": "b"}]'
        )
    if len(operations) > MAX_OPERATIONS:
        most = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise PatchError(413, "RequestEntityTooLarge", f"Request entity too large: {most}")
    for index, operation in enumerate(operations):
        if not isinstance(operation, dict):
            raise BadRequest(f"error decoding patch: operation {index} is not an object")
    result, copied = _copy(document), 0
    try:
        for index, operation in enumerate(operations):
            if operation.get("op") == "copy":
                copied += _copied_bytes(result, operation)
                if copied > MAX_COPIED_BYTES:
                    raise _DoesNotApply(
                        f"operation {index}: what was copied so far is larger than {MAX_COPIED_BYTES} bytes"
                    )
            result = _perform(result, operation, index)
    except (_DoesNotApply, RecursionError) as error:
        raise Unprocessable(_REJECTED, [{"reason": "FieldValueInvalid", "message": str(error)}]) from None
    return result


_REJECTED = "the server rejected our request due to an error in our request"
"""All that Kubernetes says about a JSON patch that does not apply; the cause says more."""


class _DoesNotApply(Exception):
    """An operation that this document does not allow; the message says which and why."""


def _perform(document: Any, operation: dict[str, Any], index: int) -> Any:
    name = operation.get("op")
    perform = _OPERATIONS.get(name) if isinstance(name, str) else None
    if perform is None:
        known = ", ".join(sorted(_OPERATIONS))
        raise _DoesNotApply(f"operation {index}: unknown op {name!r}: one of {known}")
    return perform(document, operation, _pointer(operation, "path", index))


def _pointer(operation: dict[str, Any], member: str, index: int | str = "") -> list[str]:
    """The steps of a path. What stands before its first slash is not looked at, as in Kubernetes."""
    text = operation.get(member)
    if not isinstance(text, str):
        raise _DoesNotApply(f"operation {index} ({operation.get('op')}) has no {member!r}")
    if text == "":
        return []
    if "/" not in text:
        raise _DoesNotApply(f"operation {index}: {member} {text!r} must be empty or start with '/'")
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _value(operation: dict[str, Any]) -> Any:
    return _copy(operation.get("value"))


def _add(document: Any, operation: dict[str, Any], path: list[str]) -> Any:
    return _insert(document, path, _value(operation), operation)


def _remove(document: Any, operation: dict[str, Any], path: list[str]) -> Any:
    return _take(document, path, operation)[0]


def _replace(document: Any, operation: dict[str, Any], path: list[str]) -> Any:
    if not path:
        return _value(operation)
    parent = _walk(document, path[:-1], operation)
    place = path[-1] if isinstance(parent, dict) else _existing(parent, path[-1], operation)
    parent[place] = _value(operation)
    return document


def _move(document: Any, operation: dict[str, Any], path: list[str]) -> Any:
    source = _pointer(operation, "from")
    if path[: len(source)] == source and len(path) > len(source):
        raise _DoesNotApply(f"move: {operation['from']!r} cannot be moved into itself at {operation['path']!r}")
    document, value = _take(document, source, operation)
    return _insert(document, path, value, operation)


def _copy_value(document: Any, operation: dict[str, Any], path: list[str]) -> Any:
    source = _pointer(operation, "from")
    parent = _walk(document, source[:-1], operation) if source else document
    if isinstance(parent, dict) and source:
        value = parent.get(source[-1])  # of what is not there, a copy is null
    else:
        value = _walk(document, source, operation)
    return _insert(document, path, _copy(value), operation)


def _test(document: Any, operation: dict[str, Any], path: list[str]) -> Any:
    expected = operation.get("value")
    try:
        found = _walk(document, path, operation)
    except _DoesNotApply:
        found = None
    if not _same(found, expected):
        raise _DoesNotApply(
            f"testing path {operation['path']} failed: the value there is {_short(found)}, "
            f"the patch expects {_short(expected)}"
        )
    return document


_OPERATIONS: dict[str, Callable[[Any, dict[str, Any], list[str]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy_value,
    "test": _test,
}


def _copied_bytes(document: Any, operation: dict[str, Any]) -> int:
    """How much a copy will add; nothing if it does not apply, which is told when it is performed."""
    try:
        _pointer(operation, "path")
        return len(msgspec.json.encode(_walk(document, _pointer(operation, "from"), operation)))
    except _DoesNotApply:
        return 0


def _insert(document: Any, path: list[str], value: Any, operation: dict[str, Any]) -> Any:
    if not path:
        return value
    parent = _walk(document, path[:-1], operation)
    last = path[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif last == "-":
        parent.append(value)
    else:
        parent.insert(_index(last, len(parent), operation), value)
    return document


def _take(document: Any, path: list[str], operation: dict[str, Any]) -> tuple[Any, Any]:
    if not path:
        return None, document
    parent = _walk(document, path[:-1], operation)
    return document, parent.pop(_existing(parent, path[-1], operation))


def _walk(document: Any, path: list[str], operation: dict[str, Any]) -> Any:
    for token in path:
        document = document[_existing(document, token, operation)]
    if not isinstance(document, (dict, list)) and operation["op"] not in ("test", "copy"):
        raise _missing(operation)
    return document


def _existing(parent: Any, token: str, operation: dict[str, Any]) -> Any:
    if isinstance(parent, dict):
        if token not in parent:
            raise _missing(operation)
        return token
    if isinstance(parent, list):
        return _index(token, len(parent) - 1, operation)
    raise _missing(operation)


def _index(token: str, last: int, operation: dict[str, Any]) -> int:
    """A place in a list; negative ones count from the end."""
    digits = token.removeprefix("-")
    if not digits.isascii() or not digits.isdigit():
        raise _DoesNotApply(f"{operation['op']} operation: {token!r} in path {operation['path']!r} is no list index")
    index = int(digits[:9])
    index = last + 1 - index if token.startswith("-") else index
    if len(digits) > 9 or not 0 <= index <= last:
        raise _DoesNotApply(
            f"{operation['op']} operation: index {token} in path {operation['path']!r} is out of bounds"
        )
    return index


def _missing(operation: dict[str, Any]) -> _DoesNotApply:
    where = operation.get("path" if operation["op"] not in ("move", "copy") else "from")
    return _DoesNotApply(f"{operation['op']} operation does not apply: doc is missing path: {where!r}: missing value")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _same(left: Any, right: Any) -> bool:
    """Equality as JSON sees it: true is not 1, 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
