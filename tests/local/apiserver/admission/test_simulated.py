"""Who submits a command to a cluster with simulated nodes is told that it may not run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.local.apiserver.api import JOBS, PODS, QUEUES, Api, api

NODES = "/api/v1/nodes"
COMMAND = {"containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}

SIMULATED = {"name": "sim-0", "labels": {"volcano.sh/simulated": "true"}}


def job(name: str, spec: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, Any]:
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"restartPolicy": "Never", **spec}}
    return {"metadata": {"name": name}, "spec": {"tasks": [{"name": "t", "replicas": 1, "template": template}]}}


@asynccontextmanager
async def server(*nodes: dict[str, Any]) -> AsyncIterator[Api]:
    async with api() as call:
        await call.made(QUEUES, {"metadata": {"name": "default"}})
        for node in nodes:
            await call.made(NODES, {"metadata": node})
        yield call


async def told(call: Api, path: str, document: dict[str, Any]) -> bool:
    answer = await call("POST", path, document, dryRun="All")
    assert answer.status == 201, answer.message
    return "simulated nodes" in answer.headers.get("warning", "")


async def test_only_where_there_are_simulated_nodes() -> None:
    async with server({"name": "real"}) as call:
        assert not await told(call, JOBS, job("j", COMMAND))
        await call.made(NODES, {"metadata": SIMULATED})
        assert await told(call, JOBS, job("j", COMMAND))
        await call("DELETE", f"{NODES}/sim-0")
        assert not await told(call, JOBS, job("j", COMMAND))


@pytest.mark.parametrize(
    "aware",
    [
        {"spec": {**COMMAND, "nodeSelector": {"kubernetes.io/hostname": "local"}}},
        {"spec": COMMAND, "annotations": {"volcano.sh/simulate-duration": "1s"}},
        {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
    ],
)
async def test_not_to_whom_it_is_known(aware: dict[str, Any]) -> None:
    async with server(SIMULATED) as call:
        assert not await told(call, JOBS, job("j", **aware))


async def test_of_what_makes_jobs() -> None:
    """Nobody hears what the server says to the controllers that make them."""
    async with server(SIMULATED) as call:
        template = {"spec": job("", COMMAND)["spec"]}
        scheduled = {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": template}}
        assert await told(call, JOBS.replace("jobs", "cronjobs"), scheduled)
        templates = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobtemplates"
        assert await told(call, templates, {"metadata": {"name": "t"}, **template})


async def test_of_a_pod_only_where_nobody_stands_for_it() -> None:
    async with server(SIMULATED) as call:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
        assert await told(call, PODS, {"metadata": {"name": "p"}, "spec": COMMAND})
        assert not await told(call, PODS, {"metadata": {"name": "p", "ownerReferences": [owner]}, "spec": COMMAND})
