"""Acting as somebody else: the Impersonate-* headers, for those who may.

app.py asks after authentication; access.py decides whether the caller may impersonate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.local.apiserver import status
from volcano.local.apiserver.access import Question
from volcano.local.apiserver.call import User

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.http.message import Request
    from volcano.local.apiserver.access import Authorizer

_USER, _GROUP = "impersonate-user", "impersonate-group"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATED = "system:authenticated"


def acting_user(request: Request, caller: User, authorizer: Authorizer) -> User:
    """The user that a request acts as: the caller, unless it asks to be somebody else."""
    name = request.headers.get(_USER)
    if name is None:
        if _GROUP in request.headers:
            raise status.bad_request("Impersonate-Group needs Impersonate-User: say whom to act as")
        return caller
    asked = tuple(group.strip() for group in request.headers.get(_GROUP, "").split(",") if group.strip())
    for question in _questions(name, asked):
        if not authorizer.allowed(caller, question):
            raise status.StatusError(
                403,
                "Forbidden",
                f'{question.resource} "{question.name}" is forbidden: User "{caller.name}" cannot impersonate resource '
                f'"{question.resource}" in API group "" at the cluster scope',
            )
    groups = asked or _groups_of(name)
    return User(name, groups if _AUTHENTICATED in groups else (*groups, _AUTHENTICATED))


def _questions(name: str, groups: tuple[str, ...]) -> Iterator[Question]:
    if name.startswith(_SERVICE_ACCOUNT):
        namespace, _, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        yield Question("impersonate", resource="serviceaccounts", namespace=namespace, name=account)
    else:
        yield Question("impersonate", resource="users", name=name)
    for group in groups:
        yield Question("impersonate", resource="groups", name=group)


def _groups_of(name: str) -> tuple[str, ...]:
    if not name.startswith(_SERVICE_ACCOUNT):
        return ()
    namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
