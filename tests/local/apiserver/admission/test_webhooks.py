"""Admission webhooks of users: a real HTTPS server beside the API server."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.local.apiserver.api import CONFIGMAPS, Answer, Api, api, configmap
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import server_context
from volcano.local.apiserver import certificates
from volcano.local.apiserver.admission import conditions

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
Judge = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> certificates.Pki:
    return certificates.ensure(tmp_path_factory.mktemp("pki"), ["127.0.0.1", "hook.default.svc"])


@asynccontextmanager
async def hook(pki: certificates.Pki, judge: Judge) -> AsyncIterator[tuple[int, list[dict[str, Any]]]]:
    """A webhook server: its port, and the reviews it has seen."""
    seen: list[dict[str, Any]] = []

    async def handle(request: Request) -> Response:
        review = json.loads(request.body)["request"]
        seen.append(review)
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        response = {"uid": review["uid"], **judge(review)}
        return Response(
            200, {"content-type": "application/json"}, json.dumps({**answer, "response": response}).encode()
        )

    server = await serve(handle, ssl=server_context(pki.certificate("server"), pki.key("server")))
    try:
        yield server.port, seen
    finally:
        await server.close(0)


async def register(call: Api, pki: certificates.Pki, kind: str, port: int, **more: Any) -> None:
    bundle = base64.b64encode(pki.certificate("ca").read_bytes()).decode()
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    webhook = {
        "name": "check.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/check", "caBundle": bundle},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    await call.made(
        f"{REGISTRATION}/{kind.lower()}webhookconfigurations", {"metadata": {"name": "h"}, "webhooks": [webhook]}
    )


def deny(review: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": False, "status": {"message": f"no {review['name']} here"}, "warnings": ["think again"]}


def allow(_: dict[str, Any]) -> dict[str, Any]:
    return {"allowed": True}


def label(_: dict[str, Any]) -> dict[str, Any]:
    operations = [{"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}}]
    return {
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(operations).encode()).decode(),
    }


async def test_a_validating_webhook_has_the_last_word(pki: certificates.Pki) -> None:
    async with api() as call, hook(pki, deny) as (port, seen):
        await register(call, pki, "Validating", port)
        answer = await call.post(CONFIGMAPS, configmap("a"))

        assert answer.status == 400
        assert answer.message == 'admission webhook "check.example.com" denied the request: no a here'
        assert (seen[0]["operation"], seen[0]["namespace"], seen[0]["userInfo"]["username"]) == (
            "CREATE",
            "default",
            "volcano",
        )
        assert seen[0]["object"]["metadata"]["uid"]
        assert (await call.get(CONFIGMAPS)).names == []


async def test_a_mutating_webhook_changes_what_is_stored(pki: certificates.Pki) -> None:
    async with api() as call, hook(pki, label) as (port, _):
        await register(call, pki, "Mutating", port)

        assert (await call.made(CONFIGMAPS, configmap("a")))["metadata"]["labels"] == {"by": "hook"}


async def test_webhooks_see_only_what_they_asked_for(pki: certificates.Pki) -> None:
    async with api() as call, hook(pki, deny) as (port, seen):
        selector = {
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default"]}]
        }
        await register(call, pki, "Validating", port, namespaceSelector=selector)

        await call.made(CONFIGMAPS, configmap("a"))
        assert (await call.post("/api/v1/namespaces/kube-public/configmaps", configmap("a"))).status == 400
        await call.made("/api/v1/namespaces/kube-public/serviceaccounts", {"metadata": {"name": "a"}})
        assert len(seen) == 1


async def test_a_webhook_is_found_through_its_service(pki: certificates.Pki) -> None:
    async with api() as call, hook(pki, label) as (port, _):
        bundle = base64.b64encode(pki.certificate("ca").read_bytes()).decode()
        client = {"service": {"namespace": "default", "name": "hook"}, "caBundle": bundle}
        await register(call, pki, "Mutating", port, clientConfig=client)
        lost = await call.post(CONFIGMAPS, configmap("a"))
        ports = [{"port": 443, "targetPort": port}]
        await call.made("/api/v1/namespaces/default/services", {"metadata": {"name": "hook"}, "spec": {"ports": ports}})
        subsets = [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]}]
        await call.made("/api/v1/namespaces/default/endpoints", {"metadata": {"name": "hook"}, "subsets": subsets})

        assert (lost.status, 'service "hook" not found' in lost.message) == (500, True)
        assert (await call.made(CONFIGMAPS, configmap("a")))["metadata"]["labels"] == {"by": "hook"}


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_an_unreachable_webhook_fails_or_is_ignored_as_registered(
    pki: certificates.Pki, policy: str, status: int
) -> None:
    async with api() as call:
        await register(call, pki, "Validating", 1, failurePolicy=policy)
        answer = await call.post(CONFIGMAPS, configmap("a"))

        assert answer.status == status
        if policy == "Fail":
            assert answer.message.startswith('Internal error occurred: failed calling webhook "check.example.com"')


async def test_registrations_are_checked() -> None:
    async with api() as call:
        webhook = {"name": "a.b.c", "clientConfig": {}, "sideEffects": "Some", "admissionReviewVersions": ["v1beta1"]}
        path = f"{REGISTRATION}/validatingwebhookconfigurations"
        answer = await call.post(path, {"metadata": {"name": "h"}, "webhooks": [webhook]})

        assert {cause["field"] for cause in answer["details.causes"]} == {
            "webhooks[0].clientConfig",
            "webhooks[0].sideEffects",
            "webhooks[0].admissionReviewVersions",
        }


def test_certificates_are_kept_until_they_run_out(pki: certificates.Pki, tmp_path: Path) -> None:
    before = pki.certificate("server").read_bytes()
    assert certificates.ensure(pki.root, ["127.0.0.1"]).certificate("server").read_bytes() == before
    record = json.loads(pki.record.read_text())
    authority = pki.certificate("ca").read_bytes()
    pki.record.write_text(json.dumps(record | {"expires": 0}))
    renewed = certificates.ensure(pki.root, ["127.0.0.1", "hook.default.svc"])
    assert renewed.certificate("server").read_bytes() != before
    assert renewed.certificate("ca").read_bytes() == authority


async def test_a_webhook_is_asked_again_when_a_later_one_changed_more(pki: certificates.Pki) -> None:
    def annotate(review: dict[str, Any]) -> dict[str, Any]:
        count = int((review["object"]["metadata"].get("annotations") or {}).get("count", 0))
        operations = [{"op": "add", "path": "/metadata/annotations", "value": {"count": str(count + 1)}}]
        return label(review) | {"patch": base64.b64encode(json.dumps(operations).encode()).decode()}

    async with api() as call, hook(pki, annotate) as (first, _), hook(pki, label) as (second, _):
        await register(call, pki, "Mutating", first, reinvocationPolicy="IfNeeded")
        registered = await call.get(f"{REGISTRATION}/mutatingwebhookconfigurations/h")
        later = registered.json["webhooks"][0] | {"name": "later.example.com", "reinvocationPolicy": "Never"}
        later["clientConfig"] = later["clientConfig"] | {"url": f"https://127.0.0.1:{second}/"}
        await call.made(
            f"{REGISTRATION}/mutatingwebhookconfigurations", {"metadata": {"name": "z"}, "webhooks": [later]}
        )
        made = await call.made(CONFIGMAPS, configmap("a"))

        assert made["metadata"]["annotations"] == {"count": "2"}
        assert made["metadata"]["labels"] == {"by": "hook"}


async def test_a_dry_run_asks_only_webhooks_without_side_effects(pki: certificates.Pki) -> None:
    async with api() as call, hook(pki, deny) as (port, seen):
        await register(call, pki, "Validating", port)
        answer = await call.post(CONFIGMAPS, configmap("a"), dryRun="All")
        assert (answer.status, seen[0]["dryRun"]) == (400, True)


def conditional(*expressions: str, **more: Any) -> dict[str, Any]:
    conditions = [{"name": f"c{number}", "expression": text} for number, text in enumerate(expressions)]
    return {"matchConditions": conditions, **more}


@pytest.mark.parametrize(
    ("expressions", "asked"),
    [
        (["object.metadata.name == 'a'"], True),
        (["object.metadata.name == 'b'"], False),
        (["request.operation == 'CREATE'", "request.userInfo.username == 'system:admin'"], False),
        (["oldObject == null", "object.?data.?missing.orValue('') == ''"], True),
        (["object.data.missing == 'x'", "false"], False),
    ],
)
async def test_a_webhook_is_asked_when_all_its_conditions_hold(
    pki: certificates.Pki, expressions: list[str], asked: bool
) -> None:
    pytest.importorskip("cel_expr_python", reason="the extra volcano[cel] is not installed")
    async with api() as call, hook(pki, allow) as (port, seen):
        await register(call, pki, "Validating", port, **conditional(*expressions))
        await call.made(CONFIGMAPS, configmap("a"))

        assert bool(seen) == asked


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_a_condition_without_an_answer_is_a_failure_of_the_webhook(
    pki: certificates.Pki, policy: str, status: int
) -> None:
    pytest.importorskip("cel_expr_python", reason="the extra volcano[cel] is not installed")
    async with api() as call, hook(pki, allow) as (port, seen):
        await register(call, pki, "Validating", port, **conditional("object.data.x == 'y'", failurePolicy=policy))
        answer = await call.post(CONFIGMAPS, configmap("a"))

        assert (answer.status, seen) == (status, [])


async def refused_conditions(*conditions: dict[str, str]) -> Answer:
    webhook: dict[str, Any] = {"name": "a.b.c", "clientConfig": {"url": "https://x"}, "sideEffects": "None"}
    webhook |= {"admissionReviewVersions": ["v1"], "matchConditions": list(conditions)}
    async with api() as call:
        return await call.post(
            f"{REGISTRATION}/validatingwebhookconfigurations", {"metadata": {"name": "h"}, "webhooks": [webhook]}
        )


async def test_conditions_that_cannot_be_are_refused_by_name() -> None:
    pytest.importorskip("cel_expr_python", reason="the extra volcano[cel] is not installed")
    answer = await refused_conditions(
        {"name": "m", "expression": "object."},
        {"name": "n", "expression": "1"},
        {"name": "o", "expression": "authorizer.group('').check('get').allowed()"},
    )

    assert answer.status == 422
    assert [cause["field"].removeprefix("webhooks[0].matchConditions") for cause in answer["details.causes"]] == [
        "[0].expression",
        "[1].expression",
        "[2].expression",
    ]


async def test_without_the_engine_conditions_are_refused_and_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cel_expr_python.cel", None)
    conditions.engine.cache_clear()
    try:
        answer = await refused_conditions({"name": "m", "expression": "object.kind == 'nobody compiled this before'"})
    finally:
        conditions.engine.cache_clear()

    assert answer.status == 422
    assert "webhooks[0].matchConditions: Forbidden" in answer.message
    assert "pip install 'volcano[cel]'" in answer.message
