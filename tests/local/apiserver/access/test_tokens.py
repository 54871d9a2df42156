"""Tokens that prove nothing any more: each is refused with 401, and the others go on working."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.local.apiserver.api import CONFIGMAPS, PODS, Api, pod
from volcano.http.message import Peer
from volcano.local.apiserver.access.authn import Authenticator
from volcano.local.apiserver.access.tokens import ServiceAccountTokens
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
NODES = "/api/v1/nodes"


class World:
    """A server whose tokens live by a clock of ours, and callers who carry them."""

    def __init__(self, key: bytes = b"k" * 32, store: Store | None = None) -> None:
        self.now = 1_000_000.0
        self.store = store or Store.open(":memory:")
        tokens = ServiceAccountTokens(self.store, key, lambda: self.now)
        self.admin = Api(ApiServer(self.store, Authenticator({}, tokens), tokens))

    async def account(self, name: str = "robot") -> None:
        await self.admin.made(ACCOUNTS, {"metadata": {"name": name}})

    async def token(self, name: str = "robot", **spec: Any) -> str:
        made = await self.admin.made(f"{ACCOUNTS}/{name}/token", {"spec": spec})
        return str(made["status"]["token"])

    async def status_of(self, token: str) -> int:
        """What a caller with the token is answered: 403 for one who is known and may not."""
        caller = Api(self.admin.server, Peer())
        return (await caller.get(CONFIGMAPS, headers={"authorization": f"Bearer {token}"})).status


def forged(token: str, **claims: Any) -> str:
    head, body, signature = token.split(".")
    document = json.loads(base64.urlsafe_b64decode(body + "==")) | claims
    changed = base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")
    return f"{head}.{changed}.{signature}"


async def test_a_token_expires() -> None:
    world = World()
    await world.account()
    token = await world.token(expirationSeconds=600)
    before = await world.status_of(token)
    world.now += 600

    assert (before, await world.status_of(token)) == (403, 401)


async def test_a_token_ends_with_its_account_and_is_not_good_for_the_next_of_that_name() -> None:
    world = World()
    await world.account()
    token = await world.token()
    await world.admin.delete(f"{ACCOUNTS}/robot")
    gone = await world.status_of(token)
    await world.account()

    assert (gone, await world.status_of(token), await world.status_of(await world.token())) == (401, 401, 403)


@pytest.mark.parametrize(
    ("kind", "collection", "body"),
    [("Pod", PODS, pod("bound")), ("Node", NODES, {"metadata": {"name": "bound"}})],
)
async def test_a_token_ends_with_what_it_is_bound_to(kind: str, collection: str, body: dict[str, Any]) -> None:
    world = World()
    await world.account()
    await world.admin.made(collection, body)
    token = await world.token(boundObjectRef={"kind": kind, "apiVersion": "v1", "name": "bound"})
    before = await world.status_of(token)
    await world.admin.delete(f"{collection}/bound")

    assert (before, await world.status_of(token)) == (403, 401)


async def test_a_token_for_others_is_not_for_this_server() -> None:
    world = World()
    await world.account()

    assert await world.status_of(await world.token(audiences=["vault"])) == 401


async def test_with_a_new_signing_key_old_tokens_are_worth_nothing() -> None:
    world = World()
    await world.account()
    token = await world.token()
    rotated = World(key=b"r" * 32, store=world.store)

    assert (await rotated.status_of(token), await rotated.status_of(await rotated.token())) == (401, 403)


@pytest.mark.parametrize("claims", [{"exp": 2**40}, {"sub": "system:admin"}, {"iss": "evil"}])
async def test_what_a_token_says_cannot_be_changed(claims: dict[str, Any]) -> None:
    world = World()
    await world.account()

    assert await world.status_of(forged(await world.token(), **claims)) == 401


@pytest.mark.parametrize("token", ["x", "a.b.c", "..", "\xff\xfe", "a" * 60_000, "é.é.é", "eyJhbGciOiJub25lIn0.e30."])
async def test_nonsense_is_no_token(token: str) -> None:
    assert await World().status_of(token) == 401
