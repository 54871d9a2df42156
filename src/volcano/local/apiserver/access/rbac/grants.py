"""Who has which rules: roles and bindings as they are stored, resolved per user and namespace and remembered.

Neighbours: rules.py says what a rule allows; `authorizer.py` asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from volcano.api.meta import JsonObject
from volcano.local.apiserver.access.rbac.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.access.rbac.rules import Question
    from volcano.local.apiserver.call import User
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.storage.store import Store

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
BINDINGS, CLUSTER_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
_REMEMBERED = 4096


class Grant(NamedTuple):
    """A rule and the binding that gives it."""

    rule: Rule
    source: str


class Grants(NamedTuple):
    """All rules of one user in one namespace, and the bindings that lead nowhere."""

    rules: tuple[Grant, ...]
    errors: tuple[str, ...]

    def allowing(self, question: Question) -> Grant | None:
        for grant in self.rules:
            if grant.rule.allows(question):
                return grant
        return None

    @property
    def error(self) -> str:
        """The errors as one text; "" when there are none."""
        distinct = list(dict.fromkeys(self.errors))
        return f"[{', '.join(distinct)}]" if len(distinct) > 1 else "".join(distinct)


class Resolver:
    """Finds grants. What was found is kept until a role or binding changes."""

    def __init__(self, store: Store) -> None:
        self._collections = [store.collection(name) for name in (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS)]
        self._store = store
        self._seen = -1
        self._found: dict[tuple[str, tuple[str, ...], str], Grants] = {}
        self._rules: dict[Entry, tuple[Rule, ...]] = {}
        self._bindings: dict[Entry, JsonObject] = {}

    def grants(self, user: User, namespace: str) -> Grants:
        """The rules that `user` has cluster-wide and, if one is given, in `namespace`."""
        changes = sum(collection.changes for collection in self._collections)
        if changes != self._seen:
            self._forget(changes)
        key = (user.name, user.groups, namespace)
        known = self._found.get(key)
        if known is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            known = self._found[key] = self._resolve(user, namespace)
        return known

    def rules_of(self, reference: JsonObject, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of a role that a binding refers to; None if there is no such role."""
        name = str(reference.get("name"))
        if reference.get("kind") == "Role":
            entry = self._store.latest(ROLES, f"{namespace}/{name}")
        else:
            entry = self._store.latest(CLUSTER_ROLES, name)
        if entry is None:
            return None
        known = self._rules.get(entry)
        if known is None:
            known = self._rules[entry] = tuple(Rule(rule) for rule in entry.document().get("rules") or ())
        return known

    def _forget(self, changes: int) -> None:
        """Drop what was worked out, but not what was decoded of objects that are still there."""
        self._seen = changes
        self._found.clear()
        current = {entry for collection in self._collections for entry in collection.entries.values()}
        self._rules = {entry: rules for entry, rules in self._rules.items() if entry in current}
        self._bindings = {entry: binding for entry, binding in self._bindings.items() if entry in current}

    def _resolve(self, user: User, namespace: str) -> Grants:
        rules: list[Grant] = []
        errors: list[str] = []
        for binding, where in self._binding_documents(namespace):
            subject = next((item for item in binding.get("subjects") or () if names(item, user, where)), None)
            if subject is None:
                continue
            reference = binding.get("roleRef") or {}
            found = self.rules_of(reference, where)
            if found is None:
                errors.append(no_such_role(reference))
                continue
            source = _source(binding, reference, subject, where)
            rules += [Grant(rule, source) for rule in found]
        return Grants(tuple(rules), tuple(errors))

    def _binding_documents(self, namespace: str) -> Iterator[tuple[JsonObject, str]]:
        """The bindings that may matter, each with the namespace it is in."""
        for entry in self._collections[3].entries.values():
            yield self._binding(entry), ""
        if namespace:
            bindings = self._collections[2]
            for key in bindings.keys(f"{namespace}/"):
                yield self._binding(bindings.entries[key]), namespace

    def _binding(self, entry: Entry) -> JsonObject:
        known = self._bindings.get(entry)
        if known is None:
            known = self._bindings[entry] = entry.document()
        return known


def names(subject: JsonObject, user: User, namespace: str) -> bool:
    """Whether a binding's subject is `user`."""
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return bool(name == user.name)
    if kind == "Group":
        return name in user.groups
    place = subject.get("namespace") or namespace
    return kind == "ServiceAccount" and bool(place) and user.name == f"system:serviceaccount:{place}:{name}"


def no_such_role(reference: JsonObject) -> str:
    return f'{str(reference.get("kind")).lower()}.{GROUP} "{reference.get("name")}" not found'


def _source(binding: JsonObject, reference: JsonObject, subject: JsonObject, namespace: str) -> str:
    """The text by which access reviews explain a grant."""
    meta, name = binding["metadata"], subject.get("name")
    title = f'RoleBinding "{meta["name"]}/{namespace}"' if namespace else f'ClusterRoleBinding "{meta["name"]}"'
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{title} of {reference.get("kind")} "{reference.get("name")}" to {subject.get("kind")} "{name}"'
