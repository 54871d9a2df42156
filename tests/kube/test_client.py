"""The client's requests as the server sees them, its answers as types, and its refusals as exceptions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from tests.kube.memory_api import MemoryApi, answer, line, status
from volcano.api.core import Pod
from volcano.api.meta import ObjectMeta
from volcano.api.resources import JOBS, NODES, PODS
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.kube import errors
from volcano.kube.client import Client, PatchKind
from volcano.kube.config import ClusterConfig
from volcano.kube.transport import HttpTransport, InProcessTransport

Talk = Callable[[Client], Coroutine[Any, Any, Any]]


def asked(talk: Talk, *responses: Response) -> tuple[Any, list[Request]]:
    """What `talk` returns, and the requests it made; they are answered in turn, the last answer again and again."""
    requests: list[Request] = []

    async def handle(request: Request) -> Response:
        requests.append(request)
        return responses[min(len(requests), len(responses)) - 1]

    result = asyncio.run(talk(Client(InProcessTransport(handle), user_agent="test/1")))
    return result, requests


def one(talk: Talk, response: Response | None = None) -> Request:
    _, [request] = asked(talk, response or answer(200, {"metadata": {"name": "a"}}))
    return request


def body(request: Request) -> Any:
    return msgspec.json.decode(request.body)


def test_objects_are_decoded_into_their_type() -> None:
    pod, [request] = asked(
        lambda client: client.get(PODS, "a", "ns"), answer(200, {"metadata": {"name": "a"}, "unknown": 1})
    )
    assert isinstance(pod, Pod)
    assert (request.method, request.path) == ("GET", "/api/v1/namespaces/ns/pods/a")
    assert request.headers["user-agent"] == "test/1"
    document, _ = asked(lambda client: client.get(PODS.untyped, "a", "ns"), answer(200, {"unknown": 1}))
    assert document == {"unknown": 1}


def test_created_objects_say_what_they_are() -> None:
    pod = Pod(metadata=ObjectMeta(name="a", namespace="ns"))
    request = one(lambda client: client.create(PODS, pod, dry_run=True))
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/ns/pods")
    assert request.query == [("fieldManager", "test"), ("dryRun", "All")]
    sent = body(request)
    assert (sent["apiVersion"], sent["kind"]) == ("v1", "Pod")
    assert sent["metadata"] == {"name": "a", "namespace": "ns"}
    assert pod.kind == ""
    request = one(lambda client: client.create(JOBS.untyped, {"metadata": {"name": "j"}}, "ns"))
    assert (body(request)["apiVersion"], body(request)["kind"]) == ("batch.volcano.sh/v1alpha1", "Job")


def test_strict_creation_lets_the_server_refuse_unknown_fields() -> None:
    request = one(lambda client: client.create(JOBS.untyped, {"metadata": {"name": "j"}}, "ns", strict=True))
    assert ("fieldValidation", "Strict") in request.query


def test_warnings_of_answers_and_refusals_are_told() -> None:
    header = '299 - "first \\"quoted\\", with a comma", 299 - "second", 199 - "for machines"'

    async def told(code: int) -> list[str]:
        async def handle(_: Request) -> Response:
            return Response(code, {"content-type": "application/json", "warning": header}, b'{"metadata": {}}')

        warnings: list[str] = []
        with contextlib.suppress(errors.ApiError):
            await Client(InProcessTransport(handle), on_warning=warnings.append).get(PODS, "a", "ns")
        return warnings

    for code in (200, 400):
        assert asyncio.run(told(code)) == ['first "quoted", with a comma', "second"]


def test_updates_patches_and_applies() -> None:
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ns"}}
    request = one(lambda client: client.update(PODS.untyped, document, "status"))
    assert (request.method, request.path) == ("PUT", "/api/v1/namespaces/ns/pods/a/status")
    request = one(lambda client: client.patch(PODS, "a", {"x": 1}, "ns", subresource="status"))
    assert (request.method, request.headers["content-type"]) == ("PATCH", "application/merge-patch+json")
    request = one(lambda client: client.patch(PODS, "a", b"[]", "ns", kind=PatchKind.JSON))
    assert (request.headers["content-type"], request.body) == ("application/json-patch+json", b"[]")
    request = one(lambda client: client.apply(PODS.untyped, document, field_manager="me"))
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert request.query == [("fieldManager", "me"), ("force", "true")]


def test_deletions_carry_options_and_preconditions() -> None:
    plain = one(lambda client: client.delete(NODES, "n"))
    assert (plain.method, plain.path, plain.body) == ("DELETE", "/api/v1/nodes/n", b"")
    request = one(
        lambda client: client.delete(
            PODS, "a", "ns", grace_seconds=0, propagation="Background", uid="u", resource_version="5"
        )
    )
    assert body(request) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u", "resourceVersion": "5"},
    }
    request = one(lambda client: client.delete_collection(PODS, "ns", label_selector="a=b"))
    assert (request.path, request.query) == ("/api/v1/namespaces/ns/pods", [("labelSelector", "a=b")])


def test_pod_verbs() -> None:
    request = one(lambda client: client.bind("ns", "a", "u", "n1", {"k": "v"}))
    assert request.path == "/api/v1/namespaces/ns/pods/a/binding"
    assert body(request)["target"] == {"apiVersion": "v1", "kind": "Node", "name": "n1"}
    assert body(request)["metadata"] == {"name": "a", "namespace": "ns", "uid": "u", "annotations": {"k": "v"}}
    request = one(lambda client: client.evict("ns", "a", uid="u"))
    assert request.path == "/api/v1/namespaces/ns/pods/a/eviction"
    assert body(request)["deleteOptions"]["preconditions"] == {"uid": "u"}

    async def read_logs(client: Client) -> bytes:
        logs = client.logs("ns", "a", container="c", follow=True, tail_lines=5)
        return b"".join([chunk async for chunk in logs])

    logs, [request] = asked(read_logs, Response(200, {}, b"line\n"))
    assert logs == b"line\n"
    assert request.query == [("container", "c"), ("follow", "true"), ("tailLines", "5")]


def test_lists_are_read_page_by_page() -> None:
    async def main() -> None:
        api = MemoryApi()
        for number in range(7):
            api.put(f"p{number}")
        listing = await Client(InProcessTransport(api.handle)).list(PODS, limit=3)
        assert [pod.metadata.name for pod in listing.items] == [f"p{number}" for number in range(7)]
        assert listing.resource_version == "7"
        assert [request.param("continue") for request in api.requests] == [None, "3", "6"]

    asyncio.run(main())


def test_a_list_whose_snapshot_expires_is_read_in_one_piece() -> None:
    page = answer(200, {"metadata": {"continue": "x", "resourceVersion": "1"}, "items": [{"metadata": {"name": "a"}}]})
    gone = status(410, "Expired", "the continue token is too old")
    whole = answer(200, {"metadata": {"resourceVersion": "2"}, "items": [{"metadata": {"name": "b"}}]})
    listing, requests = asked(lambda client: client.list(PODS), page, gone, whole)
    assert [pod.metadata.name for pod in listing.items] == ["b"]
    assert requests[-1].query == []


def test_one_undecodable_object_does_not_spoil_the_list_or_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    good, bad = {"metadata": {"name": "good"}}, {"metadata": {"name": "bad", "namespace": "ns"}, "spec": 5}
    listing, _ = asked(lambda client: client.list(PODS), answer(200, {"metadata": {}, "items": [bad, good]}))
    assert [pod.metadata.name for pod in listing.items] == ["good"]
    assert "ignoring Pod ns/bad" in caplog.text

    async def watch(client: Client) -> list[str]:
        return [event.object.metadata.name async for event in client.watch(PODS)]

    names, _ = asked(watch, Response(200, {}, line("ADDED", bad) + line("ADDED", good)))
    assert names == ["good"]


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (status(404, "NotFound", 'pods "a" not found'), errors.NotFound),
        (status(409, "AlreadyExists", "x"), errors.AlreadyExists),
        (status(409, "Conflict", "x"), errors.Conflict),
        (status(410, "Expired", "x"), errors.Gone),
        (status(410, "Gone", "x"), errors.Gone),
        (status(422, "Invalid", "x"), errors.Invalid),
        (status(403, "Forbidden", "x"), errors.Forbidden),
        (status(500, "InternalError", "x"), errors.InternalError),
        (Response(401, {}, b"go away"), errors.Unauthorized),
        (Response(418, {}, b""), errors.ApiError),
    ],
)
def test_refusals_become_exceptions(response: Response, error: type[errors.ApiError]) -> None:
    with pytest.raises(error) as caught:
        asked(lambda client: client.get(PODS, "a", "ns"), response)
    assert caught.value.status == response.status


def test_the_causes_of_a_refusal_are_kept() -> None:
    details = {"name": "j", "causes": [{"field": "spec.queue", "message": "queue 'x' is closed", "reason": "Bad"}]}
    document = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "no", "details": details}
    with pytest.raises(errors.Invalid, match="no") as caught:
        asked(lambda client: client.get(PODS, "a", "ns"), answer(422, document))
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [("spec.queue", "queue 'x' is closed")]


def test_a_busy_server_is_asked_again_when_it_says() -> None:
    busy = status(429, "TooManyRequests", "wait")
    busy.headers["retry-after"] = "0"
    failing = Response(503, {"retry-after": "0"}, b"")
    found = answer(200, {"metadata": {"name": "a"}})
    _, requests = asked(lambda client: client.create(PODS.untyped, {"metadata": {"name": "a"}}, "ns"), busy, found)
    assert len(requests) == 2
    _, requests = asked(lambda client: client.get(PODS, "a", "ns"), failing, failing, found)
    assert len(requests) == 3
    with pytest.raises(errors.ServiceUnavailable):
        asked(lambda client: client.create(PODS.untyped, {"metadata": {"name": "a"}}, "ns"), failing)
    with pytest.raises(errors.TooManyRequests):
        asked(lambda client: client.evict("ns", "a"), busy, found)


def test_an_error_in_a_watch_is_raised() -> None:
    async def watch(client: Client) -> None:
        async for _ in client.watch(PODS):
            pass

    expired = line("ERROR", {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "old"})
    with pytest.raises(errors.Gone, match="old"):
        asked(watch, Response(200, {}, expired))
    with pytest.raises(errors.Forbidden):
        asked(watch, status(403, "Forbidden", "no"))


def test_the_empty_fields_of_a_bookmark_do_not_matter() -> None:
    metadata = {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}
    body = line("BOOKMARK", {"metadata": metadata, "spec": {"containers": None}, "status": {}})

    async def talk(client: Client) -> Any:
        return [event async for event in client.watch(PODS)]

    [event], _ = asked(talk, Response(200, {}, body))

    assert (event.type, event.resource_version, event.ends_initial_events) == ("BOOKMARK", "7", True)


def test_over_http_the_same_answers_arrive() -> None:
    async def main() -> None:
        api = MemoryApi()
        async with await serve(api.handle) as server:
            client = Client(HttpTransport(ClusterConfig(f"http://127.0.0.1:{server.port}/prefix")))
            api.put("a")
            await client.create(PODS, Pod(metadata=ObjectMeta(name="b", namespace="default")))
            assert len((await client.list(PODS)).items) == 2
            assert api.requests[-1].path == "/prefix/api/v1/pods"
            seen = []
            async for event in client.watch(PODS, resource_version="0"):
                seen.append((event.type, event.object.metadata.name))
                if len(seen) == 2:
                    break
            assert seen == [("ADDED", "a"), ("ADDED", "b")]
            await client.close()

    asyncio.run(main())
