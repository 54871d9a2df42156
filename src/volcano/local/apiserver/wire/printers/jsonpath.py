"""The part of JSONPath that printer columns use: fields, indices, slices, wildcards, descent and simple filters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Step = Callable[[Iterable[Any]], Iterator[Any]]

__all__ = ["JsonPathError", "compile_path"]

LONGEST = 1024

_STEP = re.compile(
    r"""\.\.(?P<deep>[\w-]+)
    |\.(?P<field>(?:\\.|[^.\[\]\\{}])+)
    |\[\s*(?:'(?P<single>(?:\\.|[^'\\])*)'|"(?P<double>(?:\\.|[^"\\])*)")\s*\]
    |\[\s*(?P<star>\*)\s*\]
    |\[\s*(?P<start>-?\d*)\s*:\s*(?P<end>-?\d*)\s*\]
    |\[\s*(?P<index>-?\d+)\s*\]
    |\[\?\(\s*@(?P<path>(?:\.\.?(?:\\.|[\w/-])+|\[[^\]]+\])*?)\s*(?:(?P<op>==|!=|>=|<=|>|<)\s*(?P<operand>[^)]+?)\s*)?\)\]
    """,
    re.VERBOSE,
)


class JsonPathError(ValueError):
    """A path that is not JSONPath, or uses more of it than printer columns need."""


def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """A function that lists what `text` finds in an object; nothing found is an empty list."""
    steps = list(_steps(text))

    def find(document: Any) -> list[Any]:
        found: Iterable[Any] = [document]
        for step in steps:
            found = step(found)
        return list(found)

    return find


def _steps(text: str) -> Iterator[Step]:
    if len(text) > LONGEST:
        raise JsonPathError(f"JSONPath {text[:40]!r}… is longer than {LONGEST} characters")
    path = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if path and path[0] not in ".[":
        path = "." + path
    at = 0
    while at < len(path) and path != ".":
        match = _STEP.match(path, at)
        if match is None:
            raise JsonPathError(f"JSONPath {text!r} cannot be read from {path[at:]!r} on")
        at = match.end()
        yield _step(match)


def _step(match: re.Match[str]) -> Step:
    if match["deep"] is not None:
        return _descend(match["deep"])
    if match["star"] or match["field"] == "*":
        return _every
    for group in ("field", "single", "double"):
        if match[group] is not None:
            return _field(re.sub(r"\\(.)", r"\1", match[group]))
    if match["index"] is not None:
        return _index(int(match["index"]))
    if match["start"] is not None:
        bounds = slice(*(int(match[side]) if match[side] else None for side in ("start", "end")))
        return lambda found: (item for value in found if isinstance(value, list) for item in value[bounds])
    return _filter(match["path"] or "", match["op"], match["operand"])


def _field(name: str) -> Step:
    return lambda found: (value[name] for value in found if isinstance(value, dict) and name in value)


def _index(position: int) -> Step:
    def pick(found: Iterable[Any]) -> Iterator[Any]:
        for value in found:
            if isinstance(value, list) and -len(value) <= position < len(value):
                yield value[position]

    return pick


def _every(found: Iterable[Any]) -> Iterator[Any]:
    for value in found:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def _descend(name: str) -> Step:
    def search(found: Iterable[Any]) -> Iterator[Any]:
        for value in found:
            if isinstance(value, dict) and name in value:
                yield value[name]
            yield from search(_every([value]))

    return search


def _filter(path: str, operator: str | None, operand: str | None) -> Step:
    find = compile_path(path)
    if operator is None or operand is None:
        return lambda found: (item for item in _every(found) if find(item))
    wanted = _literal(operand)
    compare = _COMPARISONS[operator]

    def select(found: Iterable[Any]) -> Iterator[Any]:
        for item in _every(found):
            if any(_comparable(value, wanted) and compare(value, wanted) for value in find(item)):
                yield item

    return select


def _literal(text: str) -> Any:
    if text[0] in "'\"" and text[-1] == text[0]:
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise JsonPathError(f"JSONPath filter compares with {text!r}: quote it, or use a number or boolean") from None


def _comparable(left: Any, right: Any) -> bool:
    numbers = (int, float)
    return type(left) is type(right) or (isinstance(left, numbers) and isinstance(right, numbers))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    ">": lambda left, right: bool(left > right),
    ">=": lambda left, right: bool(left >= right),
    "<": lambda left, right: bool(left < right),
    "<=": lambda left, right: bool(left <= right),
}
