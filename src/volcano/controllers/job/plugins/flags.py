"""Arguments of job plugins: `--name=value`, `--name value`, `-name value`, and bare `--name` for booleans.

Unreadable arguments never stop a job: they are left out, and admission names them to the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

T = TypeVar("T", str, int, bool)

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class Flags:
    """The arguments of one plugin, read by name and type of the default."""

    def __init__(self, arguments: Sequence[str], booleans: Sequence[str] = ()) -> None:
        self._values = dict(_pairs(arguments, frozenset(booleans)))

    @overload
    def get(self, name: str, default: bool) -> bool: ...
    @overload
    def get(self, name: str, default: int) -> int: ...
    @overload
    def get(self, name: str, default: str) -> str: ...

    def get(self, name: str, default: str | int | bool) -> str | int | bool:
        text = self._values.get(name)
        if text is None:
            return default
        if isinstance(default, bool):
            return True if text in _TRUE else False if text in _FALSE else default
        if isinstance(default, int):
            return _integer(text, default)
        return text


def _pairs(arguments: Sequence[str], booleans: frozenset[str]) -> Iterator[tuple[str, str]]:
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if not word.startswith("-") or word in {"-", "--"}:
            return  # like Go's flag package: the first word that is no flag ends the flags
        name, separator, value = word.removeprefix("-").removeprefix("-").partition("=")
        if separator:
            yield name, value
        elif name in booleans:
            yield name, "true"
        elif remaining:
            yield name, remaining.pop(0)


def _integer(text: str, default: int) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return default
