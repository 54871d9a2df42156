"""Events: repetitions are counted, floods combined, noisy objects limited; nothing blocks the caller."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import msgspec

from volcano.api.core import Pod
from volcano.api.meta import ObjectMeta
from volcano.api.resources import PODS
from volcano.http.message import Request, Response
from volcano.kube.client import Client
from volcano.kube.events import COMBINED, NORMAL, WARNING, EventRecorder
from volcano.kube.transport import InProcessTransport


class EventApi:
    """Stores events by name and applies merge patches to them."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.requests = 0
        self.failures = 0

    async def handle(self, request: Request) -> Response:
        self.requests += 1
        if self.failures:
            self.failures -= 1
            return Response(503, {}, b"{}")
        body = msgspec.json.decode(request.body)
        if request.method == "POST":
            body["metadata"]["resourceVersion"] = "1"
            name = body["metadata"]["name"]
            self.events[name] = body
        else:
            name = request.path.rpartition("/")[2]
            if name not in self.events:
                return Response(404, {}, b'{"kind":"Status","reason":"NotFound","code":404}')
            self.events[name].update(body)
        return Response(200, {}, msgspec.json.encode(self.events[name]))


class Clock:
    """A clock that each reading moves on a little, so that event names differ."""

    def __init__(self) -> None:
        self.moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        self.moment += datetime.timedelta(milliseconds=1)
        return self.moment


def pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", resource_version="7"))


async def written(api: EventApi, *records: tuple[str, str, str, str], clock: Clock | None = None) -> EventRecorder:
    recorder = EventRecorder(Client(InProcessTransport(api.handle)), "vc-scheduler", now=clock or Clock())
    running = asyncio.create_task(recorder.run())
    for name, type_, reason, message in records:
        recorder.record(PODS, pod(name), type_, reason, message)
        await recorder.flush()
    running.cancel()
    return recorder


def test_an_event_says_what_happened_to_what() -> None:
    api = EventApi()
    asyncio.run(written(api, ("a", NORMAL, "Scheduled", "assigned ns/a to n1")))
    [event] = api.events.values()
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "ns",
        "name": "a",
        "uid": "uid-a",
        "resourceVersion": "7",
    }
    assert (event["kind"], event["type"], event["reason"], event["count"]) == ("Event", "Normal", "Scheduled", 1)
    assert event["source"] == {"component": "vc-scheduler"}
    assert event["metadata"]["name"].startswith("a.")
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"


def test_repetitions_raise_the_count_of_one_event() -> None:
    api = EventApi()
    asyncio.run(written(api, *[("a", WARNING, "Unschedulable", "no node fits")] * 5))
    [event] = api.events.values()
    assert event["count"] == 5


def test_many_similar_events_are_combined() -> None:
    api = EventApi()
    asyncio.run(written(api, *[("a", WARNING, "Failed", f"try {number}") for number in range(15)]))
    assert len(api.events) == 11
    combined = [event for event in api.events.values() if event["message"].startswith(COMBINED)]
    assert [(event["message"], event["count"]) for event in combined] == [(COMBINED + "try 14", 5)]


def test_a_noisy_object_is_limited_and_does_not_silence_others() -> None:
    api = EventApi()
    noisy = [("a", WARNING, f"R{number}", "x") for number in range(40)]
    recorder = asyncio.run(written(api, *noisy, ("b", NORMAL, "Started", "ok")))
    assert recorder.dropped == 15
    assert any(event["involvedObject"]["name"] == "b" for event in api.events.values())


def test_an_event_deleted_meanwhile_is_created_again() -> None:
    async def main() -> None:
        api = EventApi()
        recorder = EventRecorder(Client(InProcessTransport(api.handle)), "x", now=Clock())
        running = asyncio.create_task(recorder.run())
        recorder.record(PODS, pod("a"), NORMAL, "R", "m")
        await recorder.flush()
        api.events.clear()
        recorder.record(PODS, pod("a"), NORMAL, "R", "m")
        await recorder.flush()
        assert [event["count"] for event in api.events.values()] == [2]
        running.cancel()

    asyncio.run(main())


def test_a_refusing_server_is_asked_again() -> None:
    async def main() -> None:
        api = EventApi()
        api.failures = 1
        recorder = EventRecorder(Client(InProcessTransport(api.handle)), "x", now=Clock())
        running = asyncio.create_task(recorder.run())
        recorder.record(PODS, pod("a"), NORMAL, "R", "m")
        async with asyncio.timeout(60):
            while not api.events:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        running.cancel()

    asyncio.run(main())
