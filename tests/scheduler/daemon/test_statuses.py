"""What is written of PodGroups, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from tests.waiting import until
from volcano.api.keys import POD_GROUP_PREFIX
from volcano.api.meta import JsonObject
from volcano.api.scheduling import SCHEDULED, UNSCHEDULABLE, PodGroup
from volcano.kube.client import Client
from volcano.kube.errors import Conflict
from volcano.kube.events import EventRecorder
from volcano.scheduler.daemon import statuses
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.lateness import PATIENCE_SECONDS
from volcano.scheduler.daemon.statuses import UNACCOUNTED, StatusWriter
from volcano.scheduler.daemon.view import PodGroupInView, Writer, WrittenMeta
from volcano.scheduler.framework.decisions import Condition, Decisions, PodGroupDecision
from volcano.testing.builders import gang

CONTROLLERS = Writer(manager="vc-controller-manager", operation="Update")
PLACED = [Condition(SCHEDULED, "tasks in gang are ready to be scheduled")]


class Server:
    """Stands for the API server and for the view of it: what is written, and how it looks then."""

    def __init__(self, group: PodGroup) -> None:
        self.group = group
        self.patches: list[JsonObject] = []
        self.heads: list[JsonObject] = []
        self.changes = 0
        """So many writes find that somebody else was faster."""
        self.absences = 0
        """So many writes do not reach it."""
        self.contests = 0
        """So many writes lose against those of others, who change nothing that we would see."""

    def store(self, _plural: str) -> dict[str, Any]:
        return {self.group.metadata.key: self.group}

    async def patch(self, _resource: Any, _name: str, body: JsonObject, _namespace: str) -> None:
        self.heads.append(body.get("metadata", {}))
        if "resourceVersion" in self.heads[-1] and self.changes:
            self.changes -= 1
            raise Conflict("the object has been modified")
        if self.contests:
            self.contests -= 1
            raise Conflict("too many writers")
        if self.absences:
            self.absences -= 1
            raise ConnectionResetError("gone")
        self.patches.append(body["status"])
        self.group.status.phase = body["status"].get("phase", self.group.status.phase)


def written(*decisions: PodGroupDecision, seconds: float, name: str = "train") -> list[JsonObject]:
    """What has been written after so many seconds, when these decisions were made one right after the other."""
    return asyncio.run(_written(name, decisions, seconds))


async def _written(name: str, decisions: Iterable[PodGroupDecision], seconds: float) -> list[JsonObject]:
    server = Server(gang(name, phase="Pending").pod_group)
    feed, recorder = cast("Feed", server), cast("EventRecorder", None)
    writer = StatusWriter(cast("Client", server), feed, recorder)
    writing = asyncio.create_task(writer.run())
    for decision in decisions:
        writer.accept(Decisions(podgroups={f"default/{name}": decision}))
        await asyncio.sleep(0.01)
    await asyncio.sleep(seconds)
    writing.cancel()
    return server.patches


def test_a_group_that_is_placed_is_written_once_when_it_runs() -> None:
    patches = written(
        PodGroupDecision("Inqueue", conditions=PLACED, is_settling=True),
        PodGroupDecision("Running", conditions=PLACED, is_settling=True),
        PodGroupDecision("Running", running=1, conditions=PLACED),
        seconds=0.05,
    )

    (patch,) = patches
    assert (patch["phase"], patch["running"], len(patch["conditions"])) == ("Running", 1, 1)


def test_it_is_written_as_it_is_when_its_pods_take_their_time() -> None:
    decision = PodGroupDecision("Running", conditions=PLACED, is_settling=True)

    assert written(decision, seconds=0.05) == []
    (patch,) = written(decision, seconds=PATIENCE_SECONDS + 0.1)
    assert patch["phase"] == "Running"


@pytest.mark.parametrize(
    "decision",
    [
        PodGroupDecision("Inqueue"),
        PodGroupDecision("Unknown", conditions=PLACED, is_settling=True),
        PodGroupDecision("Running", conditions=[Condition(UNSCHEDULABLE, "NotEnoughResources")], is_settling=True),
    ],
    ids=["admitted", "unknown", "unschedulable"],
)
def test_other_news_does_not_wait(decision: PodGroupDecision) -> None:
    assert len(written(decision, seconds=0.05)) == 1


def test_nobody_waits_to_hear_that_a_group_made_for_its_pods_is_admitted() -> None:
    assert written(PodGroupDecision("Inqueue"), seconds=0.05, name=f"{POD_GROUP_PREFIX}1234") == []


def heads(*writers: Writer, changes: int = 0) -> list[JsonObject]:
    """The metadata of what is sent to admit a group that these have written; `changes` times somebody was faster."""
    return asyncio.run(_heads(list(writers), changes))


async def _heads(writers: list[Writer], changes: int) -> list[JsonObject]:
    meta = WrittenMeta(name="train", namespace="default", uid="u", resource_version="7", managed_fields=writers)
    server = Server(PodGroupInView(metadata=meta))
    server.changes = changes
    writer = StatusWriter(cast("Client", server), cast("Feed", server), cast("EventRecorder", None))
    writing = asyncio.create_task(writer.run())
    writer.accept(Decisions(podgroups={"default/train": PodGroupDecision("Inqueue")}))
    await until(lambda: server.patches)
    writing.cancel()
    return server.heads


def test_no_account_is_kept_of_groups_that_only_the_controllers_have_written() -> None:
    assert heads(CONTROLLERS) == [{"uid": "u", "resourceVersion": "7", **UNACCOUNTED}]


@pytest.mark.parametrize(
    "other",
    [
        Writer(manager="kubectl", operation="Apply"),
        Writer(manager="vc-controller-manager", operation="Apply"),
        Writer(manager="kubectl-edit", operation="Update"),
    ],
    ids=["applied", "applied under our name", "edited"],
)
def test_the_account_of_what_others_wrote_is_kept(other: Writer) -> None:
    assert heads(CONTROLLERS, other) == [{"uid": "u"}]
    assert heads(other) == [{"uid": "u"}]
    assert heads() == [{"uid": "u"}]


def test_who_writes_the_group_at_the_same_moment_keeps_an_account() -> None:
    first, second = heads(CONTROLLERS, changes=1)

    assert first["resourceVersion"] == "7"
    assert second == {"uid": "u"}


def test_what_was_written_is_written_again_only_when_something_else_is_wanted() -> None:
    """The watch shows late what was written; cycles in between decide the same."""
    refused = [Condition(UNSCHEDULABLE, "NotEnoughResources")]
    patches = written(
        *[PodGroupDecision("Pending", conditions=refused)] * 3,
        PodGroupDecision("Pending", failed=1, conditions=refused),
        seconds=0.05,
    )

    assert [patch.get("failed") for patch in patches] == [None, 1]


@pytest.mark.parametrize(("absences", "contests"), [(3, 0), (0, 3)], ids=["away", "contested"])
def test_a_status_is_written_however_long_the_server_refuses(
    monkeypatch: pytest.MonkeyPatch, absences: int, contests: int
) -> None:
    """The job is at rest, so no cycle decides about it again."""
    monkeypatch.setattr(statuses, "ATTEMPTS", 1)

    async def story() -> None:
        server = Server(gang("train", phase="Pending").pod_group)
        server.absences, server.contests = absences, contests
        writer = StatusWriter(cast("Client", server), cast("Feed", server), cast("EventRecorder", None))
        writing = asyncio.create_task(writer.run())
        writer.accept(Decisions(podgroups={"default/train": PodGroupDecision("Inqueue")}))
        await until(lambda: server.patches)
        writing.cancel()

    asyncio.run(story())
