"""Rules of roles: what one allows, what a list of them covers, and how errors describe them. Pure.

Neighbours: grants.py finds the rules of a user; escalation.py compares them with what the user hands out.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from volcano.api.meta import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FIELDS = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")


class Question(NamedTuple):
    """May a user do `verb` on this?"""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # instead of a resource


class Rule:
    """One rule of a role, ready to be asked."""

    __slots__ = ("document", "groups", "names", "paths", "resources", "verbs")

    def __init__(self, document: JsonObject) -> None:
        self.document = document
        self.verbs = frozenset(document.get("verbs") or ())
        self.groups = frozenset(document.get("apiGroups") or ())
        self.resources = frozenset(document.get("resources") or ())
        self.names = frozenset(document.get("resourceNames") or ())
        self.paths: tuple[str, ...] = tuple(document.get("nonResourceURLs") or ())

    def allows(self, question: Question) -> bool:
        if not _has(self.verbs, question.verb):
            return False
        if question.path:
            return any(_path_covers(path, question.path) for path in self.paths)
        return (
            _has(self.groups, question.group)
            and self._has_resource(question.resource, question.subresource)
            and (not self.names or question.name in self.names)
        )

    def covers(self, single: JsonObject) -> bool:
        """Whether this rule grants all of `single`, a rule with one value per field."""
        names = single.get("resourceNames") or ()
        if any(not _has(self.verbs, verb) for verb in single["verbs"]):
            return False
        if any(not _has(self.groups, group) for group in single.get("apiGroups") or ()):
            return False
        if self.names and not (names and self.names.issuperset(names)):
            return False
        resources = (item.partition("/")[::2] for item in single.get("resources") or ())
        if any(not self._has_resource(plural, subresource) for plural, subresource in resources):
            return False
        return all(any(_path_covers(own, path) for own in self.paths) for path in single.get("nonResourceURLs") or ())

    def _has_resource(self, plural: str, subresource: str) -> bool:
        if "*" in self.resources:
            return True
        if not subresource:
            return plural in self.resources
        return f"{plural}/{subresource}" in self.resources or f"*/{subresource}" in self.resources


def missing(owned: Iterable[Rule], wanted: Iterable[JsonObject]) -> list[JsonObject]:
    """What of `wanted` is in none of the `owned` rules, taken apart into single verbs, resources and names."""
    rules = list(owned)
    return [
        single for document in wanted for single in _singles(document) if not any(rule.covers(single) for rule in rules)
    ]


def describe(rules: Sequence[JsonObject]) -> list[str]:
    """Single rules as error messages list them: verbs of the same resource together, in order of the texts."""
    together: dict[tuple[Any, ...], JsonObject] = {}
    for rule in rules:
        key = tuple(tuple(rule.get(field) or ()) for field in _FIELDS[:-1])
        if key in together and not rule.get("nonResourceURLs"):
            together[key]["verbs"] = together[key]["verbs"] + rule["verbs"]
        else:
            together[(*key, len(together)) if rule.get("nonResourceURLs") else key] = dict(rule)
    return sorted({_text(rule) for rule in together.values()})


def quoted(values: Iterable[str]) -> str:
    """A list of strings as Kubernetes' messages show it: ["a" "b"]."""
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _singles(document: JsonObject) -> Iterator[JsonObject]:
    verbs, names = document.get("verbs") or (), document.get("resourceNames") or ()
    for group, resource, verb in product(document.get("apiGroups") or (), document.get("resources") or (), verbs):
        single = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        if not names:
            yield single
        for name in names:
            yield {**single, "resourceNames": [name]}
    for path, verb in product(document.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [path], "verbs": [verb]}


def _text(rule: JsonObject) -> str:
    parts = (f"{field[0].upper()}{field[1:]}:{quoted(rule[field])}" for field in _FIELDS if rule.get(field))
    return "{" + ", ".join(parts).replace("ApiGroups:", "APIGroups:") + "}"


def _path_covers(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _has(values: frozenset[str], wanted: str) -> bool:
    return wanted in values or "*" in values
