"""Who expects more podgroups of a queue than can be let in one by one, and how the controllers are told."""

from __future__ import annotations

import asyncio
import datetime
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, cast

import pytest

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api import credit as annotation
from volcano.api.credit import Credit
from volcano.api.keys import ADMISSION_CREDIT
from volcano.api.meta import JsonObject, ObjectMeta, OwnerReference
from volcano.api.resources import PODGROUPS, QUEUES
from volcano.api.scheduling import PodGroup, Queue
from volcano.kube.client import Client
from volcano.kube.errors import Forbidden, NotFound
from volcano.kube.fence import NotLeading
from volcano.scheduler.cluster.credit import CreditRequest
from volcano.scheduler.daemon import credit
from volcano.scheduler.daemon.credit import GROUPS, PAUSE_SECONDS, RENEWED_SECONDS, VALID_SECONDS, CreditWriter
from volcano.scheduler.daemon.flags import Flags
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.server import Scheduler
from volcano.testing.builders import gang

JOB = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", uid="u", controller=True)
EACH = {"cpu": "1"}
RUSH = 90
"""Podgroups that come at the same moment, and for some seconds are a rush."""
NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


P = ParamSpec("P")


def played(story: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that runs on an event loop of its own."""

    @functools.wraps(story)
    def test(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(story(*args, **kwargs))

    return test


def podgroup(
    queue: str = "q",
    *,
    owner: OwnerReference | None = JOB,
    phase: str = "Pending",
    each: Mapping[str, str] = EACH,
    name: str = "train",
) -> PodGroup:
    group = gang(name, pods=[], queue=queue, phase=phase, min_resources=each).pod_group
    group.metadata.owner_references = [owner] if owner else []
    return group


class Setting:
    """Stands for the API server, for the view of it, and for the cycles; time stands still unless it is set on."""

    def __init__(self, **annotations: str | None) -> None:
        self.queues = {name: annotated(name, text) for name, text in (annotations or {"q": None}).items()}
        self.writer = CreditWriter(
            cast("Client", self), cast("Feed", self), ["volcano"], clock=lambda: self.seconds, now=self.wall
        )
        self.seconds = 1000.0
        self.refusals: list[Exception] = []
        """What the next writes meet."""
        self.written: list[Any] = []

    def wall(self) -> datetime.datetime:
        return NOON + datetime.timedelta(seconds=self.seconds - 1000.0)

    def store(self, _plural: str) -> dict[str, Queue]:
        return self.queues

    async def patch(self, _resource: Any, name: str, body: JsonObject) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        assert body["metadata"]["uid"] == self.queues[name].metadata.uid
        text = body["metadata"]["annotations"][ADMISSION_CREDIT]
        self.written.append((name, text))
        self.queues[name] = annotated(name, text)

    def told(self, name: str = "q") -> Credit | None:
        return annotation.of(self.queues[name].metadata)

    def come(self, count: int, group: PodGroup | None = None) -> None:
        for _ in range(count):
            self.writer.arrived(group or podgroup())

    def cycle(self, room: int = GROUPS) -> Mapping[str, CreditRequest]:
        """What it is asked for; it has so much room."""
        requests = self.writer.requests()
        self.writer.grant(dict.fromkeys(requests, room))
        return requests

    async def looked(self) -> None:
        """Time for several looks at every queue."""
        await asyncio.sleep(0.05)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.writer.run())
        try:
            yield
            assert not task.done()
        finally:
            task.cancel()


def annotated(name: str, text: str | None) -> Queue:
    return Queue(metadata=ObjectMeta(name=name, uid=f"u-{name}", annotations={ADMISSION_CREDIT: text} if text else {}))


def given_by(*names: str, until: datetime.datetime = NOON) -> str:
    return Credit(id="old", scheduler_names=names, groups=256, each=EACH, until=until).written()


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credit, "LOOK_SECONDS", 0.01)


# What a rush is


@played
async def test_some_podgroups_are_no_rush() -> None:
    setting = Setting()
    setting.come(45)

    assert setting.cycle() == {}


@played
async def test_many_at_once_are_one_until_they_have_stopped_coming() -> None:
    setting = Setting()
    setting.come(RUSH)

    assert setting.writer.requests() == {"q": CreditRequest(GROUPS, EACH)}
    setting.seconds += 3
    assert setting.writer.requests() == {"q": CreditRequest(GROUPS, EACH)}
    setting.seconds += 3
    assert setting.writer.requests() == {}


@pytest.mark.parametrize(("per_second", "is_rush"), [(5, False), (15, True)])
@played
async def test_many_in_the_long_run_are_one_as_well(per_second: int, is_rush: bool) -> None:
    setting, requests = Setting(), []
    async with setting.running():
        for _ in range(20):
            setting.come(per_second)
            setting.seconds += 1
            await asyncio.sleep(0.02)  # a look at it meanwhile changes nothing
            setting.come(1)
            requests.append(setting.writer.requests())

    assert any(requests) == is_rush


@played
async def test_each_queue_has_its_own() -> None:
    setting = Setting(q=None, other=None)
    setting.come(RUSH)
    setting.come(10, podgroup("other"))

    assert list(setting.writer.requests()) == ["q"]


@pytest.mark.parametrize(
    "owner",
    [
        None,
        OwnerReference(api_version="batch/v1", kind="Job", name="train", uid="u", controller=True),
        OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid="u", controller=True),
        OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", uid="u"),
    ],
    ids=["of a bare pod", "of a Kubernetes job", "of a replica set", "of a job that does not control it"],
)
@played
async def test_only_podgroups_that_the_job_controller_makes_count(owner: OwnerReference | None) -> None:
    setting = Setting()
    setting.come(RUSH, podgroup(owner=owner))

    assert setting.writer.requests() == {}


@played
async def test_of_each_resource_the_largest_amount_is_asked_for() -> None:
    setting = Setting()
    setting.come(RUSH, podgroup(each={"cpu": "500m", "memory": "1Gi"}))
    setting.come(1, podgroup(each={"cpu": "1", "memory": "512Mi"}))
    setting.come(1, podgroup(each={"nvidia.com/gpu": "1"}))

    assert setting.writer.requests()["q"].each == {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize("odd", [{"cpu": "plenty"}, {"memory": "1XB"}], ids=str)
@played
async def test_an_amount_that_nobody_can_read_spoils_nothing(odd: dict[str, str]) -> None:
    setting = Setting()
    setting.come(1, podgroup(each=odd))
    setting.come(RUSH)
    setting.come(1, podgroup(each=odd))

    assert setting.writer.requests() == {"q": CreditRequest(GROUPS, EACH)}


# What is told


@played
async def test_the_queue_tells_what_a_cycle_has_found_room_for() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle(64)
        told = await until(setting.told)

    assert (told.scheduler_names, told.groups, told.each) == (("volcano",), 64, EACH)
    assert told.until == NOON + datetime.timedelta(seconds=VALID_SECONDS)


@played
async def test_a_larger_podgroup_that_came_during_the_cycle_has_not_been_asked_for() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        requests = setting.writer.requests()
        setting.come(1, podgroup(each={"cpu": "8"}))
        setting.writer.grant(dict.fromkeys(requests, GROUPS))
        told = await until(setting.told)

    assert told.each == EACH


@played
async def test_it_is_taken_back_when_the_rush_is_over() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(setting.told)
        setting.seconds += 6
        await until(lambda: setting.told() is None)
        await setting.looked()

    assert [text is None for _, text in setting.written] == [False, True]


@played
async def test_it_is_taken_back_however_long_the_server_refuses() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(setting.told)
        setting.refusals = [Forbidden("no"), ConnectionResetError("gone"), TimeoutError()]
        setting.seconds += 60
        await until(lambda: setting.told() is None)


@played
async def test_it_is_taken_back_where_the_view_shows_it_only_then() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(setting.told)
        late, setting.queues["q"] = setting.queues["q"], annotated("q", None)
        setting.seconds += 4.5  # over, and not long ago
        await setting.looked()
        setting.queues["q"] = late
        await until(lambda: setting.told() is None)


@played
async def test_the_next_rush_begins_anew() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        first = await until(setting.told)
        setting.seconds += 6
        await until(lambda: setting.told() is None)
        setting.come(RUSH)
        setting.cycle()
        assert (await until(setting.told)).id != first.id


# When more is asked for


@played
async def test_more_is_asked_for_when_half_of_it_has_come() -> None:
    setting = Setting()
    setting.come(RUSH)
    setting.cycle()

    setting.come(GROUPS // 2 - 1, podgroup(phase="Inqueue"))
    assert setting.cycle() == {}
    setting.come(10)  # these have not been let in
    assert setting.cycle() == {}
    setting.come(1, podgroup(phase="Inqueue"))
    assert setting.cycle() == {"q": CreditRequest(GROUPS, EACH)}
    assert setting.cycle() == {}


@played
async def test_half_of_what_there_was_room_for_counts() -> None:
    setting = Setting()
    setting.come(RUSH)
    setting.cycle(room=16)

    setting.come(7, podgroup(phase="Inqueue"))
    assert setting.cycle() == {}
    setting.come(1, podgroup(phase="Inqueue"))
    assert setting.cycle() == {"q": CreditRequest(GROUPS, EACH)}


@played
async def test_more_is_asked_for_before_it_ends() -> None:
    setting = Setting()
    setting.come(RUSH)
    setting.cycle()

    setting.seconds += VALID_SECONDS - RENEWED_SECONDS - 0.1
    setting.come(RUSH)
    assert setting.cycle() == {}
    setting.seconds += 0.2
    assert setting.cycle() == {"q": CreditRequest(GROUPS, EACH)}
    assert setting.cycle() == {}


@played
async def test_what_is_told_next_replaces_it() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        first = await until(setting.told)
        setting.come(GROUPS // 2, podgroup(phase="Inqueue"))
        setting.cycle(64)
        await until(lambda: setting.told() != first)

    told = setting.told()
    assert told is not None
    assert (told.id != first.id, told.groups) == (True, 64)


@played
async def test_where_there_is_no_room_it_is_asked_for_again_after_a_pause() -> None:
    setting = Setting()
    setting.come(RUSH)
    setting.cycle(room=0)

    setting.seconds += PAUSE_SECONDS - 0.1
    setting.come(RUSH)
    assert setting.cycle() == {}
    setting.seconds += 0.2
    assert setting.cycle() == {"q": CreditRequest(GROUPS, EACH)}


@played
async def test_when_there_is_no_room_left_what_was_told_is_taken_back() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(setting.told)
        setting.come(GROUPS // 2, podgroup(phase="Inqueue"))
        setting.cycle(room=0)
        await until(lambda: setting.told() is None)


@played
async def test_how_large_they_are_is_learned_anew_after_a_pause() -> None:
    """One that was larger than all others has made room look scarce."""
    setting = Setting()
    setting.come(1, podgroup(each={**EACH, "cpu": "500"}))
    setting.come(RUSH)
    assert setting.cycle(room=0) == {"q": CreditRequest(GROUPS, {**EACH, "cpu": "500"})}

    setting.seconds += PAUSE_SECONDS
    setting.come(RUSH)
    assert setting.cycle() == {"q": CreditRequest(GROUPS, EACH)}


@played
async def test_queues_hear_how_many_of_them_are_in_a_rush() -> None:
    setting = Setting()
    for name in ("q", "other"):
        setting.come(RUSH, podgroup(queue=name))
    setting.come(1, podgroup(queue="calm"))

    assert setting.cycle() == dict.fromkeys(("q", "other"), CreditRequest(GROUPS, EACH, queues=2))


@pytest.mark.parametrize("refusal", [Forbidden("no"), NotLeading("another does"), ConnectionResetError()], ids=repr)
@played
async def test_where_it_cannot_be_told_it_is_asked_for_again_after_a_pause(refusal: Exception) -> None:
    setting = Setting()
    setting.refusals = [refusal]
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(lambda: not setting.refusals)
        await setting.looked()
        assert setting.written == []

        setting.seconds += PAUSE_SECONDS - 0.1
        setting.come(RUSH)
        assert setting.cycle() == {}
        setting.seconds += 0.2
        assert setting.cycle() == {"q": CreditRequest(GROUPS, EACH)}
        await until(setting.told)


# Whoever led before, and other schedulers


@played
async def test_who_begins_to_lead_takes_back_what_others_have_left() -> None:
    setting = Setting(
        ended=given_by("volcano", until=NOON - datetime.timedelta(days=1)),
        lasting=given_by("volcano", until=NOON + datetime.timedelta(seconds=10)),
        renamed=given_by("volcano", "batch"),
        another=given_by("another"),
        odd="yes",
        none=None,
    )
    async with setting.running():
        setting.writer.grant({})
        await until(lambda: len(setting.written) == 3)
        await setting.looked()

    assert sorted(setting.written) == [("ended", None), ("lasting", None), ("renamed", None)]


@played
async def test_once_and_again_when_it_leads_again() -> None:
    setting = Setting()
    async with setting.running():
        setting.writer.grant({})
        await setting.looked()
        setting.queues["q"] = annotated("q", given_by("volcano"))
        setting.writer.grant({})
        await setting.looked()
        assert setting.written == []

        setting.writer.take_over()
        setting.writer.grant({})
        await until(lambda: setting.told() is None)


@played
async def test_what_it_gave_when_it_led_before_is_not_given_again() -> None:
    """It may have been spent; whoever led meanwhile has given other credits."""
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        first = await until(setting.told)
        setting.writer.take_over()
        setting.queues["q"] = annotated("q", given_by("volcano"))
        setting.cycle()
        await until(lambda: len(setting.written) == 2)

    told = setting.told()
    assert told is not None
    assert told.id not in {first.id, "old"}


@played
async def test_a_queue_that_is_deleted_is_forgotten() -> None:
    setting = Setting()
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(setting.told)
        del setting.queues["q"]
        setting.seconds += VALID_SECONDS
        setting.come(RUSH)
        assert setting.writer.requests()
        await until(lambda: not setting.writer.requests())


@played
async def test_a_queue_may_be_deleted_while_it_is_written(caplog: pytest.LogCaptureFixture) -> None:
    """That is nothing to complain of."""
    setting = Setting(q=None, other=None)
    setting.refusals = [NotFound("q")]
    async with setting.running():
        setting.come(RUSH)
        setting.cycle()
        await until(lambda: not setting.refusals)
        setting.come(RUSH, podgroup("other"))
        setting.cycle()
        await until(lambda: setting.told("other"))

    assert caplog.messages == []


# All of it


@played
async def test_a_burst_of_jobs_makes_a_scheduler_let_the_next_ones_in(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 1000.0
    async with bench(cpu=1000) as b:
        monkeypatch.setattr(b.scheduler.credits, "_clock", lambda: seconds)
        for number in range(80):
            await b.client.create(PODGROUPS, podgroup("default", name=f"train-{number}"))
        told = await until(lambda: _told(b.client))

        assert (told.scheduler_names, told.groups, told.each) == (("volcano",), GROUPS, EACH)

        heir = Scheduler(b.client, Flags(leader_elect=False), seed=1)
        monkeypatch.setattr(heir.credits, "_clock", lambda: seconds)
        stop = asyncio.Event()
        running = asyncio.create_task(heir.run(stop))
        await until(lambda: heir.is_ready() is None)
        stop.set()
        await running
        heir.credits.take_over()  # whatever it has been given, it would ask for more
        assert heir.credits.requests() == {}  # what it finds at its start is no rush

        await until(lambda: _told(b.client))
        seconds += 60
        await until(lambda: _is_untold(b.client))


async def _told(client: Client) -> Credit | None:
    return annotation.of((await client.get(QUEUES, "default")).metadata)


async def _is_untold(client: Client) -> bool:
    return ADMISSION_CREDIT not in (await client.get(QUEUES, "default")).metadata.annotations
