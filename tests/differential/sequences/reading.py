"""Lists with selectors and pages, tables, and watches that are resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.session import TABLE

if TYPE_CHECKING:
    from tests.differential.session import Reply, Session

MAPS = "/api/v1/namespaces/{ns}/configmaps"
PODS = "/api/v1/namespaces/{ns}/pods"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
METADATA_OF_ONE = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


async def selectors(s: Session) -> None:
    for name, labels in {"a": {"x": "1"}, "b": {"x": "2", "y": "1"}, "c": {}}.items():
        await s.post(MAPS, {"metadata": {"name": name, "labels": labels}})
    good = ("x=1", "x==1", "x!=1", "x in (1,2)", "x notin (1)", "y", "!x", "x,y=1", "x>1", " x = 1 ", "")
    bad = ("x=", "x in ()", "x in 1", "=1", "x y", "x=a b", "x in (1", "!", ",", "x,,y", "a/b/c=1", "x=1,")
    for selector in (*good, *bad):
        await s.get(MAPS, labelSelector=selector)
    for selector in ("metadata.name=a", "metadata.name!=a", "metadata.namespace={ns}", "data.k=v", "metadata.name"):
        await s.get(MAPS, fieldSelector=selector)


async def next_page(s: Session, token: str, **more: Any) -> Reply:
    return await s.get(MAPS, **{"limit": 2, "continue": token, **more})


async def pages(s: Session) -> None:
    for name in "abcde":
        await s.post(MAPS, {"metadata": {"name": name, "labels": {"odd": str(name in "ace").lower()}}})
    first = await s.get(MAPS, limit=2)
    await s.delete(f"{MAPS}/c")
    second = await next_page(s, first["metadata.continue"] or "")
    await next_page(s, second["metadata.continue"] or "")
    await s.get(MAPS, limit=2, labelSelector="odd=true")
    await s.get(MAPS, limit=0)
    await s.get(MAPS, limit=-1)
    await s.get(MAPS, limit="many")
    await next_page(s, "nonsense")
    await next_page(s, first["metadata.continue"] or "", resourceVersion="1")
    await s.get(MAPS, resourceVersion="0")
    await s.get(MAPS, resourceVersion="nonsense")
    await s.get(MAPS, resourceVersionMatch="Exact")
    await s.get(MAPS, resourceVersionMatch="Exact", resourceVersion="0")
    await s.get(MAPS, resourceVersionMatch="Nonsense", resourceVersion="1")
    await s.get(MAPS, resourceVersionMatch="Exact", resourceVersion=first["metadata.resourceVersion"])
    await s.get(MAPS, resourceVersionMatch="NotOlderThan", resourceVersion=first["metadata.resourceVersion"])
    await s.get(MAPS, sendInitialEvents="true")
    await s.get(f"{MAPS}/a", resourceVersion="0")


async def other_forms(s: Session) -> None:
    made = {"metadata": {"name": "a"}, "data": {"k": "v", "l": "w"}}
    await s.post(MAPS, made, accept=TABLE)
    await s.get(MAPS, accept=TABLE)
    await s.get(f"{MAPS}/a", accept=TABLE)
    await s.get(MAPS, accept=TABLE, includeObject="None")
    await s.get(MAPS, accept=TABLE, includeObject="Object")
    await s.get(MAPS, accept=TABLE, includeObject="Nonsense")
    await s.get(MAPS, accept=METADATA)
    await s.get(f"{MAPS}/a", accept=METADATA_OF_ONE)
    await s.get(MAPS, accept="application/nonsense")
    await s.get(MAPS, accept="text/html, application/json;q=0.9")
    await s.get(f"{MAPS}/missing", accept=TABLE)
    await s.delete(f"{MAPS}/a", accept=TABLE)


async def watch_a_life(s: Session) -> None:
    at = (await s.get(MAPS))["metadata.resourceVersion"]
    async with s.watch(MAPS, resourceVersion=at) as watch:
        await s.post(MAPS, {"metadata": {"name": "a", "finalizers": ["x.io/f"]}})
        await s.patch(f"{MAPS}/a", {"data": {"k": "v"}})
        await s.patch(f"{MAPS}/a", {"data": {"k": "v"}})
        await s.delete(f"{MAPS}/a")
        await s.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})
        await s.post(MAPS, {"metadata": {"name": "a"}})
        await s.delete(f"{MAPS}/a")
        events = await watch.take(6)
    middle = events[1]["object"]["metadata"]["resourceVersion"]
    async with s.watch(MAPS, resourceVersion=middle) as watch:
        await watch.take(4)
    async with s.watch(MAPS, resourceVersion=middle, timeoutSeconds=1) as watch:
        await watch.end()


async def watch_by_selector(s: Session) -> None:
    await s.post(MAPS, {"metadata": {"name": "old", "labels": {"x": "1"}}})
    at = (await s.get(MAPS))["metadata.resourceVersion"]
    async with s.watch(MAPS, resourceVersion=at, labelSelector="x=1") as watch:
        await s.post(MAPS, {"metadata": {"name": "a"}})
        await s.patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "1"}}})
        await s.patch(f"{MAPS}/a", {"metadata": {"labels": {"y": "1"}}})
        await s.patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "2"}}})
        await s.patch(f"{MAPS}/a", {"metadata": {"labels": {"x": "1"}}})
        await s.delete(f"{MAPS}/a")
        await s.delete(f"{MAPS}/old")
        await watch.take(6)
    async with s.watch(MAPS, resourceVersion=at, fieldSelector="metadata.name=old") as watch:
        await watch.take(1)


async def watch_from_the_start(s: Session) -> None:
    for name in "ab":
        await s.post(MAPS, {"metadata": {"name": name}})
    async with s.watch(MAPS) as watch:
        await watch.take(2)
    async with s.watch(MAPS, resourceVersion="0") as watch:
        await watch.take(2)
    initial = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with s.watch(MAPS, **initial) as watch:
        await watch.take(3)
        await s.delete(f"{MAPS}/a")
        await watch.take(1)
    async with s.watch(MAPS, accept=TABLE, resourceVersion="0") as watch:
        await watch.take(1)
    async with s.watch(MAPS, accept=METADATA_OF_ONE, resourceVersion="0") as watch:
        await watch.take(1)
    async with s.watch(MAPS, resourceVersion="nonsense") as watch:
        await watch.end()
    async with s.watch(MAPS, sendInitialEvents="true") as watch:
        await watch.end()
    async with s.watch(MAPS, resourceVersionMatch="NotOlderThan") as watch:
        await watch.end()
    async with s.watch(MAPS, sendInitialEvents="true", resourceVersionMatch="NotOlderThan") as watch:
        await watch.end()
    async with s.watch(MAPS, timeoutSeconds="soon") as watch:
        await watch.end()
    async with s.watch(MAPS, labelSelector="x in") as watch:
        await watch.end()
    async with s.watch(f"{MAPS}/a") as watch:
        await watch.take(1)


async def fields_of_pods(s: Session) -> None:
    for name, node in (("a", "n1"), ("b", "")):
        spec = {"containers": [{"name": "c", "image": "busybox"}], "restartPolicy": "Never"}
        await s.post(PODS, {"metadata": {"name": name}, "spec": spec | ({"nodeName": node} if node else {})})
    for selector in (
        "spec.nodeName=n1",
        "spec.nodeName=",
        "spec.nodeName!=n1",
        "status.phase=Pending",
        "spec.restartPolicy=Always",
        "spec.schedulerName=default-scheduler",
        "spec.serviceAccountName=default",
        "spec.nonsense=1",
        "spec.nodeName=n1,status.phase=Pending",
    ):
        await s.get(PODS, fieldSelector=selector, accept=METADATA)
    await s.get(PODS, accept=TABLE, includeObject="None")


async def rows_of_ended_pods(s: Session) -> None:
    for name, phase in {"a": "Running", "b": "Succeeded", "c": "Failed"}.items():
        spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
        await s.post(PODS, {"metadata": {"name": name}, "spec": spec})
        await s.patch(f"{PODS}/{name}/status", {"status": {"phase": phase}})
    await s.get(PODS, accept=TABLE)


SEQUENCES = (
    selectors,
    pages,
    other_forms,
    watch_a_life,
    watch_by_selector,
    watch_from_the_start,
    fields_of_pods,
    rows_of_ended_pods,
)
