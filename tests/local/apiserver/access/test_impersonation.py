from __future__ import annotations

import pytest

from volcano.http.message import Request
from volcano.local.apiserver.access.authorizer import Authorizer, Question, Verdict
from volcano.local.apiserver.access.impersonation import acting_user
from volcano.local.apiserver.call import User
from volcano.local.apiserver.faults import PatchError

ADMIN, BOB = User("admin", ("system:masters",)), User("bob")


class OnlyUsers(Authorizer):
    """Everybody may be any user, and no group."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    def decide(self, user: User, question: Question) -> Verdict:
        self.asked.append(question)
        return Verdict(user.is_master or question.resource == "users")


def request(**headers: str) -> Request:
    return Request("GET", "/api", [], {key.replace("_", "-"): value for key, value in headers.items()}, b"")


def test_without_headers_the_caller_is_itself() -> None:
    assert acting_user(request(), BOB, OnlyUsers()) is BOB


def test_the_headers_name_user_and_groups() -> None:
    acting = acting_user(request(impersonate_user="eve", impersonate_group="a, b"), ADMIN, OnlyUsers())
    assert acting == User("eve", ("a", "b", "system:authenticated"))


def test_a_service_account_has_its_groups() -> None:
    authorizer = OnlyUsers()
    acting = acting_user(request(impersonate_user="system:serviceaccount:ns:sa"), ADMIN, authorizer)
    assert acting.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert authorizer.asked == [Question("impersonate", resource="serviceaccounts", namespace="ns", name="sa")]


def test_everything_about_the_other_user_is_asked_for() -> None:
    authorizer = OnlyUsers()
    headers = {"impersonate-user": "eve", "impersonate-uid": "7", "impersonate-extra-team%2Fscope": "x, y"}
    acting = acting_user(Request("GET", "/api", [], headers, b""), ADMIN, authorizer)

    assert acting == User("eve", ("system:authenticated",), "7", (("team/scope", ("x", "y")),))
    group = "authentication.k8s.io"
    assert authorizer.asked[1:] == [
        Question("impersonate", group, "userextras", "team/scope", name="x"),
        Question("impersonate", group, "userextras", "team/scope", name="y"),
        Question("impersonate", group, "uids", name="7"),
    ]


def test_nobody_stays_unauthenticated() -> None:
    acting = acting_user(request(impersonate_user="system:anonymous"), ADMIN, OnlyUsers())
    assert acting.groups == ("system:unauthenticated",)


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"impersonate_group": "a"}, 400, "without impersonating a user"),
        ({"impersonate_user": "eve", "impersonate_group": "a"}, 403, 'groups "a" is forbidden: User "bob" cannot'),
        ({"impersonate_user": "system:serviceaccount:ns:sa"}, 403, 'serviceaccounts "sa" is forbidden'),
    ],
)
def test_not_everybody_may_be_anybody(headers: dict[str, str], status: int, message: str) -> None:
    with pytest.raises(PatchError) as refusal:
        acting_user(request(**headers), BOB, OnlyUsers())
    assert refusal.value.status == status
    assert message in refusal.value.message
