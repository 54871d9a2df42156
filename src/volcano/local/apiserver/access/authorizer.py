"""Who may do what: members of system:masters everything, others what RBAC objects grant them.

The rules are in `rbac/`; `app.py` asks before anything else is done, `reviews.py` for those who only want to know.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from volcano.local.apiserver.access.rbac.grants import Grants, Resolver
from volcano.local.apiserver.access.rbac.rules import Question
from volcano.local.apiserver.status import StatusError

if TYPE_CHECKING:
    from volcano.local.apiserver.call import Call, User
    from volcano.local.apiserver.storage.store import Store

__all__ = ["Authorizer", "Question", "Verdict"]

_NAME_SELECTED = re.compile(r"(?:^|,)metadata\.name==?([^,=!]+)(?:,|$)")
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Verdict(NamedTuple):
    """An answer and, where there is more to say, why."""

    allowed: bool
    reason: str = ""


class Authorizer:
    """Answers questions about users' rights, and refuses requests that they do not cover."""

    def __init__(self, store: Store) -> None:
        self.resolver = Resolver(store)

    def check(self, call: Call, verb: str) -> None:
        """Refuse a request about objects unless its user may do `verb`."""
        resource, name = call.resource, call.name or _selected_name(call)
        question = Question(verb, resource.group, resource.plural, call.subresource, call.namespace or "", name)
        self.require(call.user, question)

    def require(self, user: User, question: Question) -> None:
        """Refuse what `user` may not do."""
        verdict = self.decide(user, question)
        if not verdict.allowed:
            raise forbidden(user, question, verdict.reason)

    def allowed(self, user: User, question: Question) -> bool:
        return self.decide(user, question).allowed

    def decide(self, user: User, question: Question) -> Verdict:
        if user.is_master:
            return Verdict(True)
        grants = self.grants(user, question.namespace)
        found = grants.allowing(question)
        if found is not None:
            return Verdict(True, f"RBAC: allowed by {found.source}")
        return Verdict(False, f"RBAC: {grants.error}" if grants.errors else "")

    def grants(self, user: User, namespace: str) -> Grants:
        """The rules of `user`, cluster-wide and in `namespace`."""
        return self.resolver.grants(user, namespace)


def forbidden(user: User, question: Question, reason: str = "") -> StatusError:
    """The refusal as Kubernetes words it."""
    text = f'User "{user.name}" cannot {question.verb} {_object(question)}'.translate(_HTML)
    if reason:
        text = f"{text}: {reason}"
    if question.path:
        return StatusError(403, "Forbidden", f"forbidden: {text}", details={})
    details = {"name": question.name, "group": question.group, "kind": question.resource}
    subject = f"{question.resource}.{question.group}" if question.group else question.resource
    if question.name:
        subject += f' "{question.name}"'
    details = {key: value for key, value in details.items() if value}
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {text}", details=details)


def _selected_name(call: Call) -> str:
    """The one object that a list or watch asks for: rules with resourceNames apply to it."""
    found = _NAME_SELECTED.search(call.request.param("fieldSelector") or "")
    return found[1] if found else ""


def _object(question: Question) -> str:
    if question.path:
        return f'path "{question.path}"'
    what = f"{question.resource}/{question.subresource}" if question.subresource else question.resource
    where = f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    return f'resource "{what}" in API group "{question.group}" {where}'
