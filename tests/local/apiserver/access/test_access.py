"""Who gets in, and what they may do."""

from __future__ import annotations

import pytest

from tests.local.apiserver.api import CONFIGMAPS, Api, api
from volcano.http.message import Peer
from volcano.local.apiserver.access.authn import Authenticator, read_tokens
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.call import User
from volcano.local.apiserver.storage.store import Store

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ALICE = Peer(common_name="alice", organizations=("devs",))


async def test_without_credentials_only_health_and_version_answer() -> None:
    async with api() as call:
        nobody = Api(call.server, Peer())

        assert (await nobody.get("/readyz")).status == 200
        assert (await nobody.get("/version"))["gitVersion"].startswith("v1.")
        for path in (CONFIGMAPS, "/api", "/apis", "/metrics", "/openapi/v3"):
            assert (await nobody.get(path)).status == 403, path


async def test_roles_grant_what_their_bindings_say() -> None:
    async with api() as call:
        alice = Api(call.server, ALICE)
        denied = await alice.get(CONFIGMAPS)
        rules = [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}]
        await call.made(f"{RBAC}/namespaces/default/roles", {"metadata": {"name": "r"}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        subject = {"kind": "Group", "name": "devs", "apiGroup": "rbac.authorization.k8s.io"}
        await call.made(
            f"{RBAC}/namespaces/default/rolebindings",
            {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]},
        )

        assert (denied.status, 'User "alice" cannot list resource "configmaps"' in denied.message) == (403, True)
        assert (await alice.get(CONFIGMAPS)).status == 200
        assert (await alice.get("/api/v1/configmaps")).status == 403
        assert (await alice.delete(CONFIGMAPS)).status == 403


async def test_access_reviews_answer_for_oneself_and_for_others() -> None:
    reviews = "/apis/authorization.k8s.io/v1"
    question = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}
    async with api() as call:
        alice = Api(call.server, ALICE)
        master = await call.post(f"{reviews}/selfsubjectaccessreviews", {"spec": question})
        own = await alice.post(f"{reviews}/selfsubjectaccessreviews", {"spec": question})
        other = await call.post(f"{reviews}/subjectaccessreviews", {"spec": question | {"user": "bob"}})
        everything = await call.post(f"{reviews}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})

        assert [answer["status.allowed"] for answer in (master, own, other)] == [True, False, False]
        assert everything["status.resourceRules"][0]["verbs"] == ["*"]


async def test_static_tokens_and_a_list_of_host_names(tmp_path: object) -> None:
    file = tmp_path / "tokens.csv"  # type: ignore[operator]
    file.write_text('secret,carol,1,"system:masters,devs"\n')
    server = ApiServer(Store.open(":memory:"), Authenticator(read_tokens(file), None), hosts=frozenset({"localhost"}))
    call = Api(server, Peer())
    headers = {"authorization": "Bearer secret", "host": "localhost:6443"}

    assert read_tokens(file) == {"secret": User("carol", ("system:masters", "devs", "system:authenticated"), "1")}
    assert (await call.get(CONFIGMAPS, headers=headers)).status == 200
    assert (await call.get(CONFIGMAPS, headers=headers | {"authorization": "Bearer other"})).status == 401
    assert (await call.get(CONFIGMAPS, headers=headers | {"host": "evil.example"})).status == 403
    await server.close()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic YTpi", "Nonsense x"])
async def test_what_is_no_token_makes_nobody_of_the_caller(header: str) -> None:
    async with api() as call:
        answer = await Api(call.server, Peer()).get(CONFIGMAPS, headers={"authorization": header})

        assert (answer.status, 'User "system:anonymous" cannot list' in answer.message) == (403, True)
