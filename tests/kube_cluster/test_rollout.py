"""Two replicas of every daemon are replaced one after the other, under load: nothing is refused, nothing lost."""

from __future__ import annotations

import asyncio
import datetime
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.kube_cluster import chart, control_plane, crashing, volcano
from tests.kube_cluster.background import Background
from tests.kube_cluster.jobs import gang
from tests.kube_cluster.programs import free_ports
from tests.kube_cluster.relays import Service, relay
from tests.waiting import eventually
from tests.webhooks.test_certificates import write
from volcano.api.resources import JOBS
from volcano.kube.errors import ApiError
from volcano.webhooks.certificates import issue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.control_plane import Address
    from tests.kube_cluster.disturbed import Place

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("recovery"),
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(control_plane.absence()), reason=control_plane.absence() or "there is a control plane"),
]

MUTATING = "mutatingwebhookconfiguration", "volcano-admission-service-jobs-mutate"
FILES = "--tls-cert-file", "--tls-private-key-file", "--ca-cert-file"
WEBHOOKS = "vc-webhook-manager-one", "vc-webhook-manager-two"
REPLICAS = (
    ("vc-scheduler", "vc-controller-manager", WEBHOOKS[0]),
    ("vc-scheduler-two", "vc-controller-manager-two", WEBHOOKS[1]),
)
SUBMIT_SECONDS = 0.2


class Submitter(Background):
    """Submits small jobs, one after the other, and notes what is refused."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self.taken: list[str] = []
        self.refused: list[str] = []
        self._address = address

    async def _work(self) -> None:
        async with self._address.connected() as client:
            while not self._stop.is_set():
                name = f"rolled-{len(self.taken) + len(self.refused)}"
                try:
                    await client.create(JOBS.untyped, gang(name, 1, "true"), "default")
                except (ApiError, OSError) as error:
                    self.refused.append(f"{name}: {error}")
                else:
                    self.taken.append(name)
                await asyncio.sleep(SUBMIT_SECONDS)


@pytest.fixture
def doubled(place: Place) -> Iterator[Service]:
    """A second scheduler and controllers; two replicas of the webhooks, with one certificate, behind one address."""
    port = urlsplit(place.kubectl.get(*MUTATING)["webhooks"][0]["clientConfig"]["url"]).port
    assert port
    folder = place.root / "rollout"
    folder.mkdir()
    identity = issue(["127.0.0.1"], datetime.datetime.now(datetime.UTC))
    files = [f"{name}={path}" for name, path in zip(FILES, write(identity, folder), strict=True)]
    ports = free_ports(4)
    behind = {("127.0.0.1", at): f"127.0.0.1:{health}" for at, health in zip(ports[:2], ports[2:], strict=True)}
    started: list[str] = []
    place.programs.stop("vc-webhook-manager")
    try:
        service = Service(behind)
        with service.looking(), relay(("127.0.0.1", port), service.choose):
            for name, ((host, at), health) in zip(WEBHOOKS, behind.items(), strict=True):
                where = f"--listen-address={host}:{at}", f"--webhook-url=https://127.0.0.1:{port}"
                known = f"--kubeconfig={chart.kubeconfig_of(place.address, 'volcano-admission')}"
                flags = known, f"--healthz-address={health}", "--register-webhooks=false", chart.admission()
                module = "volcano.webhooks.manager"
                command = [sys.executable, "-m", module, *where, *flags, *files, "--shutdown-delay-duration=5s"]
                place.programs.start(name, command)
                started.append(name)
            volcano.start_scheduler(place.root, place.programs, place.address, REPLICAS[1][0], crashing.LEASE)
            started.append(REPLICAS[1][0])
            volcano.start_controllers(place.programs, place.address, REPLICAS[1][1], crashing.LEASE)
            started.append(REPLICAS[1][1])
            eventually("both webhooks to be asked", lambda: len(service.ready) == len(WEBHOOKS))
            place.runs("before-the-rollout")
            yield service
    finally:
        for name in started:
            place.programs.kill(name)
        place.programs.restart("vc-webhook-manager")
    place.runs("after-the-rollout")


def test_every_replica_is_replaced_under_load(place: Place, doubled: Service) -> None:
    load = Submitter(place.address)
    with load.running():
        eventually("some work", lambda: len(load.taken) > 2 or load.refused)
        for replica in REPLICAS:
            stood = {name: place.programs.log(name).count("waits for the lease") for name in replica}
            for name in replica:
                place.programs.stop(name)
                if name in WEBHOOKS:
                    eventually(f"{name} to be asked no more", lambda: len(doubled.ready) < len(WEBHOOKS))
                place.programs.restart(name)
            eventually("both webhooks to be asked", lambda: len(doubled.ready) == len(WEBHOOKS))
            for name in replica[:2]:
                known = stood[name]
                eventually(
                    f"{name} to stand by or lead",
                    lambda name=name, known=known: place.programs.log(name).count("waits for the lease") > known,
                )
        seen = len(load.taken)
        eventually("more work", lambda: len(load.taken) > seen + 2 or load.refused)
    assert load.refused == []
    for name in load.taken:
        eventually(f"{name} to complete", lambda name=name: place.phase(name) == "Completed")
    place.were_done_once(load.taken, 1)
    place.kubectl("delete", "vcjob", *load.taken, "--wait=false")
