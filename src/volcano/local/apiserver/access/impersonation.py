"""Acting as somebody else: the Impersonate-* headers, for those who may.

app.py asks after authentication; authorizer.py decides whether the caller may impersonate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from volcano.local.apiserver import status
from volcano.local.apiserver.access.authorizer import Question
from volcano.local.apiserver.call import User

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.http.message import Request
    from volcano.local.apiserver.access.authorizer import Authorizer

_USER, _GROUP, _UID, _EXTRA = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"
_AUTHENTICATED, _UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"

Extra = dict[str, tuple[str, ...]]


def acting_user(request: Request, caller: User, authorizer: Authorizer) -> User:
    """The user that a request acts as: the caller, unless it asks to be somebody else."""
    headers = request.headers
    name, uid = headers.get(_USER, ""), headers.get(_UID, "")
    if not name and not any(header.startswith("impersonate-") for header in headers):
        return caller
    groups = tuple(_values(headers.get(_GROUP, "")))
    extra = {
        unquote(header.removeprefix(_EXTRA)): tuple(_values(text))
        for header, text in headers.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        raise status.bad_request(f"requested {_asked(groups, extra, uid)} without impersonating a user name")
    for question in _questions(name, groups, extra, uid):
        authorizer.require(caller, question)
    return User(name, _with_authentication(name, groups or _groups_of(name)), uid, tuple(sorted(extra.items())))


def _questions(name: str, groups: tuple[str, ...], extra: Extra, uid: str) -> Iterator[Question]:
    if name.startswith(_SERVICE_ACCOUNT):
        namespace, _, account = name.removeprefix(_SERVICE_ACCOUNT).partition(":")
        yield Question("impersonate", resource="serviceaccounts", namespace=namespace, name=account)
    else:
        yield Question("impersonate", resource="users", name=name)
    for group in groups:
        yield Question("impersonate", resource="groups", name=group)
    for key, values in extra.items():
        for value in values:
            yield Question("impersonate", _AUTHENTICATION, "userextras", key, name=value)
    if uid:
        yield Question("impersonate", _AUTHENTICATION, "uids", name=uid)


def _groups_of(name: str) -> tuple[str, ...]:
    if not name.startswith(_SERVICE_ACCOUNT):
        return ()
    namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def _with_authentication(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Everybody is authenticated or is not; who says so in the groups is believed."""
    if name == "system:anonymous":
        return groups if _UNAUTHENTICATED in groups else (*groups, _UNAUTHENTICATED)
    known = _AUTHENTICATED in groups or _UNAUTHENTICATED in groups
    return groups if known else (*groups, _AUTHENTICATED)


def _values(text: str) -> Iterator[str]:
    """The values of a header that may be repeated; the server joins them with commas."""
    return (value.strip() for value in text.split(",") if value.strip())


def _asked(groups: tuple[str, ...], extra: Extra, uid: str) -> str:
    wanted = (
        [f"group {group}" for group in groups] + [f"extra {key}" for key in extra] + ([f"uid {uid}"] if uid else [])
    )
    return f"[{', '.join(wanted)}]"
