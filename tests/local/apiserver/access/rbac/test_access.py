"""Roles, bindings and what they make of requests, through the server."""

from __future__ import annotations

from typing import Any

from tests.local.apiserver.api import CONFIGMAPS, PODS, Answer, Api, api, configmap
from volcano.http.message import Peer
from volcano.local.apiserver.access.rbac import seeds

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
REVIEWS = "/apis/authorization.k8s.io/v1"
ALICE = Peer(common_name="alice", organizations=("devs",))


def role(name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more.pop("metadata", {})}, "rules": list(rules), **more}


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


def binding(name: str, kind: str, to: str, *subjects: str) -> dict[str, Any]:
    people = [dict(zip(("kind", "name"), subject.split(":", 1), strict=True)) for subject in subjects]
    return {"metadata": {"name": name}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to}, "subjects": people}


async def grant(call: Api, *rules: dict[str, Any], who: str = "User:alice", name: str = "granted") -> None:
    """Give somebody rules in the namespace `default`."""
    await call.made(f"{RBAC}/namespaces/default/roles", role(name, *rules))
    await call.made(f"{RBAC}/namespaces/default/rolebindings", binding(name, "Role", name, who))


async def test_refusals_read_like_kubernetes() -> None:
    async with api() as call:
        alice, nobody = Api(call.server, ALICE), Api(call.server, Peer())

        async def message(caller: Api, method: str, path: str, **options: Any) -> str:
            answer = await caller(method, path, {"metadata": {}} if method == "POST" else None, **options)
            assert (answer.status, answer["reason"]) == (403, "Forbidden")
            return answer.message

        where = 'in the namespace "default"'
        assert await message(alice, "GET", PODS) == (
            f'pods is forbidden: User "alice" cannot list resource "pods" in API group "" {where}'
        )
        assert await message(alice, "GET", f"{PODS}/a/log") == (
            f'pods "a" is forbidden: User "alice" cannot get resource "pods/log" in API group "" {where}'
        )
        assert await message(alice, "GET", PODS, fieldSelector="metadata.name=a", watch="true") == (
            f'pods "a" is forbidden: User "alice" cannot watch resource "pods" in API group "" {where}'
        )
        assert await message(alice, "POST", "/apis/apps/v1/namespaces/default/deployments") == (
            f'deployments.apps is forbidden: User "alice" cannot create resource "deployments" '
            f'in API group "apps" {where}'
        )
        assert await message(alice, "DELETE", "/api/v1/nodes") == (
            'nodes is forbidden: User "alice" cannot deletecollection resource "nodes" '
            'in API group "" at the cluster scope'
        )
        assert await message(alice, "GET", "/metrics") == 'forbidden: User "alice" cannot get path "/metrics"'
        assert await message(nobody, "GET", "/api/v1/nodes") == (
            'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" '
            'in API group "" at the cluster scope'
        )


async def test_everybody_may_discover_and_ask_about_themselves() -> None:
    async with api() as call:
        alice, nobody = Api(call.server, ALICE), Api(call.server, Peer())

        for path in ("/api", "/apis", "/api/v1", "/openapi/v3", "/version", "/readyz"):
            assert (await alice.get(path)).status == 200, path
        own = await alice.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        assert own["status.userInfo.username"] == "alice"
        assert (await nobody.get("/readyz")).status == 200
        assert (await nobody.get("/readyz/ping")).status == 403


async def test_resource_names_narrow_a_rule_to_objects() -> None:
    async with api() as call:
        for name in ("mine", "other"):
            await call.made(CONFIGMAPS, configmap(name))
        await grant(call, rule("get list", "configmaps", resourceNames=["mine"]))
        alice = Api(call.server, ALICE)

        assert (await alice.get(f"{CONFIGMAPS}/mine")).status == 200
        assert (await alice.get(f"{CONFIGMAPS}/other")).status == 403
        assert (await alice.get(CONFIGMAPS)).status == 403
        assert (await alice.get(CONFIGMAPS, fieldSelector="metadata.name=mine")).names == ["mine"]


async def test_service_accounts_are_reached_by_name_and_by_group() -> None:
    async with api() as call:
        await call.made("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "robot"}})
        answer = await call.post("/api/v1/namespaces/default/serviceaccounts/robot/token", {})
        robot = Api(call.server, Peer())
        headers = {"authorization": f"Bearer {answer['status.token']}"}

        assert (await robot.get(CONFIGMAPS, headers=headers)).status == 403
        await grant(call, rule("list", "configmaps"), who="ServiceAccount:robot")
        assert (await robot.get(CONFIGMAPS, headers=headers)).status == 200
        assert (await robot.get(PODS, headers=headers)).status == 403
        await grant(call, rule("list", "pods"), who="Group:system:serviceaccounts:default", name="all")
        assert (await robot.get(PODS, headers=headers)).status == 200


async def test_rights_end_with_the_binding_or_the_role() -> None:
    async with api() as call:
        alice = Api(call.server, ALICE)
        await grant(call, rule("list", "pods"))
        assert (await alice.get(PODS)).status == 200

        await call.delete(f"{RBAC}/namespaces/default/roles/granted")
        answer = await alice.get(PODS)
        assert answer.status == 403
        assert answer.message.endswith('RBAC: role.rbac.authorization.k8s.io "granted" not found')


async def test_aggregated_roles_follow_their_parts() -> None:
    async with api() as call:
        label = {"labels": {f"{GROUP}/aggregate-to-view": "true"}}
        await call.made(f"{RBAC}/clusterroles", role("widgets", rule("get", "widgets", "x.example"), metadata=label))
        await call.server.store.settled()
        view, admin = [(await call.get(f"{RBAC}/clusterroles/{name}"))["rules"] for name in ("view", "admin")]

        assert rule("get", "widgets", "x.example") in view
        assert rule("get", "widgets", "x.example") in admin
        await call.delete(f"{RBAC}/clusterroles/widgets")
        await call.server.store.settled()
        assert rule("get", "widgets", "x.example") not in (await call.get(f"{RBAC}/clusterroles/view"))["rules"]


async def test_view_edit_and_admin_are_what_people_expect() -> None:
    async with api() as call:
        people = {"view": Peer(common_name="v"), "edit": Peer(common_name="e"), "admin": Peer(common_name="a")}
        for name, peer in people.items():
            await call.made(
                f"{RBAC}/namespaces/default/rolebindings",
                binding(name, "ClusterRole", name, f"User:{peer.common_name}"),
            )
        viewer, editor, admin = (Api(call.server, peer) for peer in people.values())
        secrets, jobs = "/api/v1/namespaces/default/secrets", "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"

        assert [(await who.get(secrets)).status for who in (viewer, editor)] == [403, 200]
        assert [(await who.get(jobs)).status for who in (viewer, editor)] == [200, 200]
        assert [(await who.delete(jobs)).status for who in (viewer, editor)] == [403, 200]
        roles = f"{RBAC}/namespaces/default/roles"
        assert [(await who.get(roles)).status for who in (viewer, editor, admin)] == [403, 403, 200]


async def test_nobody_grants_more_than_they_have() -> None:
    async with api() as call:
        alice, roles = Api(call.server, ALICE), f"{RBAC}/namespaces/default/roles"
        await grant(call, rule("create", "roles rolebindings", GROUP), rule("get", "pods"))

        allowed = await alice.post(roles, role("fine", rule("get", "pods")))
        denied = await alice.post(roles, role("greedy", rule("get list", "pods secrets")))
        assert (allowed.status, denied.status) == (201, 403)
        assert denied.message == (
            'roles.rbac.authorization.k8s.io "greedy" is forbidden: user "alice" '
            '(groups=["devs" "system:authenticated"]) '
            "is attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n'
            '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
        )
        bindings = f"{RBAC}/namespaces/default/rolebindings"
        assert (await alice.post(bindings, binding("b", "Role", "fine", "User:bob"))).status == 201
        assert (await alice.post(bindings, binding("c", "ClusterRole", "cluster-admin", "User:bob"))).status == 403
        missing = await alice.post(bindings, binding("d", "ClusterRole", "nothing", "User:bob"))
        assert (missing.status, missing.message) == (404, f'rolebindings.{GROUP} "nothing" not found')


async def test_the_verbs_escalate_and_bind_lift_the_limit() -> None:
    async with api() as call:
        alice = Api(call.server, ALICE)
        await grant(
            call,
            rule("create escalate", "roles", GROUP),
            rule("create", "rolebindings", GROUP),
            rule("bind", "clusterroles", GROUP, resourceNames=["view"]),
        )
        roles, bindings = (f"{RBAC}/namespaces/default/{plural}" for plural in ("roles", "rolebindings"))

        assert (await alice.post(roles, role("greedy", rule("*", "secrets")))).status == 201
        assert (await alice.post(bindings, binding("v", "ClusterRole", "view", "User:bob"))).status == 201
        assert (await alice.post(bindings, binding("e", "ClusterRole", "edit", "User:bob"))).status == 403


async def test_impossible_roles_and_bindings_are_named_field_by_field() -> None:
    async with api() as call:
        bad = await call.post(
            f"{RBAC}/namespaces/default/roles", role("r", {"verbs": ["get"], "nonResourceURLs": ["/x"]})
        )
        empty = await call.post(f"{RBAC}/clusterroles", role("r", {"verbs": ["get"]}))
        unknown = await call.post(f"{RBAC}/clusterrolebindings", binding("b", "Role", "x", "Robot:r"))
        await call.made(f"{RBAC}/clusterrolebindings", binding("fixed", "ClusterRole", "view", "User:a"))
        moved = await call.patch(f"{RBAC}/clusterrolebindings/fixed", {"roleRef": {"name": "edit"}})

        def fields(answer: Answer) -> list[str]:
            assert answer.status == 422, answer.message
            return [cause["field"] for cause in answer["details.causes"]]

        assert bad.message.endswith(
            'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'
        )
        assert fields(empty) == ["rules[0].apiGroups", "rules[0].resources"]
        assert fields(unknown) == ["roleRef.kind", "subjects[0].kind"]
        assert fields(moved) == ["roleRef"]
        assert moved.message.endswith(": cannot change roleRef")


async def test_reviews_say_why() -> None:
    async with api() as call:
        await grant(call, rule("get", "pods"))
        question = {"verb": "get", "resource": "pods", "namespace": "default"}
        own = await Api(call.server, ALICE).post(
            f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": question}}
        )
        local = await call.post(
            f"{REVIEWS}/namespaces/default/localsubjectaccessreviews",
            {"spec": {"user": "alice", "resourceAttributes": question | {"verb": "list"}}},
        )
        rules = await Api(call.server, ALICE).post(
            f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
        )
        vague = await call.post(f"{REVIEWS}/subjectaccessreviews", {"spec": {"user": "alice"}})
        nowhere = await call.post(f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {}})

        assert own["status"] == {
            "allowed": True,
            "reason": 'RBAC: allowed by RoleBinding "granted/default" of Role "granted" to User "alice"',
        }
        assert local["status"] == {"allowed": False}
        assert {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]} in rules["status.resourceRules"]
        assert vague.status == 422
        assert "exactly one of nonResourceAttributes or resourceAttributes must be specified" in vague.message
        assert (nowhere.status, nowhere.message) == (400, "no namespace on request")


def test_the_roles_of_every_cluster_are_complete() -> None:
    documents = seeds.load()
    names = {(item["kind"], item["metadata"]["name"]) for item in documents}

    for name in ("cluster-admin", "admin", "edit", "view", "system:kube-scheduler", "system:kube-controller-manager"):
        assert ("ClusterRole", name) in names
    for item in documents:
        if item["kind"].endswith("Binding"):
            assert (item["roleRef"]["kind"], item["roleRef"]["name"]) in names
