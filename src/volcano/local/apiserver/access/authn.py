"""Who is calling: client certificates, bearer tokens, the owner's Unix socket."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from volcano.local.apiserver.access.tokens import ISSUER, NotTrusted, Proof
from volcano.local.apiserver.call import User
from volcano.local.apiserver.status import StatusError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from volcano.http.message import Request
    from volcano.local.apiserver.access.tokens import ServiceAccountTokens

ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
OWNER = User("system:admin", ("system:masters", "system:authenticated"))


class Authenticator:
    """Turns a request's credentials into a user; wrong credentials are refused, missing ones make it anonymous."""

    def __init__(self, tokens: dict[str, User], service_accounts: ServiceAccountTokens | None) -> None:
        self._tokens = tokens
        self._service_accounts = service_accounts
        self._known: dict[tuple[str, tuple[str, ...]], User] = {}

    def user(self, request: Request) -> User:
        peer = request.peer
        if peer.common_name:
            key = (peer.common_name, peer.organizations)
            user = self._known.get(key)
            if user is None:
                user = self._known[key] = User(key[0], (*key[1], "system:authenticated"))
            return user
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            return self._bearer(token.strip())
        return OWNER if peer.unix else ANONYMOUS

    def _bearer(self, token: str) -> User:
        try:
            return self.by_token(token).user
        except NotTrusted:
            raise unauthorized() from None

    def by_token(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> Proof:
        """Whom `token` speaks for. Raises NotTrusted. Static tokens are meant for this server alone."""
        user = self._tokens.get(token)
        if user is not None and ISSUER in audiences:
            return Proof(user, [ISSUER])
        if self._service_accounts is None:
            raise NotTrusted("invalid bearer token")
        return self._service_accounts.check(token, audiences)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def read_tokens(path: Path) -> dict[str, User]:
    """Static tokens from a CSV file: token, user, uid, optional quoted groups."""
    users: dict[str, User] = {}
    for number, row in enumerate(csv.reader(path.read_text().splitlines(), skipinitialspace=True), 1):
        if not row or row[0].startswith("#"):
            continue
        if len(row) < 3 or not row[0] or not row[1]:
            raise ValueError(f'{path}, line {number}: expected token,user,uid[,"group,..."]')
        groups = tuple(group.strip() for group in row[3].split(",")) if len(row) > 3 else ()
        users[row[0]] = User(row[1], (*groups, "system:authenticated"), row[2])
    return users
