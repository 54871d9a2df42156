"""Daemons that die: standbys take over, the API server comes back, and nothing is lost or run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from tests.kube_cluster import control_plane, volcano
from tests.kube_cluster.jobs import gang
from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Members, Site

pytestmark = pytest.mark.xdist_group("clusters")


def document(job: dict[str, object]) -> str:
    return yaml.safe_dump(job)


@pytest.fixture
def members(site: Site) -> Members:
    if site.members is None:
        pytest.skip("the daemons of local mode elect no leader: their supervisor restarts them")
    return site.members


def test_standbys_take_over_from_dead_leaders(site: Site, members: Members) -> None:
    programs, address = members.programs, members.address
    volcano.start_scheduler(members.root, programs, address, "vc-scheduler-standby")
    volcano.start_controllers(programs, address, "vc-controller-manager-standby")
    site.kubectl.create(gang("before", 2))
    eventually("the first job to run", lambda: site.phase("before") == "Running")

    programs.kill("vc-scheduler")
    programs.kill("vc-controller-manager")
    site.kubectl.create(gang("after", 2))

    eventually("the second job to run", lambda: site.phase("after") == "Running")
    assert site.phase("before") == "Running"
    assert len(site.pods()) == 4


def test_the_api_server_may_restart(site: Site, members: Members) -> None:
    site.kubectl.create(gang("through", 2))
    eventually("the job to run", lambda: site.phase("through") == "Running")
    before = {pod["metadata"]["uid"] for pod in site.pods()}

    members.programs.restart("kube-apiserver")
    control_plane.await_api(members.programs, members.address)

    assert {pod["metadata"]["uid"] for pod in site.pods()} == before
    eventually("the next job to be taken", lambda: created(site, gang("next", 2)))
    eventually("the next job to run", lambda: site.phase("next") == "Running")
    eventually("watches to be taken up anew", lambda: relisted(members))


def test_webhooks_that_are_away_refuse_jobs_until_they_are_back(site: Site, members: Members) -> None:
    members.programs.kill("vc-webhook-manager")
    refused = site.kubectl("create", "-f", "-", stdin=document(gang("early", 1)), fails=True)
    assert "failed calling webhook" in refused.err

    members.programs.restart("vc-webhook-manager")

    eventually("the webhooks", lambda: created(site, gang("late", 1)))
    eventually("the job to run", lambda: site.phase("late") == "Running")


def relisted(members: Members) -> bool:
    """Whether a daemon, whichever leads, heard that its watch is too old to be resumed."""
    logs = (members.root / "logs").glob("vc-*.log")
    return any("the watch is too old to resume, listing again" in log.read_text() for log in logs)


def created(site: Site, job: dict[str, object]) -> bool:
    """Submit a job to servers that may still be away; one that was taken without an answer is there."""
    try:
        site.kubectl.create(job)
    except AssertionError as error:
        return "already exists" in str(error)
    return True
