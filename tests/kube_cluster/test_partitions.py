"""Daemons that are cut off from the API server, and it from them: they go on where they were, without a restart."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import yaml

from tests.kube_cluster import chart, control_plane, crashing, island
from tests.kube_cluster.island import Island
from tests.kube_cluster.jobs import gang
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.disturbed import Place

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
    pytest.mark.skipif(bool(island.absence()), reason=island.absence() or "there can be an island"),
]

SCHEDULER, CONTROLLERS, WEBHOOKS = (
    f"{name}-island" for name in ("vc-scheduler", "vc-controller-manager", "vc-webhook-manager")
)
UNHEARD = "--listen-address=127.0.0.1:0"
MUTATING = "mutatingwebhookconfiguration", "volcano-admission-service-jobs-mutate"


@pytest.fixture
def isle(place: Place, numbers: Iterator[int]) -> Iterator[Island]:
    """A network of its own for further daemons."""
    with Island(place.root, place.programs, place.address).joined() as made:
        yield made
    place.runs(f"without-an-island-{next(numbers)}")


def says(place: Place, name: str, words: str) -> None:
    eventually(f"{name} to say: {words}", lambda: words in place.programs.log(name))


MAINLAND = "vc-scheduler", "vc-controller-manager"


@contextmanager
def ashore_only(place: Place) -> Iterator[None]:
    """Nobody of the mainland works: whoever is on the island takes the leases."""
    with place.paused(MAINLAND[0]), place.paused(MAINLAND[1]):
        for name in (SCHEDULER, CONTROLLERS):
            place.await_lead(name)
        yield


@pytest.mark.parametrize("seconds", [8, pytest.param(75, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_leaders_that_are_cut_off_for_longer_than_anybody_waits(place: Place, isle: Island, seconds: int) -> None:
    """For longer than their leases, or than a connection may be silent (45 s) and a request unanswered (60 s)."""
    before, meanwhile = ([f"{when}-{seconds}-{number}" for number in range(4)] for when in ("cut", "while-cut"))
    conf = f"--scheduler-conf={place.root / 'scheduler.yaml'}"
    isle.start(SCHEDULER, "volcano.scheduler.daemon.main", UNHEARD, conf, *crashing.LEASE)
    isle.start(CONTROLLERS, "volcano.controllers.manager", UNHEARD, *crashing.LEASE)
    for name in (SCHEDULER, CONTROLLERS):
        says(place, name, "waits for the lease")
    with place.outlived(lists=2, daemons=(*MAINLAND, SCHEDULER, CONTROLLERS)):
        with ashore_only(place):
            place.kubectl.create(*(gang(name, 2, "sleep", "1") for name in before))
            eventually("some of the work to be done", lambda: place.done_to_pods_of(before))
            isle.cut()
        over = time.monotonic() + seconds
        place.kubectl.create(*(gang(name, 2, "sleep", "1") for name in meanwhile))
        for name in (*before, *meanwhile):
            eventually(f"{name} to complete", lambda name=name: place.phase(name) == "Completed")
        for name in (SCHEDULER, CONTROLLERS):
            place.await_standby(name)
        time.sleep(max(0.0, over - time.monotonic()))
        isle.mend()
        with ashore_only(place):
            place.runs(f"led-from-the-island-again-{seconds}")
    place.were_done_once([*before, *meanwhile], 2)


def test_controllers_that_are_cut_off_amid_their_work(place: Place, isle: Island) -> None:
    """What they asked for may have been done without their hearing of it: it is not done again."""
    before, meanwhile = ([f"{when}-{number}" for number in range(4)] for when in ("before", "meanwhile"))
    isle.start(CONTROLLERS, "volcano.controllers.manager", UNHEARD, *crashing.LEASE)
    says(place, CONTROLLERS, "waits for the lease")
    with place.paused("vc-controller-manager"):
        place.await_lead(CONTROLLERS)
        with place.outlived(lists=2, daemons=[CONTROLLERS, "vc-scheduler"]):
            place.kubectl.create(*(gang(name, 2, "sleep", "1") for name in before))
            eventually("some of the work to be done", lambda: place.done_to_pods_of(before))
            isle.cut()
            place.kubectl.create(*(gang(name, 2, "sleep", "1") for name in meanwhile))
            place.await_standby(CONTROLLERS)
            time.sleep(1)
            assert place.done_to_pods_of(meanwhile) == {}
            isle.mend()
            for name in (*before, *meanwhile):
                eventually(f"{name} to complete", lambda name=name: place.phase(name) == "Completed")
    place.were_done_once([*before, *meanwhile], 2)


@pytest.fixture
def webhooks(place: Place, isle: Island) -> Iterator[Island]:
    """The webhooks on the island, in the place of those that there were."""
    registered = place.kubectl.get(*MUTATING)["webhooks"][0]["clientConfig"]["url"]
    port = urlsplit(registered).port
    assert port
    place.programs.stop("vc-webhook-manager")
    place.kubectl.overwrite(*MUTATING, lambda found: found["webhooks"][0].update(timeoutSeconds=3))
    try:
        with isle.reached_at(port):
            where = f"--listen-address={isle.inside}:{port}", f"--webhook-url=https://127.0.0.1:{port}"
            isle.start(WEBHOOKS, "volcano.webhooks.manager", *where, "--register-webhooks=false", chart.admission())
            place.runs("judged-on-the-island")
            yield isle
    finally:
        place.kubectl.overwrite(*MUTATING, lambda found: found["webhooks"][0].update(timeoutSeconds=10))
        place.programs.restart("vc-webhook-manager")
        place.runs("judged-on-the-mainland")


def test_webhooks_that_are_cut_off(place: Place, webhooks: Island) -> None:
    """A job is refused, and it is said why, or it waits; then it is taken, and that once."""
    names = ["refused", "waiting"]
    manifest = place.root / "waiting.yaml"
    manifest.write_text(yaml.safe_dump(gang("waiting", 2)))
    with place.outlived(lists=2, daemons=[WEBHOOKS, "vc-scheduler", "vc-controller-manager"]):
        webhooks.cut()
        over = time.monotonic() + 3
        waiting = place.kubectl.start("create", "-f", str(manifest))
        refused = place.kubectl.run("create", "-f", "-", stdin=yaml.safe_dump(gang("refused", 2)))
        time.sleep(max(0.0, over - time.monotonic()))
        webhooks.mend()
        waiting.communicate()
        assert refused.code
        assert 'failed calling webhook "mutatejob.volcano.sh"' in refused.err
        for name in names:
            eventually(f"{name} to be taken", lambda name=name: place.submitted(name, 2))
            eventually(f"{name} to run", lambda name=name: place.phase(name) == "Running")
    place.were_done_once(names, 2)
    place.kubectl("delete", "vcjob", *names, "--wait=false")
