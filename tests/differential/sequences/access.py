"""Questions about callers and their rights: the reviews, which are answered and not stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.differential.session import Session

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"


async def access_reviews(s: Session) -> None:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}]
    await s.post(f"{RBAC}/roles", {"metadata": {"name": "r"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subjects = [{"kind": "User", "name": "alice"}, {"kind": "Group", "name": "devs"}]
    await s.post(f"{RBAC}/rolebindings", {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects})
    asked = {"verb": "get", "resource": "configmaps", "namespace": "{ns}", "name": "a"}
    for who in ({"user": "alice"}, {"user": "bob"}, {"user": "bob", "groups": ["devs"]}, {"groups": ["devs"]}, {}):
        await s.post(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": {"resourceAttributes": asked, **who}})
    alice: dict[str, Any] = {"user": "alice"}
    for changed in ({"name": "b"}, {"verb": "list"}, {"namespace": "default"}, {"group": "apps"}, {"subresource": "x"}):
        spec = alice | {"resourceAttributes": asked | changed}
        await s.post(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
    path = {"path": "/openapi/v3", "verb": "get"}
    await s.post(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": alice | {"nonResourceAttributes": path}})
    await s.post(
        f"{AUTHORIZATION}/subjectaccessreviews",
        {"spec": {"user": "x", "groups": ["system:authenticated"], "nonResourceAttributes": path}},
    )
    both = {"resourceAttributes": asked, "nonResourceAttributes": path}
    for review in ("selfsubjectaccessreviews", "subjectaccessreviews"):
        for spec in ({}, both, {"resourceAttributes": asked}, {"nonResourceAttributes": path}):
            await s.post(f"{AUTHORIZATION}/{review}", {"spec": spec})
    local = f"{AUTHORIZATION}/namespaces/{{ns}}/localsubjectaccessreviews"
    for spec in (alice | {"resourceAttributes": asked}, alice | both, alice | {"nonResourceAttributes": path}):
        await s.post(local, {"spec": spec})
    await s.post(local, {"spec": alice | {"resourceAttributes": asked | {"namespace": "default"}}})
    await s.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", {"metadata": {"name": "x"}, "spec": {}})
    await s.get(f"{AUTHORIZATION}/selfsubjectaccessreviews")
    await s.post(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {}})
    await s.post(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "{ns}"}})


async def token_reviews(s: Session) -> None:
    for spec in ({}, {"token": ""}, {"token": "nonsense"}, {"token": "a.b.c", "audiences": ["x"]}):
        await s.post(f"{AUTHENTICATION}/tokenreviews", {"spec": spec})
    await s.get(f"{AUTHENTICATION}/tokenreviews")
    for seconds in (1, 2**33, "x"):
        await s.post(f"{ACCOUNTS}/default/token", {"spec": {"expirationSeconds": seconds}})
    gone = {"kind": "Pod", "apiVersion": "v1", "name": "gone"}
    await s.post(f"{ACCOUNTS}/default/token", {"spec": {"boundObjectRef": gone}})
    await s.post(f"{ACCOUNTS}/default/token", {"spec": {"boundObjectRef": gone | {"kind": "Node"}}})
    await s.post(f"{ACCOUNTS}/missing/token", {"spec": {}})
    await s.get(f"{ACCOUNTS}/default/token")
    await s.get(f"{ACCOUNTS}/default")
    for audiences in ([], ["other", "more"]):
        made = await s.post(f"{ACCOUNTS}/default/token", {"spec": {"audiences": audiences}})
        for wanted in ([], ["more", "yet"], ["x"]):
            spec = {"token": made["status.token"]} | ({"audiences": wanted} if wanted else {})
            await s.post(f"{AUTHENTICATION}/tokenreviews", {"spec": spec})


SEQUENCES = (access_reviews, token_reviews)
