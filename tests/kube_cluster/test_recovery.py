"""What happens to a cluster besides crashes: every daemon outlives it without a restart, without a storm of lists."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import control_plane
from tests.kube_cluster.island import Island
from tests.kube_cluster.jobs import gang
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.disturbed import Place

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
]


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


@pytest.fixture
def island(place: Place) -> Iterator[Island]:
    """A network of its own, for a standby scheduler that is started there."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces are for root, with the command ip")
    with Island(place.root, place.programs, place.address).joined() as made:
        eventually("the island to wait for the lease", lambda: "waits for the lease" in made.log())
        yield made


def test_a_leader_that_is_cut_off_stands_by_and_comes_back(place: Place, island: Island) -> None:
    with place.paused("vc-scheduler"):
        eventually("the island to lead", lambda: "leads with the lease" in island.log())
        place.runs("led-from-the-island")
    with place.outlived():
        island.cut()
        place.runs("led-from-the-mainland")
        eventually("the island to stand by", lambda: "standing by" in island.log())
        island.mend()
        with place.paused("vc-scheduler"):
            eventually("the island to lead again", lambda: island.log().count("leads with the lease") == 2)
            place.runs("led-from-the-island-again")
    assert place.programs.lives("vc-scheduler-island")
