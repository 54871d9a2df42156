"""Deletion: at once, in order, or as soon as nothing holds the object."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.local.apiserver.api import CONFIGMAPS, PODS, api, configmap, numbers, pod
from tests.waiting import until
from volcano.local.apiserver.strategies import events


async def test_an_ordinary_object_is_gone_at_once() -> None:
    async with api() as call:
        made = await call.made(CONFIGMAPS, configmap("a"))
        answer = await call.delete(f"{CONFIGMAPS}/a")

        assert (answer["status"], answer["details.uid"]) == ("Success", made["metadata"]["uid"])
        assert (await call.delete(f"{CONFIGMAPS}/a")).status == 404


async def test_a_running_pod_gets_time_to_end() -> None:
    async with api() as call:
        await call.made(PODS, pod("a", nodeName="n1"))
        first = await call.delete(f"{PODS}/a")
        longer = await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 100})
        shorter = await call.delete(f"{PODS}/a", gracePeriodSeconds=5)
        last = await call.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})

        assert first["metadata.deletionTimestamp"] is not None
        assert [item["metadata.deletionGracePeriodSeconds"] for item in (first, longer, shorter)] == [30, 30, 5]
        assert (last["kind"], last["metadata.deletionGracePeriodSeconds"]) == ("Pod", 0)
        assert (await call.get(f"{PODS}/a")).status == 404


async def test_a_pod_without_node_or_at_its_end_goes_at_once() -> None:
    async with api() as call:
        await call.made(PODS, pod("a"))
        await call.made(PODS, pod("b", nodeName="n1"))
        await call.patch(f"{PODS}/b/status", {"status": {"phase": "Succeeded"}})

        for name in ("a", "b"):
            assert (await call.delete(f"{PODS}/{name}"))["kind"] == "Pod"
            assert (await call.get(f"{PODS}/{name}")).status == 404


async def test_a_pod_whose_time_runs_keeps_it_when_it_ends() -> None:
    async with api() as call:
        await call.made(PODS, {**pod("a", nodeName="n1"), "metadata": {"name": "a", "finalizers": ["x/y"]}})
        await call.delete(f"{PODS}/a")
        await call.patch(f"{PODS}/a/status", {"status": {"phase": "Succeeded"}})
        again = await call.delete(f"{PODS}/a", propagationPolicy="Orphan")
        sooner = await call.delete(f"{PODS}/a", gracePeriodSeconds=7)

        assert [item["metadata.deletionGracePeriodSeconds"] for item in (again, sooner)] == [30, 7]
        assert again["metadata.finalizers"] == ["x/y"]


async def test_finalizers_hold_an_object_until_the_last_is_removed() -> None:
    async with api() as call:
        await call.made(CONFIGMAPS, {"metadata": {"name": "a", "finalizers": ["x/y", "x/z"]}})
        held = await call.delete(f"{CONFIGMAPS}/a")
        await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": ["x/z"]}})
        stream = await call.watch(CONFIGMAPS, resourceVersion=held["metadata.resourceVersion"])
        await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})

        assert held["metadata.deletionTimestamp"] is not None
        assert [kind for kind, _ in await stream.take(2)] == ["MODIFIED", "DELETED"]
        assert (await call.get(f"{CONFIGMAPS}/a")).status == 404


async def test_propagation_leaves_its_finalizer() -> None:
    async with api() as call:
        for name, policy in (("a", "Orphan"), ("b", "Foreground")):
            await call.made(CONFIGMAPS, configmap(name))
            await call.delete(f"{CONFIGMAPS}/{name}", {"propagationPolicy": policy})
        await call.made(CONFIGMAPS, configmap("c"))

        assert (await call.get(f"{CONFIGMAPS}/a"))["metadata.finalizers"] == ["orphan"]
        assert (await call.get(f"{CONFIGMAPS}/b"))["metadata.finalizers"] == ["foregroundDeletion"]
        assert (await call.delete(f"{CONFIGMAPS}/c", {"propagationPolicy": "Sideways"})).status == 422
        assert (await call.delete(f"{CONFIGMAPS}/c", {"propagationPolicy": "Background"}))["status"] == "Success"


async def test_preconditions_guard_a_deletion() -> None:
    async with api() as call:
        made = await call.made(CONFIGMAPS, configmap("a"))
        other = await call.delete(f"{CONFIGMAPS}/a", {"preconditions": {"uid": "other"}})
        stale = await call.delete(f"{CONFIGMAPS}/a", {"preconditions": {"resourceVersion": "1"}})
        right = await call.delete(f"{CONFIGMAPS}/a", {"preconditions": {"uid": made["metadata"]["uid"]}})

        assert (other.status, stale.status, right.status) == (409, 409, 200)
        assert "the UID in the precondition (other) does not match the UID in record" in other.message


async def test_the_options_of_a_deletion_are_in_its_body_or_else_in_its_query() -> None:
    async with api() as call:
        await call.made(CONFIGMAPS, configmap("a"))
        tried = await call.delete(f"{CONFIGMAPS}/a", dryRun="All")
        both = await call.delete(f"{CONFIGMAPS}/a", {"propagationPolicy": "Orphan", "orphanDependents": True})
        part = await call.delete(f"{CONFIGMAPS}/a", {"dryRun": ["Some"]})
        done = await call.delete(f"{CONFIGMAPS}/a", {"gracePeriodSeconds": 0}, dryRun="All")

        assert (tried.status, both.status, part.status, done.status) == (200, 422, 422, 200)
        assert (await call.get(f"{CONFIGMAPS}/a")).status == 404


async def test_a_collection_is_deleted_by_selector() -> None:
    async with api() as call:
        for name in numbers(4):
            await call.made(CONFIGMAPS, configmap(name, {"half": str(int(name) % 2)}))
        await call.delete(CONFIGMAPS, labelSelector="half=1")
        assert (await call.get(CONFIGMAPS)).names == ["000", "002"]
        await call.delete(CONFIGMAPS)
        assert (await call.get(CONFIGMAPS)).names == []
        assert (await call.delete("/api/v1/namespaces")).status == 405


async def test_a_namespace_ends_when_it_is_finalized() -> None:
    async with api() as call:
        await call.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
        ending = await call.delete("/api/v1/namespaces/x")
        done = await call.put("/api/v1/namespaces/x/finalize", {"metadata": {"name": "x"}, "spec": {"finalizers": []}})

        assert (ending["status.phase"], done.status) == ("Terminating", 200)
        assert (await call.get("/api/v1/namespaces/x")).status == 404


async def test_events_live_for_an_hour(monkeypatch: object) -> None:
    monkeypatch.setattr(events, "_SWEEP_SECONDS", 0.01)  # type: ignore[attr-defined]
    monkeypatch.setattr(events, "LIFETIME_SECONDS", 0.05)  # type: ignore[attr-defined]
    path = "/api/v1/namespaces/default/events"
    async with api() as call:
        await call.made(path, {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "default"}})
        assert (await call.get(path)).names == ["e"]
        await asyncio.sleep(0.2)
        assert (await call.get(path)).names == []


@pytest.mark.parametrize("step", [7200.0, -7200.0], ids=["forward", "back"])
async def test_events_live_as_long_though_the_clock_is_set(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    true_time = time.time
    monkeypatch.setattr(events, "_SWEEP_SECONDS", 0.2)
    monkeypatch.setattr(events, "LIFETIME_SECONDS", 3600.0 if step > 0 else 0.1)
    path = "/api/v1/namespaces/default/events"
    async with api() as call:
        await call.made(path, {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "default"}})
        monkeypatch.setattr(time, "time", lambda: true_time() + step)

        async def is_gone() -> bool:
            return (await call.get(path)).names == []

        if step > 0:
            await asyncio.sleep(0.4)
            assert not await is_gone()
        else:
            await until(is_gone)
