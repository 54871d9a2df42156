"""What is said about jobs that exist: reasons, events, what they hold; and watching them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from volcano.api.resources import PODS
from volcano.http.client import ConnectionClosed
from volcano.jobs import events
from volcano.jobs.logs import Choice, Line, pod_lines, written
from volcano.jobs.podgroups import why_of
from volcano.jobs.usage import by_job, used_by_pods
from volcano.jobs.watching import snapshots
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer

Document = dict[str, Any]


def job(phase: str, reason: str = "") -> Document:
    return {
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "status": {"state": {"phase": phase, "reason": reason}},
    }


def group(phase: str, *conditions: Document) -> dict[tuple[str, str], Document]:
    found = {"metadata": {"name": "j-u", "namespace": "n"}, "status": {"phase": phase, "conditions": list(conditions)}}
    return {("n", "j-u"): found}


REFUSED = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "1/2 tasks"}


@pytest.mark.parametrize(
    ("document", "groups", "unplaced", "reason"),
    [
        (job("Pending"), {}, 0, "NotSeenYet"),
        (job("Pending", "Dependency"), {}, 0, "Dependency"),
        (job("Pending"), group("Pending"), 2, "NotAdmitted"),
        (job("Pending"), group("Inqueue", REFUSED), 2, "NotEnoughResources"),
        (job("Running"), group("Running"), 0, ""),
        (job("Running"), group("Running", {"type": "Scheduled", "status": "True"}), 2, "RestWaits"),
        (job("Failed", "Why"), {}, 0, "Why"),
        (job("Completed"), {}, 0, ""),
    ],
)
def test_the_reason_of_a_job(document: Document, groups: Any, unplaced: int, reason: str) -> None:
    why = why_of(document, groups, unplaced=unplaced)
    assert why == (reason, "1/2 tasks" if reason == REFUSED["reason"] else "")


@pytest.mark.parametrize(
    ("kind", "name", "mine"),
    [
        ("Job", "train", True),
        ("Pod", "train-worker-0", True),
        ("PodGroup", "train-0f0e0d0c-0000-0000-0000-000000000000", True),
        ("Pod", "train", False),
        ("Job", "train-2", False),
        ("PodGroup", "train-2-0f0e0d0c-0000-0000-0000-000000000000", False),
        ("Queue", "train", False),
    ],
)
def test_events_about_a_job_its_podgroup_and_its_pods(kind: str, name: str, mine: bool) -> None:
    assert events.about({"involvedObject": {"kind": kind, "name": name}}, "Job", "train") is mine


def pod(name: str, phase: str, node: str = "n1") -> Document:
    container = {"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "1Mi"}}}
    metadata = {"name": name, "namespace": "n", "labels": {"volcano.sh/job-name": "j"}}
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [container]}, "status": {"phase": phase}}


def test_what_a_job_holds_is_what_its_bound_pods_that_have_not_ended_asked_for() -> None:
    metrics = [
        {"metadata": {"name": "a", "namespace": "n"}, "containers": [{"usage": {"cpu": "20m", "memory": "3Ki"}}]}
    ]
    pods = [pod("a", "Running"), pod("b", "Pending"), pod("c", "Pending", node=""), pod("d", "Succeeded")]

    held = by_job(pods, used_by_pods(metrics))[("n", "j")]

    assert held.pods == {"Running": 1, "Pending": 2, "Succeeded": 1}
    assert held.unplaced == 1
    assert (held.milli_cpu, held.memory_bytes) == (1000, 2 * 2**20)
    assert (held.used_milli_cpu, held.used_memory_bytes) == (20, 3 * 1024)


def test_snapshots_follow_what_is_made_and_what_goes(tmp_path: Path) -> None:
    async def main() -> None:
        server = ApiServer.open(str(tmp_path / "api.db"))
        client = Client(InProcessTransport(server.handle))
        sizes: list[int] = []
        container = {"name": "c", "image": "i"}
        document = {"metadata": {"name": "a"}, "spec": {"containers": [container], "terminationGracePeriodSeconds": 0}}
        async with asyncio.timeout(60), aclosing(snapshots(client, PODS, "default")) as found:
            async for current in found:
                sizes.append(len(current))
                if len(sizes) == 1:
                    await client.create(PODS.untyped, document, "default")
                elif sizes[-1] and sizes.count(1) == 1:
                    await client.delete(PODS, "a", "default", grace_seconds=0)
                elif sizes[-1] == 0:
                    break
        await server.close()
        assert sizes[0] == sizes[-1] == 0
        assert 1 in sizes

    asyncio.run(main())


def test_pods_that_have_not_started_have_no_log_to_read(tmp_path: Path) -> None:
    async def main() -> list[Line]:
        server = ApiServer.open(str(tmp_path / "api.db"))
        client = Client(InProcessTransport(server.handle))
        metadata = {"name": "a", "labels": {"volcano.sh/job-name": "j"}}
        await client.create(
            PODS.untyped, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}, "default"
        )
        lines = [line async for line in written(client, "default", "j")]
        await server.close()
        return lines

    assert asyncio.run(main()) == [Line("a", "has not started yet", trouble=True)]


class Breaking:
    """A client whose log streams break off: each entry is what one request gives before it does, the last one whole."""

    def __init__(self, *streams: bytes) -> None:
        self._streams = list(streams)

    async def logs(self, namespace: str, name: str, **choice: Any) -> AsyncGenerator[bytes, None]:
        yield self._streams.pop(0)
        if self._streams:
            raise ConnectionClosed("broken off", answered=True)


def test_a_followed_log_that_breaks_off_is_taken_up_where_it_was() -> None:
    async def main(choice: Choice) -> list[str]:
        client: Any = Breaking(b"one\ntw", b"one\ntwo\n", b"one\ntwo\nthree\n")
        found = {**pod("a", "Running"), "metadata": {"name": "a", "namespace": "n"}}
        return [line.text async for line in pod_lines(client, found, choice, follow=True)]

    assert asyncio.run(main(Choice())) == ["one", "two", "three"]
    with pytest.raises(ConnectionClosed):
        asyncio.run(main(Choice(tail=5)))
