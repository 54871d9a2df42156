"""Who creates what nothing in local mode acts upon is told so; who creates what something does is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.apiserver.api import MERGE, Api, api

POD = {"spec": {"containers": [{"name": "main", "image": "busybox", "command": ["true"]}], "restartPolicy": "Never"}}
ALWAYS = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}
NAMED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
BATCH = "/apis/batch/v1/namespaces/default/"
NETWORKING = "/apis/networking.k8s.io/v1/namespaces/default/"
CRON_JOB = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": POD}}}


async def told(call: Api, path: str, spec: dict[str, Any]) -> str:
    answer = await call("POST", path, {"metadata": {"name": "x"}, "spec": spec})
    assert answer.status == 201, answer.message
    return answer.headers.get("warning", "")


@pytest.mark.parametrize(
    ("path", "spec", "text"),
    [
        (
            f"{BATCH}cronjobs",
            CRON_JOB,
            "nothing here runs CronJobs of batch/v1: use a CronJob of batch.volcano.sh/v1alpha1",
        ),
        (
            "/api/v1/namespaces/default/replicationcontrollers",
            {"selector": {"a": "b"}, "template": ALWAYS},
            "ReplicationControllers",
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            {"maxReplicas": 2, "scaleTargetRef": NAMED},
            "HorizontalPodAutoscalers",
        ),
        (f"{NETWORKING}ingresses", {"defaultBackend": {"resource": NAMED}}, "Ingresses"),
        (f"{NETWORKING}networkpolicies", {"podSelector": {}}, "NetworkPolicies"),
    ],
    ids=["cronjobs", "replicationcontrollers", "horizontalpodautoscalers", "ingresses", "networkpolicies"],
)
async def test_of_what_nothing_serves(path: str, spec: dict[str, Any], text: str) -> None:
    async with api() as call:
        assert text in await told(call, path, spec)


@pytest.mark.parametrize(
    ("path", "spec"),
    [
        (f"{BATCH}jobs", {"template": POD}),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            {"selector": {"matchLabels": {"a": "b"}}, "template": ALWAYS},
        ),
    ],
    ids=["jobs", "deployments"],
)
async def test_not_of_what_something_does(path: str, spec: dict[str, Any]) -> None:
    async with api() as call:
        assert not await told(call, path, spec)


async def test_at_creation_alone() -> None:
    async with api() as call:
        await told(call, f"{BATCH}cronjobs", CRON_JOB)
        changed = await call("PATCH", f"{BATCH}cronjobs/x", {"spec": {"suspend": True}}, MERGE)
        assert changed.status == 200
        assert "warning" not in changed.headers
