"""Get, list and watch as clients' caches rely on them."""

from __future__ import annotations

import asyncio

import pytest

from tests.local.apiserver.api import CONFIGMAPS, PODS, Api, api, configmap, numbers, pod
from volcano.http.message import Request
from volcano.local.apiserver.storage import store
from volcano.local.apiserver.verbs import reads, watch
from volcano.local.apiserver.verbs.watch import WatchStream


def watchers(call: Api) -> list[WatchStream]:
    found = call.server.store.collection("configmaps").listeners
    return [listener for listener in found if isinstance(listener, WatchStream)]


async def test_a_list_carries_the_revision_that_a_watch_can_start_from() -> None:
    async with api() as call:
        await call.made(CONFIGMAPS, configmap("a"))
        listing = await call.get(CONFIGMAPS)
        await call.made(CONFIGMAPS, configmap("b"))

        stream = await call.watch(CONFIGMAPS, resourceVersion=listing["metadata.resourceVersion"])

        assert await stream.take(1) == [("ADDED", "b")]
        assert listing["kind"] == "ConfigMapList"


async def test_pages_show_the_state_of_the_first_page() -> None:
    async with api() as call:
        for name in numbers(5):
            await call.made(CONFIGMAPS, configmap(name))
        first = await call.get(CONFIGMAPS, limit=2)
        await call.delete(f"{CONFIGMAPS}/003")
        await call.made(CONFIGMAPS, configmap("0035"))

        second = await call.get(CONFIGMAPS, limit=2, **{"continue": first["metadata.continue"]})
        third = await call.get(CONFIGMAPS, limit=2, **{"continue": second["metadata.continue"]})

        assert [first.names, second.names, third.names] == [["000", "001"], ["002", "003"], ["004"]]
        assert (first["metadata.remainingItemCount"], third["metadata.continue"]) == (3, None)
        assert {page["metadata.resourceVersion"] for page in (first, second, third)} == {
            first["metadata.resourceVersion"]
        }


async def test_a_page_whose_revision_is_forgotten_is_gone_and_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with api() as call:
        for name in numbers(3):
            await call.made(CONFIGMAPS, configmap(name))
        page = await call.get(CONFIGMAPS, limit=1)
        monkeypatch.setattr(store, "HISTORY_EVENTS", 0)
        await call.delete(f"{CONFIGMAPS}/002")

        gone = await call.get(CONFIGMAPS, limit=1, **{"continue": page["metadata.continue"]})
        rest = await call.get(CONFIGMAPS, **{"continue": gone["metadata.continue"]})

        assert (gone.status, gone["reason"]) == (410, "Expired")
        assert rest.names == ["001"]


async def test_selectors_narrow_lists() -> None:
    async with api() as call:
        await call.made(PODS, pod("a", labels={"app": "x"}))
        await call.made(PODS, pod("b", labels={"app": "y"}, nodeName="n1"))

        assert (await call.get(PODS, labelSelector="app in (x)")).names == ["a"]
        assert (await call.get(PODS, labelSelector="app,app!=x")).names == ["b"]
        assert (await call.get("/api/v1/pods", fieldSelector="spec.nodeName=n1")).names == ["b"]
        assert (await call.get(PODS, fieldSelector="metadata.name=a")).names == ["a"]
        assert (await call.get(PODS, fieldSelector="spec.image=a")).status == 400


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"resourceVersion": "x"}, 400),
        ({"limit": "many"}, 400),
        ({"continue": "nonsense"}, 400),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"resourceVersionMatch": "Sometimes", "resourceVersion": "1"}, 422),
        ({"sendInitialEvents": "true"}, 422),
        ({"watch": "1", "sendInitialEvents": "true"}, 422),
        ({"watch": "1", "resourceVersionMatch": "NotOlderThan"}, 422),
    ],
)
async def test_contradictory_options_are_refused(options: dict[str, str], status: int) -> None:
    async with api() as call:
        assert (await call.get(CONFIGMAPS, **options)).status == status


async def test_a_revision_from_the_future_is_waited_for_and_then_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "FUTURE_WAIT_SECONDS", 0.2)
    async with api() as call:
        now = int((await call.get(CONFIGMAPS))["metadata.resourceVersion"])
        late = asyncio.create_task(call.get(CONFIGMAPS, resourceVersion=now + 1))
        await asyncio.sleep(0.01)
        await call.made(CONFIGMAPS, configmap("a"))

        assert (await late).names == ["a"]
        never = await call.get(CONFIGMAPS, resourceVersion=now + 1000)
        assert (never.status, never["details.causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")


async def test_exact_lists_are_of_that_revision() -> None:
    async with api() as call:
        made = await call.made(CONFIGMAPS, configmap("a"))
        await call.made(CONFIGMAPS, configmap("b"))
        revision = made["metadata"]["resourceVersion"]

        assert (await call.get(CONFIGMAPS, resourceVersion=revision, resourceVersionMatch="Exact")).names == ["a"]
        assert (await call.get(CONFIGMAPS, resourceVersion=revision)).names == ["a", "b"]


async def test_watches_see_additions_changes_and_deletions_in_order() -> None:
    async with api() as call:
        stream = await call.watch("/api/v1/configmaps")
        await call.made(CONFIGMAPS, configmap("a", x="1"))
        await call.patch(f"{CONFIGMAPS}/a", {"data": {"x": "2"}})
        await call.delete(f"{CONFIGMAPS}/a")

        events = [await stream.next() for _ in range(3)]

        assert [kind for kind, _ in events] == ["ADDED", "MODIFIED", "DELETED"]
        revisions = [int(item["metadata"]["resourceVersion"]) for _, item in events]
        assert revisions == sorted(set(revisions))
        assert events[2][1]["data"] == {"x": "2"}


async def test_objects_enter_and_leave_a_selection() -> None:
    async with api() as call:
        stream = await call.watch(CONFIGMAPS, labelSelector="app=x")
        await call.made(CONFIGMAPS, configmap("a"))
        await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "x"}}})
        await call.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})
        await call.patch(f"{CONFIGMAPS}/a", {"metadata": {"labels": {"app": "y"}}})
        await call.delete(f"{CONFIGMAPS}/a")

        assert await stream.take(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert await stream.quiet()


async def test_a_watch_list_ends_its_initial_events_with_a_marked_bookmark() -> None:
    async with api() as call:
        await call.made(CONFIGMAPS, configmap("a"))
        options = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
        stream = await call.watch(CONFIGMAPS, **options)

        assert await stream.take(1) == [("ADDED", "a")]
        kind, bookmark = await stream.next()
        assert kind == "BOOKMARK"
        assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        await call.made(CONFIGMAPS, configmap("b"))
        assert await stream.take(1) == [("ADDED", "b")]


async def test_a_watch_ends_at_its_timeout_with_a_bookmark() -> None:
    async with api() as call:
        stream = await call.watch(CONFIGMAPS, timeoutSeconds=1, allowWatchBookmarks="true", resourceVersion=1)

        assert (await stream.next())[0] == "BOOKMARK"
        with pytest.raises(StopAsyncIteration):
            await stream.next()


async def test_bookmarks_come_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BOOKMARK_SECONDS", 0.05)
    async with api() as call:
        stream = await call.watch(PODS, allowWatchBookmarks="true")
        made = await call.made(CONFIGMAPS, configmap("a"))
        await stream.next()
        kind, bookmark = await stream.next()

        assert kind == "BOOKMARK"
        assert bookmark["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_watch_from_a_forgotten_revision_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "HISTORY_EVENTS", 1)
    async with api() as call:
        for name in numbers(3):
            await call.made(CONFIGMAPS, configmap(name))
        await asyncio.sleep(0)

        stream = await call.watch(CONFIGMAPS, resourceVersion=2)

        assert (stream.status, stream.response.content.count(b'"Expired"')) == (410, 1)


async def test_a_reader_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BUFFER_EVENTS", 3)
    async with api() as call:
        stream = await call.watch(CONFIGMAPS, resourceVersion=1)
        for name in numbers(5):
            await call.made(CONFIGMAPS, configmap(name))

        with pytest.raises(StopAsyncIteration):
            await stream.next()
        assert not watchers(call)


async def test_a_closed_watch_leaves_nothing_behind() -> None:
    async with api() as call:
        stream = await call.watch(CONFIGMAPS)
        await stream.close()

        assert not watchers(call)


async def test_one_object_can_be_watched_by_its_own_path() -> None:
    async with api() as call:
        await call.made(CONFIGMAPS, configmap("a"))
        await call.made(CONFIGMAPS, configmap("b"))
        stream = await call.watch("/api/v1/watch/namespaces/default/configmaps/b")

        assert await stream.take(1) == [("ADDED", "b")]
        assert await stream.quiet()
        assert (await call.get(f"{CONFIGMAPS}/b", watch="true"))["kind"] == "ConfigMap"


async def test_tables_metadata_and_unknown_forms() -> None:
    async with api() as call:
        await call.made(PODS, pod("a"))
        table = await call.get(PODS, headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        partial = await call.get(
            f"{PODS}/a", headers={"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
        )
        refused = await call.get(PODS, headers={"accept": "application/cbor"})

        assert (table["kind"], table["rows"][0]["cells"][0]) == ("Table", "a")
        assert (partial["kind"], partial["metadata.name"], partial["spec"]) == ("PartialObjectMetadata", "a", None)
        assert refused.status == 406


async def test_unknown_things_are_not_found() -> None:
    async with api() as call:
        missing = await call.get(f"{PODS}/nope")

        assert (missing.status, missing.message) == (404, 'pods "nope" not found')
        assert missing["details"] == {"name": "nope", "kind": "pods"}
        for path in (
            "/api/v1/nothing",
            "/apis/x.y/v1/z",
            "/nowhere",
            f"{PODS}/a/nonsense",
            "/api/v1/namespaces/x/nodes",
        ):
            assert (await call.get(path)).status == 404, path


@pytest.mark.parametrize(
    ("value", "watches"),
    [("true", True), ("True", True), ("1", True), ("", True), ("yes", True), ("false", False), ("0", False)],
)
async def test_truth_is_whatever_is_not_false(value: str, watches: bool) -> None:
    async with api() as call:
        response = await call.server.handle(Request("GET", CONFIGMAPS, [("watch", value)], {}, b"", call.peer))

        assert isinstance(response.body, bytes) != watches
