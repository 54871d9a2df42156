"""Random histories under the real controllers, where network and clock misbehave.

What is drawn is in simulation/*_life.py; `lived(Jobs, seed, steps)` repeats a history.
"""

from __future__ import annotations

import pytest

from tests.controllers.simulation.job_invariants import phase_of
from tests.controllers.simulation.job_life import Jobs
from tests.controllers.simulation.server import Trouble
from tests.controllers.simulation.soaking import STEPS, soak
from tests.controllers.simulation.world import lived, run
from volcano.api.meta import JsonObject


@pytest.mark.parametrize("block", range(4))
def test_whatever_happens_jobs_stay_true_and_come_to_an_end(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        lived(Jobs, seed, STEPS)


class RefusedHalfWay(Jobs):
    """The server takes what a restarting job's status says, and nothing more until told otherwise."""

    def observe(self, plural: str, before: JsonObject | None, after: JsonObject | None) -> None:
        super().observe(plural, before, after)
        if plural == "jobs" and after is not None and phase_of(after) == "Restarting":
            self.server.trouble = Trouble(refuses=1.0)


def test_a_restart_that_was_refused_half_way_leaves_the_next_one_to_do() -> None:
    task = {"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
    policy = {"events": ["PodFailed"], "action": "RestartJob"}
    spec = {"schedulerName": "volcano", "minAvailable": 1, "maxRetry": 4, "tasks": [task], "policies": [policy]}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "a", "namespace": "ns"}}

    async def story() -> None:
        life = RefusedHalfWay(0)
        life.start()
        life.server.put("jobs", "ns/a", {**job, "spec": spec})
        for retries in range(3):
            for help_along in (life.scheduler_admits, life.nodes_run_everything):
                await life.pause(10.0)
                await help_along()
            await life.pause(10.0)
            assert life.server.objects["jobs"]["ns/a"]["status"].get("retryCount", 0) == retries
            life.fail("ns/a-t-0")
            await life.pause(0.5)
            life.server.trouble = Trouble()
        await life.stop()

    run(story())


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_million_random_steps() -> None:
    soak(Jobs, 1_000_000)
