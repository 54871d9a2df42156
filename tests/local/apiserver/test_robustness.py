"""Nothing that a client can send makes the server fail: every answer is a success or a Status that says why."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.local.apiserver.api import APPLY, JSON_PATCH, MERGE, PODS, STRATEGIC, Api, Document, api, pod
from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO

JUNK: tuple[Any, ...] = (None, 0, -1, 1.5, True, "", "x", "A b", [], [1], [None], [{}], {}, {"a": None}, {"a": [1]})

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
SPECS: dict[str, Document] = {
    "Pod": pod("x", tolerations=[{"key": "a", "operator": "Exists"}], priorityClassName="p", schedulerName="volcano")[
        "spec"
    ],
    "Job": {
        "tasks": [
            {"name": "t", "replicas": 1, "template": TEMPLATE, "policies": [{"event": "*", "action": "RestartJob"}]}
        ]
    },
    "Deployment": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
    "Queue": {"weight": 1, "capability": {"cpu": "1"}, "guarantee": {"resource": {"cpu": 1}}},
    "PodGroup": {"minMember": 1, "queue": "default", "minResources": {"cpu": "1"}},
    "Service": {"ports": [{"port": 80}], "selector": {"a": "b"}},
    "CustomResourceDefinition": {
        "group": "x.y",
        "scope": "Cluster",
        "names": {"plural": "as", "kind": "A"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
    "CronJob": {"schedule": "* * * * *", "jobTemplate": {"spec": {"tasks": [{"name": "t", "template": TEMPLATE}]}}},
    "JobFlow": {"flows": [{"name": "a", "dependsOn": {"targets": ["b"]}}]},
    "HyperNode": {"tier": 1, "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "a.*"}}}]},
    "PodDisruptionBudget": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
}
RESOURCES = [resource for resource in (*ALL_KUBERNETES, *ALL_VOLCANO) if resource.plural != "bindings"]


def damaged(document: Any, rng: random.Random) -> Any:
    """`document` with one or two places replaced by something that does not belong there."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 2)):
        at, key = document, rng.choice(list(document) if isinstance(document, dict) else range(len(document)))
        while isinstance(at[key], dict | list) and at[key] and rng.random() < 0.75:
            at = at[key]
            key = rng.choice(list(at)) if isinstance(at, dict) else rng.randrange(len(at))
        at[key] = copy.deepcopy(rng.choice(JUNK))
    return document


def whole(kind: str) -> Document:
    metadata = {
        "name": "x",
        "labels": {"a": "b"},
        "annotations": {"a": "b", "volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/2"},
        "finalizers": ["a/b"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}],
    }
    document: Document = {"metadata": metadata, "spec": copy.deepcopy(SPECS.get(kind, {})), "status": {"phase": "x"}}
    if kind.endswith("WebhookConfiguration"):
        document["webhooks"] = [
            {"name": "a.b.c", "clientConfig": {"service": {"name": "x"}}, "rules": [{"operations": ["*"]}]}
        ]
    return document


@settings(max_examples=60)
@given(st.integers(min_value=0))
def test_damaged_objects_are_refused_or_stored(seed: int) -> None:
    async def attempt() -> None:
        rng = random.Random(seed)
        resource = rng.choice(RESOURCES)
        path = resource.path("default" if resource.namespaced else None)
        async with api() as call:
            await understood(call, "POST", path, damaged(whole(resource.kind), rng))
            await call.post(path, whole(resource.kind))
            for kind in (MERGE, STRATEGIC, APPLY):
                patch = damaged(whole(resource.kind), rng)
                patch |= {"apiVersion": resource.api_version, "kind": resource.kind}
                await understood(call, "PATCH", f"{path}/x", patch, kind, fieldManager="f", force="true")
            await understood(call, "PUT", f"{path}/x", damaged(whole(resource.kind), rng))
            status = {"status": rng.choice(JUNK)}
            await understood(call, "PATCH", f"{path}/x/status", status, MERGE)
            for accept in ("application/json;as=Table;v=v1;g=meta.k8s.io", "application/json"):
                await understood(call, "GET", path, headers={"accept": accept})
            await understood(
                call,
                "DELETE",
                f"{path}/x",
                damaged({"propagationPolicy": "Orphan", "preconditions": {"uid": "a"}}, rng),
            )

    asyncio.run(attempt())


OPERATIONS = [
    {"op": "replace", "path": "/spec/containers/0/image", "value": "b"},
    {"op": "add", "path": "/metadata/labels/a", "value": "b"},
    {"op": "move", "from": "/spec", "path": "/status"},
    {"op": "remove", "path": "/metadata"},
]


@settings(max_examples=60)
@given(st.integers(min_value=0))
def test_damaged_requests_about_pods_are_understood(seed: int) -> None:
    async def attempt() -> None:
        rng = random.Random(seed)
        async with api() as call:
            await call.made(PODS, pod("x", labels={"a": "b"}))
            await understood(
                call,
                "PATCH",
                f"{PODS}/x",
                damaged(OPERATIONS, rng) if rng.random() < 0.5 else rng.choice(JUNK),
                JSON_PATCH,
            )
            binding = {"metadata": {"name": "x", "annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "n"}}
            await understood(call, "POST", f"{PODS}/x/binding", damaged(binding, rng))
            eviction = {"metadata": {"name": "x"}, "deleteOptions": {"gracePeriodSeconds": 1, "preconditions": {}}}
            await understood(call, "POST", f"{PODS}/x/eviction", damaged(eviction, rng))
            options = {rng.choice(QUERY): rng.choice(("", "0", "1", "-1", "true", "x", "a=b", "=", "a in (", "9" * 30))}
            for query in (options, options | {"watch": "1", "timeoutSeconds": "1"}):
                await understood(call, "GET", PODS, None, **query)
            review = {"spec": {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/"}}}
            await understood(
                call, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", damaged(review, rng)
            )

    asyncio.run(attempt())


REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
QUERY = (
    *("limit", "continue", "resourceVersion", "resourceVersionMatch"),
    *("labelSelector", "fieldSelector", "sendInitialEvents"),
)


async def understood(
    call: Api, method: str, path: str, body: Any = None, kind: str = "application/json", **options: Any
) -> None:
    from volcano.http.message import Request

    headers = {"content-type": kind, **options.pop("headers", {})}
    content = b"" if body is None else json.dumps(body).encode()
    request = Request(method, path, list(options.items()), headers, content, call.peer)
    response = await call.server.handle(request)
    assert response.status < 500 or response.status in (501, 504), (method, path, body, response.body)
