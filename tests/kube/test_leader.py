"""Leader election: one leads, the next takes over at once when the lease is released and in time when it is not."""

from __future__ import annotations

import asyncio
import datetime
import itertools
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from tests.waiting import until
from volcano.api.resources import LEASES
from volcano.http.message import Request, Response
from volcano.kube.client import Client
from volcano.kube.fence import NotLeading, fenced
from volcano.kube.leader import LeaderElector, LeadershipLost
from volcano.kube.transport import InProcessTransport


class LeaseApi:
    """One lease with versions; `broken` makes every request fail."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.broken = False
        self.denied = False

    async def handle(self, request: Request) -> Response:
        if self.broken:
            return self._status(500, "InternalError")
        if self.denied:
            return self._status(403, "Forbidden")
        if request.method == "GET":
            return self._status(404, "NotFound") if self.lease is None else self._lease(200)
        if request.method == "DELETE":
            return self._status(200, "")
        body = msgspec.json.decode(request.body)
        if request.method == "POST":
            if self.lease is not None:
                return self._status(409, "AlreadyExists")
        elif self.lease is None:
            return self._status(404, "NotFound")
        elif body["metadata"].get("resourceVersion") != str(self.version):
            return self._status(409, "Conflict")
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.lease = body
        return self._lease(201 if request.method == "POST" else 200)

    def _lease(self, code: int) -> Response:
        return Response(code, {}, msgspec.json.encode(self.lease))

    def _status(self, code: int, reason: str) -> Response:
        return Response(code, {}, msgspec.json.encode({"kind": "Status", "code": code, "reason": reason}))

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec


def candidate(api: LeaseApi, identity: str, **options: Any) -> LeaderElector:
    settings = {"lease_seconds": 0.5, "renew_seconds": 0.3, "retry_seconds": 0.02, **options}
    client = Client(InProcessTransport(api.handle))
    return LeaderElector(client, name="volcano", namespace="volcano-system", identity=identity, **settings)


class Clock:
    """Stands still unless moved."""

    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


async def forever() -> None:
    await asyncio.Event().wait()


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_the_second_candidate_takes_over_at_once_when_the_first_stops() -> None:
    async def main() -> None:
        api = LeaseApi()
        lasting = {"lease_seconds": 50.0, "renew_seconds": 40.0}
        first, second = candidate(api, "a", **lasting), candidate(api, "b", **lasting)
        leading = asyncio.create_task(first.run(forever))
        await until(lambda: first.is_leader)
        waiting = asyncio.create_task(second.run(forever))
        await until(lambda: second.leader == "a")
        assert (first.is_leader, second.is_leader) == (True, False)
        assert api.spec["leaseTransitions"] == 0
        await stop(leading)
        await until(lambda: second.is_leader)
        assert (api.spec["holderIdentity"], api.spec["leaseTransitions"]) == ("b", 1)
        await stop(waiting)
        assert api.spec["holderIdentity"] == ""

    asyncio.run(main())


def test_a_silent_leader_is_replaced_after_its_lease_whatever_its_clock_says() -> None:
    async def main() -> None:
        api = LeaseApi()
        first, second = candidate(api, "a"), candidate(api, "b")
        await first.acquire()
        api.spec["renewTime"] = "2999-01-01T00:00:00.000000Z"
        started = asyncio.get_running_loop().time()
        await second.acquire()
        assert 0.4 < asyncio.get_running_loop().time() - started < 30.0
        with pytest.raises(LeadershipLost, match="held by b"):
            await first.hold()

    asyncio.run(main())


def test_a_leader_that_cannot_renew_stops_its_work_and_stands_by(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        api = LeaseApi()
        elector = candidate(api, "a")
        turns: list[str] = []

        async def work() -> None:
            turns.append("leads")
            try:
                await forever()
            finally:
                assert not elector.is_leader
                turns.append("stops")

        running = asyncio.create_task(elector.run(work))
        await until(lambda: turns == ["leads"])
        assert elector.health() is None
        api.broken = True
        await until(lambda: turns == ["leads", "stops"])
        assert "could not renew the lease volcano-system/volcano within 0.3 s (held by a): standing by" in caplog.text
        api.broken = False
        await until(lambda: turns == ["leads", "stops", "leads"])
        api.spec["holderIdentity"] = "b"
        api.version += 1
        await until(lambda: turns == ["leads", "stops", "leads", "stops"])
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())


def test_one_request_that_hangs_costs_no_leadership() -> None:
    async def main() -> None:
        api = LeaseApi()
        hanging = asyncio.Event()

        async def handle(request: Request) -> Response:
            if request.method == "PUT" and not hanging.is_set():
                hanging.set()
                await forever()
            return await api.handle(request)

        client = Client(InProcessTransport(handle))
        name: dict[str, Any] = {"name": "volcano", "namespace": "volcano-system", "identity": "a"}
        elector = LeaderElector(client, **name, lease_seconds=60.0, renew_seconds=5.0, retry_seconds=0.1)
        await elector.acquire()
        version = api.version
        holding = asyncio.create_task(elector.hold())
        await until(lambda: api.version > version)
        assert hanging.is_set()
        assert elector.is_leader
        assert not holding.done()
        await stop(holding)

    asyncio.run(main())


def test_a_server_that_was_slow_is_given_all_the_time_there_is() -> None:
    """Else nobody would lead where every answer takes longer than half of it."""
    asked: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def handle(request: Request) -> Response:
            asked.append(loop.time())
            await forever()
            raise AssertionError

        name: dict[str, Any] = {"name": "volcano", "namespace": "volcano-system", "identity": "a"}
        client = Client(InProcessTransport(handle))
        elector = LeaderElector(client, **name, lease_seconds=0.5, renew_seconds=0.4, retry_seconds=0.01)
        waiting = asyncio.create_task(elector.acquire())
        await until(lambda: len(asked) == 4)
        await stop(waiting)

    asyncio.run(main())
    assert all(later - earlier > 0.39 for earlier, later in itertools.pairwise(asked[1:]))


def test_a_leader_that_was_paused_beyond_its_lease_writes_nothing_when_it_wakes_up() -> None:
    async def main() -> None:
        api, clock = LeaseApi(), Clock()
        elector = candidate(api, "a", clock=clock)
        client = fenced(Client(InProcessTransport(api.handle)), elector)
        with pytest.raises(NotLeading, match="a does not lead: POST"):
            await client.create(LEASES.untyped, {"metadata": {"name": "x"}}, "default")
        await elector.acquire()
        await client.delete(LEASES, "volcano", "volcano-system")
        clock.seconds += 0.6
        with pytest.raises(NotLeading):
            await client.delete(LEASES, "volcano", "volcano-system")
        assert (await client.get(LEASES, "volcano", "volcano-system")).spec.holder_identity == "a"

    asyncio.run(main())


def test_why_nobody_can_lead_is_told_while_the_server_refuses_the_lease() -> None:
    async def main() -> None:
        api = LeaseApi()
        api.denied = True
        elector = candidate(api, "a")
        waiting = asyncio.create_task(elector.acquire())
        await until(lambda: (elector.problem() or "").startswith("cannot have the lease volcano-system/volcano: "))
        api.denied, api.broken = False, True
        await asyncio.sleep(0.1)
        api.broken = False
        await waiting
        assert elector.problem() is None

    asyncio.run(main())


def test_steps_of_the_wall_clock_change_nothing() -> None:
    """Whoever leads goes on leading, and whoever waits goes on waiting, wherever the clocks of their machines are."""

    async def main() -> None:
        api, clock, steps = LeaseApi(), Clock(), [datetime.timedelta(0)]
        first = candidate(api, "a", clock=clock, now=lambda: datetime.datetime.now(datetime.UTC) + sum(steps, steps[0]))
        hours = datetime.timedelta(hours=5)
        second = candidate(api, "b", clock=clock, now=lambda: datetime.datetime.now(datetime.UTC) + hours)
        leading = asyncio.create_task(first.run(forever))
        await until(lambda: first.is_leader)
        waiting = asyncio.create_task(second.run(forever))
        await until(lambda: second.leader == "a")
        for days in (-400, 4000, 0):
            steps.append(datetime.timedelta(days=days))
            for _ in range(7):  # tenths of a second: longer than the lease
                version = api.version
                clock.seconds += 0.1
                await until(lambda version=version: api.version > version)
                await asyncio.sleep(0.06)  # the other one looks every 0.02 s
            assert (first.is_leader, second.is_leader) == (True, False)
        await stop(leading)
        await stop(waiting)

    asyncio.run(main())


def test_a_standby_takes_over_as_soon_as_the_lease_has_run_out() -> None:
    async def main() -> None:
        api = LeaseApi()
        first = candidate(api, "a")
        second = candidate(api, "b", lease_seconds=50.0, renew_seconds=40.0, retry_seconds=30.0)
        await first.acquire()
        api.spec["leaseDurationSeconds"] = 1
        started = asyncio.get_running_loop().time()
        await second.acquire()
        assert 1.0 <= asyncio.get_running_loop().time() - started < 20.0

    asyncio.run(main())


def test_work_that_ends_gives_the_lease_back() -> None:
    async def main() -> None:
        api = LeaseApi()
        await candidate(api, "a").run(lambda: asyncio.sleep(0.01))
        assert api.spec["holderIdentity"] == ""

    asyncio.run(main())


def test_durations_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="lease duration > renew deadline"):
        candidate(LeaseApi(), "a", lease_seconds=1.0, renew_seconds=2.0)
