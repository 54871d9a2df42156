"""What a daemon waits for is told once, again while it lasts, and when it is over."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from tests.waiting import until
from volcano.api.meta import ObjectReference
from volcano.http.message import Request, Response
from volcano.kube import complaints, versions
from volcano.kube.client import Client
from volcano.kube.complaints import Complaints
from volcano.kube.events import EventRecorder
from volcano.kube.transport import InProcessTransport

LEASE = ObjectReference(kind="Lease", name="volcano")


class Told:
    """Stands for the recorder."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def record_on(self, about: ObjectReference, type_: str, reason: str, message: str) -> None:
        assert about is LEASE
        self.events.append((type_, reason, message))

    def complaints(self) -> Complaints:
        return Complaints(cast("EventRecorder", self), LEASE)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(versions, "RETRY_SECONDS", 0.001)


class Enough(Exception):
    """The script is at its end."""


def follow(told: Told, script: list[str | None]) -> None:
    """Let the complaints look as often as the script has problems."""

    def problem() -> str | None:
        if not script:
            raise Enough
        return script.pop(0)

    with pytest.raises(Enough):
        asyncio.run(told.complaints().follow(problem))


def test_each_problem_is_told_once_and_its_end_too() -> None:
    told = Told()
    follow(told, [None, "a", "a", "b", "b", None, None])
    assert told.events == [
        ("Warning", "Waits", "a"),
        ("Warning", "Waits", "b"),
        ("Normal", "Resumed", "what was waited for is there, this is over: b"),
    ]


def test_what_lasts_is_told_again_to_the_cluster(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(complaints, "REPEAT_SECONDS", 0.0)
    told = Told()
    follow(told, ["a", "a", "a"])
    assert told.events == [("Warning", "Waits", "a")] * 3
    assert caplog.messages == ["a"]


@pytest.mark.parametrize(
    ("version", "remark"),
    [
        ("v1.29.4", "the API server is v1.29.4, older than v1.30"),
        ("v1.99.0-alpha.1", "the API server is v1.99.0-alpha.1, newer than v1.36"),
        ("v1.36.3", None),
    ],
)
def test_a_version_is_looked_at_once_the_server_answers(version: str, remark: str | None) -> None:
    told = Told()
    good = Response(200, {}, f'{{"gitVersion":"{version}"}}'.encode())
    answers: list[Response | Exception] = [ConnectionRefusedError("not yet"), Response(500, {}, b"starting"), good]

    async def serve(request: Request) -> Response:
        assert request.path == "/version"
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def main() -> None:
        server = versions.ServerVersion(Client(InProcessTransport(serve)), told.complaints())
        assert server.remark() is None
        looking = asyncio.create_task(server.look())
        await until(lambda: not answers)
        assert server.remark() == remark
        assert told.events == ([("Warning", "UnsupportedVersion", remark)] if remark else [])
        looking.cancel()

    asyncio.run(main())


def test_a_server_that_is_upgraded_is_no_longer_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "AGAIN_SECONDS", 0.001)
    told = Told()
    found = ["v1.29.4", "v1.29.4", "v1.30.1"]

    async def serve(request: Request) -> Response:
        return Response(200, {}, f'{{"gitVersion":"{found.pop(0) if len(found) > 1 else found[0]}"}}'.encode())

    async def main() -> None:
        server = versions.ServerVersion(Client(InProcessTransport(serve)), told.complaints())
        looking = asyncio.create_task(server.look())
        await until(lambda: len(told.events) == 2)
        assert server.remark() is None
        looking.cancel()

    asyncio.run(main())
    assert told.events == [
        ("Warning", "UnsupportedVersion", "the API server is v1.29.4, older than v1.30"),
        ("Normal", "UnsupportedVersion", "the API server is v1.30.1 now"),
    ]
