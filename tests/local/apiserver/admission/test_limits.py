"""LimitRanges and ResourceQuotas: what a namespace allows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.local.apiserver.api import CONFIGMAPS, PODS, Api, Document, api, configmap, pod

LIMITS = "/api/v1/namespaces/default/limitranges"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def sized(name: str, **resources: Any) -> Document:
    document = pod(name)
    document["spec"]["containers"][0]["resources"] = resources
    return document


async def limit(call: Api, **item: Any) -> None:
    await call.made(LIMITS, {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", **item}]}})


async def quota(call: Api, name: str = "q", scopes: Any = None, **hard: str) -> None:
    spec: Document = {"hard": {key.replace("_", "."): value for key, value in hard.items()}}
    if scopes:
        spec["scopes"] = scopes
    await call.made(QUOTAS, {"metadata": {"name": name}, "spec": spec})


async def test_containers_get_the_defaults_of_their_namespace() -> None:
    async with api() as call:
        await limit(call, default={"cpu": "2"}, defaultRequest={"cpu": "500m"})

        plain = await call.made(PODS, sized("a"))
        own = await call.made(PODS, sized("b", requests={"cpu": "1"}))

        assert plain["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}}
        assert own["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("bound", "resources", "words"),
    [
        (
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, "maximum cpu usage per Container is 1, but limit is 2"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "4"}, "requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000",
        ),
    ],
)
async def test_bounds_are_kept(bound: dict[str, Any], resources: dict[str, Any], words: str) -> None:
    async with api() as call:
        await limit(call, **bound)
        answer = await call.post(PODS, sized("a", **resources))

        assert (answer.status, answer.message) == (403, f'pods "a" is forbidden: {words}')


async def test_a_pod_counts_as_a_whole() -> None:
    async with api() as call:
        await call.made(LIMITS, {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "3"}}]}})
        document = sized("a", limits={"cpu": "2"})
        document["spec"]["containers"].append({"name": "b", "image": "x", "resources": {"limits": {"cpu": "2"}}})

        assert "maximum cpu usage per Pod is 3, but limit is 4" in (await call.post(PODS, document)).message


async def test_a_quota_is_used_up_and_given_back() -> None:
    async with api() as call:
        await quota(call, cpu="2", pods="10")
        first = await call.post(PODS, sized("a", requests={"cpu": "1500m"}))
        second = await call.post(PODS, sized("b", requests={"cpu": "1"}))
        await call.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
        third = await call.post(PODS, sized("b", requests={"cpu": "1"}))
        await asyncio.sleep(0.3)
        shown = (await call.get(f"{QUOTAS}/q"))["status"]

        assert (first.status, second.status, third.status) == (201, 403, 201)
        assert second.message == (
            'pods "b" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=1500m, limited: cpu=2'
        )
        assert shown == {"hard": {"cpu": "2", "pods": "10"}, "used": {"cpu": "1", "pods": "1"}}


async def test_concurrent_creates_do_not_pass_together() -> None:
    async with api() as call:
        await quota(call, pods="3")
        answers = await asyncio.gather(*(call.post(PODS, pod(f"p{number}")) for number in range(8)))

        assert sorted(answer.status for answer in answers) == [201] * 3 + [403] * 5


async def test_a_quota_of_compute_wants_it_specified() -> None:
    async with api() as call:
        await quota(call, limits_cpu="2", cpu="1")
        answer = await call.post(PODS, sized("a"))

        assert (answer.status, answer.message) == (
            403,
            'pods "a" is forbidden: failed quota: q: must specify cpu for: main; limits.cpu for: main',
        )


async def test_quotas_count_objects_of_other_kinds() -> None:
    async with api() as call:
        await quota(call, configmaps="1", **{"count/jobs_batch_volcano_sh": "0"})
        await call.made(CONFIGMAPS, configmap("a"))

        assert "exceeded quota: q, requested: configmaps=1" in (await call.post(CONFIGMAPS, configmap("b"))).message
        await call.delete(f"{CONFIGMAPS}/a")
        assert (await call.post(CONFIGMAPS, configmap("b"))).status == 201


async def test_scopes_choose_the_pods_of_a_quota() -> None:
    async with api() as call:
        await quota(call, scopes=["BestEffort"], pods="1")
        await call.made(PODS, sized("a", requests={"cpu": "1"}))
        await call.made(PODS, sized("b", requests={"cpu": "1"}))
        await call.made(PODS, sized("c"))

        assert (await call.post(PODS, sized("d"))).status == 403
