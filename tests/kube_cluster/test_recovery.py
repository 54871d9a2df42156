"""What happens to a cluster besides crashes: every daemon outlives it without a restart, without a storm of lists."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.e2e.rush import AT_ONCE, Flow
from tests.kube_cluster import control_plane, crashing, volcano
from tests.kube_cluster.jobs import gang
from tests.waiting import eventually, until
from volcano.api.keys import ADMISSION_CREDIT
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.disturbed import Place

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
]


def test_the_daemons_act_as_the_accounts_of_the_chart(place: Place) -> None:
    made_and_bound = {
        ("vc-controller-manager", "system:serviceaccount:volcano-system:volcano-controllers"),
        ("vc-scheduler", "system:serviceaccount:volcano-system:volcano-scheduler"),
    }
    assert place.who_made_and_bound() >= made_and_bound


def test_an_etcd_that_stalls_for_longer_than_the_lease(place: Place) -> None:
    with place.outlived():
        with place.paused("etcd"):
            time.sleep(6)
        place.await_api()
        place.runs("stalled")


def test_an_api_server_that_is_away_for_longer_than_the_lease(place: Place) -> None:
    """It has forgotten its history (410): every kind is listed once more, and not again and again."""
    with place.outlived(lists=2):
        place.programs.kill("kube-apiserver")
        time.sleep(6)
        place.programs.restart("kube-apiserver")
        place.await_api()
        place.runs("away")


LEADERS = ("vc-scheduler", "vc-controller-manager")


@contextmanager
def standbys(place: Place) -> Iterator[None]:
    """A second copy of scheduler and controllers."""
    scheduler, controllers = (f"{leader}-standby" for leader in LEADERS)
    volcano.start_scheduler(place.root, place.programs, place.address, scheduler, crashing.LEASE)
    volcano.start_controllers(place.programs, place.address, controllers, crashing.LEASE)
    try:
        for name in (scheduler, controllers):
            eventually(
                f"{name} to wait for the lease", lambda name=name: "waits for the lease" in place.programs.log(name)
            )
        yield
    finally:
        place.programs.stop(controllers)
        place.programs.stop(scheduler)


@pytest.mark.parametrize("seconds", [6, pytest.param(60, marks=pytest.mark.soak)])
def test_leaders_that_are_stopped_and_go_on_when_others_lead(place: Place, seconds: int) -> None:
    """They wake up amid their work: nothing of it is done twice, and they know what happened meanwhile."""
    jobs = [gang(f"stopped-{seconds}-{number}", 2, "sleep", "1") for number in range(12)]
    names = {job["metadata"]["name"] for job in jobs}
    with place.outlived(lists=2), standbys(place):
        place.kubectl.create(*jobs)
        eventually("some of the work to be done", lambda: len(place.done_to_pods_of(names)) > 2)
        with place.paused(LEADERS[0]), place.paused(LEADERS[1]):
            over = time.monotonic() + seconds
            eventually("others to do the rest", lambda: all(place.phase(name) == "Completed" for name in names), 200)
            time.sleep(max(0.0, over - time.monotonic()))
        for leader in LEADERS:
            place.await_standby(leader)
        place.runs(f"beside-{seconds}")
    place.runs(f"leading-again-{seconds}")
    place.were_done_once(names, 2)


def test_leaders_that_are_killed_in_a_rush(place: Place) -> None:
    """Podgroups are let in before they are there, and whoever counted on that is gone: no job waits for ever."""
    jobs = {f"rush-{number}" for number in range(asyncio.run(killed_in_a_rush(place)))}

    eventually("all jobs to be completed", lambda: completed(place) >= jobs, 200, pause=0.5)
    place.were_done_once(jobs, 1)
    place.kubectl("delete", "vcjob", "--all", "--wait=false")
    eventually("no podgroup to be let in in advance", lambda: not credit(place))
    place.runs("after-the-rush")  # by the daemons that the next tests find


def completed(place: Place) -> set[str]:
    jobs = place.kubectl.get("vcjob")["items"]
    return {
        job["metadata"]["name"] for job in jobs if job.get("status", {}).get("state", {}).get("phase") == "Completed"
    }


async def killed_in_a_rush(place: Place) -> int:
    """How many jobs came."""
    scheduler, controllers = LEADERS
    place.programs.stop(scheduler)
    volcano.start_scheduler(place.root, place.programs, place.address, scheduler, crashing.LEASE, hastily)
    client = Client(HttpTransport(config.load(str(place.address.kubeconfig))))
    try:
        await until(lambda: place.leads(scheduler))
        flow = Flow(client, "default", lambda number: gang(f"rush-{number}", 1, "true", cpu="1m"))
        async with flow.watched(), asyncio.timeout(120):
            await flow.submit_until_let_in()
            for victims in ([controllers], [scheduler], LEADERS):
                await flow.submit(AT_ONCE)
                for victim in victims:
                    place.programs.restart(victim)
                await flow.submit(2 * AT_ONCE)
        return flow.count
    finally:
        await client.close()
        place.programs.stop(scheduler)
        volcano.start_scheduler(place.root, place.programs, place.address, scheduler, crashing.LEASE)


def hastily(_module: str) -> list[str]:
    return volcano.plainly("tests.kube_cluster.hasty")


def credit(place: Place) -> str | None:
    found: str | None = place.kubectl.get("queue", "default")["metadata"].get("annotations", {}).get(ADMISSION_CREDIT)
    return found


def test_webhooks_that_do_not_answer(place: Place) -> None:
    """Creations wait for them and fail; what is in the cluster goes on, and what was refused comes back."""
    place.kubectl.create(gang("before", 2))
    eventually("the job to run", lambda: place.phase("before") == "Running")
    with place.outlived():
        with place.paused("vc-webhook-manager"):
            place.kubectl("delete", "pod", "--selector", "volcano.sh/job-name=before", "--wait=false")
            time.sleep(5)
        eventually("the pod to be made again", lambda: place.phase("before") in ("Running", "Restarting"))
        place.runs("after")
    place.kubectl("delete", "vcjob", "before", "--wait=false")


def test_webhooks_that_answer_late(place: Place) -> None:
    """Whoever creates a job waits; all others go on; the job is there in the end, and that once."""
    place.kubectl.create(gang("other", 2))
    eventually("the job to run", lambda: place.phase("other") == "Running")
    with place.outlived(), ThreadPoolExecutor(1) as pool:
        with place.paused("vc-webhook-manager"):
            over = time.monotonic() + 5
            late = pool.submit(eventually, "the job to be taken", lambda: place.submitted("late", 2))
            place.kubectl("delete", "pod", "other-work-0", "--grace-period=0", "--force")
            eventually("its pod to be made and bound again", lambda: twice(place, "other-work-0"))
            assert "NotFound" in place.kubectl.run("get", "vcjob", "late").err
            time.sleep(max(0.0, over - time.monotonic()))
        late.result()
        eventually("the late job to run", lambda: place.phase("late") == "Running")
    place.were_done_once(["late"], 2)
    place.kubectl("delete", "vcjob", "late", "other", "--wait=false")


def twice(place: Place, pod: str) -> bool:
    done = place.done_to_pods()
    return done["made", pod] == done["bound", pod] == 2
