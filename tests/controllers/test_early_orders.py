"""An order for what the watch has not shown yet is carried out when it does, not taken for one that came too late."""

from __future__ import annotations

from typing import Final

import pytest

from tests.controllers.simulation.job_life import Jobs
from tests.controllers.simulation.queue_life import Queues, state_of
from tests.controllers.simulation.world import run
from volcano.api import phases
from volcano.api.meta import JsonObject

SETTLED: Final = 10.0
JOB: Final[JsonObject] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "a", "namespace": "ns"},
    "spec": {
        "schedulerName": "volcano",
        "minAvailable": 1,
        "maxRetry": 3,
        "tasks": [{"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}],
    },
}


def test_a_queue_that_was_just_made_is_closed() -> None:
    async def story() -> None:
        life = Queues(0)
        life.start()
        await life.pause(SETTLED)
        with life.server.held("queues"):
            life.server.put("queues", "a", {"metadata": {"name": "a"}, "spec": {"weight": 1}})
            life.order("a", "CloseQueue")
            await life.pause(SETTLED)
        await life.pause(SETTLED)
        assert state_of(life.queues["a"]) == "Closed"
        assert not life.server.objects["commands"]
        await life.stop()

    run(story())


def test_a_queue_that_was_made_anew_closes_with_its_parent() -> None:
    async def story() -> None:
        life = Queues(0)
        life.start()
        for name, parent in (("above", "root"), ("a", "above")):
            life.server.put("queues", name, {"metadata": {"name": name}, "spec": {"weight": 1, "parent": parent}})
        await life.pause(SETTLED)
        with life.server.held("queues"):
            life.server.remove("queues", "a")
            life.server.put("queues", "a", {"metadata": {"name": "a"}, "spec": {"weight": 1, "parent": "above"}})
            life.order("above", "CloseQueue")
            await life.pause(SETTLED)
            assert state_of(life.queues["a"]) == "Open", "decided about another queue"
        await life.pause(SETTLED)
        assert state_of(life.queues["a"]) == "Closed"
        await life.stop()

    run(story())


@pytest.mark.parametrize("by_uid", [False, True], ids=["by name", "by uid"])
@pytest.mark.parametrize("before", [False, True], ids=["first", "in place of another"])
def test_a_job_that_was_just_made_is_aborted(by_uid: bool, before: bool) -> None:
    async def story() -> None:
        life = Jobs(0)
        life.start()
        if before:
            life.server.put("jobs", "ns/a", JOB)
        await life.pause(SETTLED)
        with life.server.held("jobs"):
            if before:
                life.server.remove("jobs", "ns/a")
            made = life.server.put("jobs", "ns/a", JOB)
            life.order("a", "AbortJob", made["metadata"]["uid"] if by_uid else "")
            await life.pause(SETTLED)
        await life.pause(SETTLED)
        assert life.server.objects["jobs"]["ns/a"]["status"]["state"]["phase"] in {phases.ABORTED, phases.ABORTING}
        assert not life.server.objects["commands"]
        await life.stop()

    run(story())


def test_a_job_that_is_over_before_its_group_is_seen_leaves_none() -> None:
    async def story() -> None:
        life = Jobs(0)
        life.start()
        await life.pause(SETTLED)
        with life.server.held("podgroups"):
            life.server.put("jobs", "ns/a", JOB)
            await life.pause(SETTLED)
            life.order("a", "CompleteJob")
            await life.pause(SETTLED)
        await life.pause(SETTLED)
        assert life.server.objects["jobs"]["ns/a"]["status"]["state"]["phase"] == phases.COMPLETED
        assert not life.server.objects["podgroups"]
        await life.stop()

    run(story())


def test_an_order_for_what_is_gone_is_cleared_away() -> None:
    async def story() -> None:
        for life in (Queues(0), Jobs(0)):
            life.start()
            life.order("nobody", "AbortJob")
            await life.pause(SETTLED)
            assert not life.server.objects["commands"]
            await life.stop()

    run(story())
