"""Who may do what: members of system:masters everything, others what RBAC objects grant them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from volcano.local.apiserver.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.call import Call, User
    from volcano.local.apiserver.store import Store

JsonObject = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_PUBLIC_REVIEWS = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"})


class Question(NamedTuple):
    """May a user do `verb` on this?"""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # instead of a resource


class Authorizer:
    """Evaluates roles and bindings as they are stored."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check(self, call: Call, verb: str) -> None:
        """Refuse the call unless its user may do `verb`."""
        resource = call.resource
        question = Question(verb, resource.group, resource.plural, call.subresource, call.namespace or "", call.name)
        if resource.plural in _PUBLIC_REVIEWS or self.allowed(call.user, question):
            return
        what = f"{resource.plural}/{call.subresource}" if call.subresource else resource.plural
        where = f' in the namespace "{call.namespace}"' if call.namespace else " at the cluster scope"
        subject = f'{resource.qualified} "{call.name}"' if call.name else resource.qualified
        message = (
            f'{subject} is forbidden: User "{call.user.name}" cannot '
            f'{verb} resource "{what}" in API group "{resource.group}"{where}'
        )
        raise StatusError(403, "Forbidden", message, details={"name": call.name, "kind": resource.plural})

    def allowed(self, user: User, question: Question) -> bool:
        if user.is_master:
            return True
        return any(_covers(rule, question) for rule in self.rules(user, question.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[JsonObject]:
        """The rules that apply to `user`: cluster-wide, and in `namespace`."""
        for entry in self._store.scan(f"clusterrolebindings.{_RBAC}"):
            yield from self._granted(entry.document(), user, "")
        if namespace:
            for entry in self._store.scan(f"rolebindings.{_RBAC}", f"{namespace}/"):
                yield from self._granted(entry.document(), user, namespace)

    def _granted(self, binding: JsonObject, user: User, namespace: str) -> Iterator[JsonObject]:
        if not any(_names(subject, user, namespace) for subject in binding.get("subjects") or ()):
            return
        reference = binding.get("roleRef") or {}
        if reference.get("kind") == "Role":
            entry = self._store.get(f"roles.{_RBAC}", f"{namespace}/{reference.get('name')}")
        else:
            entry = self._store.get(f"clusterroles.{_RBAC}", str(reference.get("name")))
        if entry is not None:
            yield from entry.document().get("rules") or ()


def _names(subject: JsonObject, user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return bool(name == user.name)
    if kind == "Group":
        return name in user.groups
    account = f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return kind == "ServiceAccount" and account == user.name


def _covers(rule: JsonObject, question: Question) -> bool:
    if not _has(rule.get("verbs"), question.verb):
        return False
    if question.path:
        patterns = rule.get("nonResourceURLs") or ()
        return any(
            p in ("*", question.path) or (p.endswith("*") and question.path.startswith(p[:-1])) for p in patterns
        )
    if not _has(rule.get("apiGroups"), question.group):
        return False
    resources = rule.get("resources") or ()
    wanted = f"{question.resource}/{question.subresource}" if question.subresource else question.resource
    anywhere = bool(question.subresource) and f"*/{question.subresource}" in resources
    if not (_has(resources, wanted) or anywhere):
        return False
    names = rule.get("resourceNames")
    return not names or question.name in names


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)
