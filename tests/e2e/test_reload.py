"""A changed configuration of the scheduler is in force at once; a wrong one is named and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.harness import Cluster, vcjob
from tests.waiting import eventually
from volcano.api.resources import JOBS, PODGROUPS

pytestmark = pytest.mark.xdist_group("e2e")


@pytest.fixture
def restored(local_cluster: Cluster) -> Iterator[Cluster]:
    """The configuration is back in force after the test."""
    before = local_cluster.layout.scheduler_conf.read_text()
    yield local_cluster
    local_cluster.layout.scheduler_conf.write_text(before)
    eventually("the old configuration", lambda: in_force(local_cluster).endswith("enqueue, allocate, backfill"))


def in_force(cluster: Cluster) -> str:
    """What the scheduler said last about its configuration."""
    said = [line for line in cluster.log("vc-scheduler").splitlines() if "volcano-scheduler.conf" in line]
    return said[-1]


def test_a_configuration_is_reloaded_and_a_wrong_one_is_not(restored: Cluster) -> None:
    cluster, conf = restored, restored.layout.scheduler_conf
    conf.write_text(conf.read_text().replace('"enqueue, allocate, backfill"', '"enqueue"'))
    eventually("the new configuration", lambda: in_force(cluster).endswith("actions enqueue"))
    cluster.create(JOBS, vcjob("admitted", "true"))
    eventually("the job to be admitted", lambda: any_phase(cluster, "admitted") == "Inqueue")
    eventually("its pod", lambda: cluster.pods("admitted"))

    for wrong, why in (
        ("actions: [", "line 1"),
        ('actions: "enqueue, allocat"\ntiers: []\n', "allocat"),
        ("[]", "must be a map with the keys actions and tiers"),
    ):
        conf.write_text(wrong)
        eventually(f"a complaint about {why!r}", lambda why=why: why in in_force(cluster))
    assert "nodeName" not in cluster.pods("admitted")[0]["spec"]

    conf.write_text('actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gangg\n  - name: predicates\n')
    eventually("the job to end", lambda: cluster.phase("admitted") == "Completed")
    assert "plugin 'gangg' is not known and is left out: did you mean 'gang'?" in cluster.log("vc-scheduler")
    cluster("job", "delete", "admitted")


def any_phase(cluster: Cluster, job: str) -> str:
    """The phase of the podgroup of `job`."""
    groups = [group for group in cluster.list(PODGROUPS) if group["metadata"]["name"].startswith(f"{job}-")]
    phase: str = groups[0].get("status", {}).get("phase", "") if groups else ""
    return phase
