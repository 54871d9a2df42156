"""A wall clock that is set by an hour and back, under a scheduler and controllers that go on.

What waits for a time of day goes by the clock, as in Kubernetes: times to live, schedules. What waits for a while, such
as a lease or a policy's delay, waits as long as it was told. The API server keeps the true time.
"""

from __future__ import annotations

import datetime
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kube_cluster import control_plane, volcano
from tests.kube_cluster.jobs import gang, hourly, patient
from tests.kube_cluster.skewed import Skew, now
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.disturbed import Place

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
]

SCHEDULER, CONTROLLERS = DAEMONS = ("vc-scheduler-skewed", "vc-controller-manager-skewed")
HOUR = datetime.timedelta(hours=1)
SECOND = datetime.timedelta(seconds=1)
LOOK_SECONDS = 2.0
BUSY = 0.5
"""Of a core: an endless loop needs all of one, daemons that have nothing to do hardly any."""
CRON_JOBS = "cronjobs.batch.volcano.sh"


@pytest.fixture
def skew(place: Place) -> Iterator[Skew]:
    """The clock of a scheduler and of controllers that lead in the place of the others."""
    made = Skew(place.root / "skew")
    scheduler, controllers = "vc-scheduler", "vc-controller-manager"
    with place.paused(scheduler), place.paused(controllers):
        volcano.start_scheduler(place.root, place.programs, place.address, SCHEDULER, command=made.command)
        volcano.start_controllers(place.programs, place.address, CONTROLLERS, command=made.command)
        try:
            for name in DAEMONS:
                eventually(f"{name} to lead", lambda name=name: "leads with the lease" in place.programs.log(name))
            yield made
        finally:
            for name in DAEMONS:
                place.programs.stop(name)
    place.runs("on-true-time")


def test_an_hour_forward_and_back(place: Place, skew: Skew) -> None:
    place.kubectl.create(
        gang("expiring", 1, "true", ttlSecondsAfterFinished=1800),
        gang("kept", 1, "true", ttlSecondsAfterFinished=7200),
        patient("patient"),
        gang("across", 2),
        hourly("hourly", now() + HOUR / 2),
    )
    for name, phase in (("expiring", "Completed"), ("kept", "Completed"), ("across", "Running")):
        eventually(f"{name} to be {phase}", lambda name=name, phase=phase: place.phase(name) == phase)
    eventually("a pod of the patient job to fail", lambda: place.kubectl.get("vcjob", "patient")["status"]["failed"])
    led = leaders(place)
    with place.outlived(lists=2, daemons=DAEMONS):
        began = now()
        put(place, skew, HOUR, "+3600")
        eventually("the hourly job", lambda: started(place))
        eventually("the job that is due to go", lambda: goes(place, "expiring"))
        place.kubectl.create(gang("ahead", 2))
        eventually("a job to run", lambda: place.phase("ahead") == "Running")
        assert all(began + HOUR - SECOND <= moment <= now() + HOUR + SECOND for moment in moments(place, "ahead"))
        is_calm(place)

        began = now()
        put(place, skew, HOUR * 0, "-3600")
        place.kubectl.create(gang("behind", 2))
        eventually("a job to run", lambda: place.phase("behind") == "Running")
        assert all(began - SECOND <= moment <= now() + SECOND for moment in moments(place, "behind"))
        is_calm(place)
    eventually("the leases to be renewed", lambda: all(renewed >= began for _, _, renewed in leases(place)))
    assert leaders(place) == led
    assert len(started(place)) == 1
    assert place.phase("kept") == "Completed"
    assert not goes(place, "kept")
    assert {place.phase(name) for name in ("across", "patient")} == {"Running"}
    place.were_done_once(["across", "ahead", "behind", "patient"], 2)
    place.were_done_once(["expiring", "kept"], 1)
    place.kubectl("delete", CRON_JOBS, "hourly", "--wait=false")
    place.kubectl("delete", "vcjob", "across", "ahead", "behind", "kept", "patient", "--wait=false")


def put(place: Place, skew: Skew, ahead: datetime.timedelta, step: str) -> None:
    """Set the clock, and wait until both daemons have seen it."""
    skew.set(ahead.total_seconds())
    for name in DAEMONS:
        words = f"the clock of this machine was set by {step}"
        eventually(f"{name} to see its clock", lambda name=name, words=words: words in place.programs.log(name))


def started(place: Place) -> list[str]:
    """The jobs of the cronjob."""
    names = [job["metadata"]["name"] for job in place.kubectl.get("vcjob")["items"]]
    return [name for name in names if name.startswith("hourly-")]


def goes(place: Place, job: str) -> bool:
    """The job is deleted; Kubernetes deletes its pods first, and takes its time with kinds that are new to it."""
    found = place.kubectl.run("get", "vcjob", job, "-o", "json")
    return "NotFound" in found.err or (found.code == 0 and "deletionTimestamp" in found.json["metadata"])


def moments(place: Place, job: str) -> list[datetime.datetime]:
    """When the job was in which phase, by its conditions, and by those of its group."""
    found = place.kubectl.get("vcjob", job)
    group = place.kubectl.get("podgroup", f"{job}-{found['metadata']['uid']}")
    conditions = [*found["status"]["conditions"], *group["status"].get("conditions", ())]
    assert conditions
    return [datetime.datetime.fromisoformat(condition["lastTransitionTime"]) for condition in conditions]


def leases(place: Place) -> list[tuple[str, int, datetime.datetime]]:
    """Who leads, after how many changes, and when that was confirmed."""
    found = place.kubectl.get("leases", f"--namespace={volcano.NAMESPACE}")["items"]
    assert len(found) == len(DAEMONS)
    specs = [lease["spec"] for lease in found]
    return [
        (spec["holderIdentity"], spec["leaseTransitions"], datetime.datetime.fromisoformat(spec["renewTime"]))
        for spec in specs
    ]


def leaders(place: Place) -> list[tuple[str, int]]:
    return [(holder, changes) for holder, changes, _ in leases(place)]


def is_calm(place: Place) -> None:
    """No daemon works without end."""
    before = [cpu_seconds(place.programs.process_id(name)) for name in DAEMONS]
    time.sleep(LOOK_SECONDS)
    after = [cpu_seconds(place.programs.process_id(name)) for name in DAEMONS]
    spent = [more - less for less, more in zip(before, after, strict=True)]
    assert max(spent) < BUSY * LOOK_SECONDS


def cpu_seconds(process: int) -> float:
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
