"""How long nobody works when a leader dies (kill -9) or hangs (SIGSTOP): two replicas of scheduler and controllers.

    python -m benchmarks.failover [--rounds 5] [--lease 15s --renew 10s --retry 2s]

On Kubernetes' own API server (where `make kube` has built it), with the lease flags of an installation by default. Each
round ends the leaders of both daemons at once, and submits a pod and a job at that moment. Who was killed is started
again, who was stopped goes on; both stand by in the next round, which begins a while after they say so. `lease` is the
time until another holds the lease, `work` until the scheduler has bound the pod, or the controllers have made one.
Prints JSON with all times in seconds, and how many pods were bound or made twice, which is to be none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.kube_cluster import control_plane, volcano
from tests.kube_cluster.control_plane import Address
from tests.kube_cluster.jobs import gang
from tests.kube_cluster.programs import Programs

from volcano.api.resources import JOBS, LEASES, PODGROUPS, PODS
from volcano.kube.client import Client
from volcano.kube.errors import ApiError

NAMESPACE = "default"
LEASE_OF = {"vc-scheduler": "volcano", "vc-controller-manager": "vc-controller-manager"}
POLL_SECONDS = 0.02
PATIENCE_SECONDS = 120.0
STANDBY_SECONDS = 4.0
"""Once a standby waits, until it knows the cluster and has seen the lease."""
WAITS = "waits for the lease"


class Replicas:
    """Two processes of one daemon, and which of them holds the lease."""

    def __init__(self, programs: Programs, daemon: str) -> None:
        self.names = (daemon, f"{daemon}-standby")
        self.lease = LEASE_OF[daemon]
        self._programs = programs

    def leader(self) -> str:
        """Who said last that it leads."""
        lines = ((line, name) for name in self.names for line in self._programs.log(name).splitlines())
        return max((line, name) for line, name in lines if "leads with the lease" in line)[1]

    def end(self, how: signal.Signals) -> str:
        name = self.leader()
        os.kill(self._programs.process_id(name), how)
        return name

    def revive(self, name: str, how: signal.Signals) -> None:
        """The one that was ended stands by again."""
        before = self._programs.log(name).count(WAITS)
        if how == signal.SIGSTOP:
            os.kill(self._programs.process_id(name), signal.SIGCONT)
        else:
            self._programs.restart(name)
        self._programs.await_ready(name, lambda: self._programs.log(name).count(WAITS) > before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lease", default="15s")
    parser.add_argument("--renew", default="10s")
    parser.add_argument("--retry", default="2s")
    arguments = parser.parse_args()
    if why := control_plane.absence():
        print(json.dumps({"skipped": why}))
        return
    flags = (
        "--leader-elect=true",
        f"--leader-elect-lease-duration={arguments.lease}",
        f"--leader-elect-renew-deadline={arguments.renew}",
        f"--leader-elect-retry-period={arguments.retry}",
    )
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder, Programs(Path(folder)) as programs:
        address = control_plane.start(Path(folder), programs)
        volcano.start(Path(folder), programs, address, flags)
        volcano.start_scheduler(Path(folder), programs, address, "vc-scheduler-standby", flags)
        volcano.start_controllers(programs, address, "vc-controller-manager-standby", flags)
        print(json.dumps(measured(programs, address, arguments.rounds, flags), indent=2))


def measured(programs: Programs, address: Address, rounds: int, flags: tuple[str, ...]) -> dict[str, Any]:
    replicas = [Replicas(programs, daemon) for daemon in LEASE_OF]
    result: dict[str, Any] = {"flags": flags}
    for manner, how in (("kill -9", signal.SIGKILL), ("SIGSTOP", signal.SIGSTOP)):
        times: dict[str, dict[str, list[float]]] = {daemon: {"lease": [], "work": []} for daemon in LEASE_OF}
        for number in range(rounds):
            time.sleep(STANDBY_SECONDS)
            for daemon, found in asyncio.run(one_round(address, replicas, how, f"{how.name.lower()}-{number}")).items():
                for what, seconds in found.items():
                    times[daemon][what].append(seconds)
        result[manner] = {daemon: summary(found) for daemon, found in times.items()}
    result["twice"] = asyncio.run(twice(address))
    return result


def summary(found: dict[str, list[float]]) -> dict[str, Any]:
    return {
        what: {"median": round(statistics.median(times), 1), "all": [round(each, 1) for each in times]}
        for what, times in found.items()
    }


async def one_round(
    address: Address, replicas: list[Replicas], how: signal.Signals, name: str
) -> dict[str, dict[str, float]]:
    async with address.connected() as client:
        holders = {each.lease: await holder(client, each.lease) for each in replicas}
        ended = [each.end(how) for each in replicas]
        began = time.monotonic()
        await submit(client, name)

        async def changed(lease: str) -> bool:
            return await holder(client, lease) not in ("", holders[lease])

        async def bound() -> bool:
            return bool((await client.get(PODS, f"{name}-single", NAMESPACE)).spec.node_name)

        async def made() -> bool:
            return any(
                pod.metadata.name.startswith(f"{name}-job-") for pod in (await client.list(PODS, NAMESPACE)).items
            )

        waits = [
            *(since(began, partial(changed, each.lease)) for each in replicas),
            since(began, bound),
            since(began, made),
        ]
        scheduler_lease, controllers_lease, first_bind, first_pod = await asyncio.gather(*waits)
    for each, name_of in zip(replicas, ended, strict=True):
        await asyncio.to_thread(each.revive, name_of, how)
    return {
        "vc-scheduler": {"lease": scheduler_lease, "work": first_bind},
        "vc-controller-manager": {"lease": controllers_lease, "work": first_pod},
    }


async def submit(client: Client, name: str) -> None:
    """A pod with a group of its own, which needs no controllers, and a job, which needs them first."""
    single = gang(f"{name}-single", 1, "sleep", "1")["spec"]["tasks"][0]["template"]
    group = {"metadata": {"name": f"{name}-single"}, "spec": {"minMember": 1, "queue": "default"}}
    metadata = {"name": f"{name}-single", "annotations": {"scheduling.k8s.io/group-name": f"{name}-single"}}
    await client.create(PODGROUPS.untyped, group, NAMESPACE)
    pod = {"metadata": metadata, "spec": {**single["spec"], "schedulerName": "volcano"}}
    await client.create(PODS.untyped, pod, NAMESPACE)
    await client.create(JOBS.untyped, gang(f"{name}-job", 1, "sleep", "1"), NAMESPACE)


async def since(began: float, holds: Callable[[], Awaitable[bool]]) -> float:
    while time.monotonic() - began < PATIENCE_SECONDS:
        with suppress(ApiError, OSError):
            if await holds():
                return time.monotonic() - began
        await asyncio.sleep(POLL_SECONDS)
    raise TimeoutError(f"nobody took over within {PATIENCE_SECONDS:g} s")


async def holder(client: Client, lease: str) -> str:
    return (await client.get(LEASES, lease, volcano.NAMESPACE)).spec.holder_identity or ""


async def twice(address: Address) -> int:
    """Pods beyond one for each that was asked for."""
    async with address.connected() as client:
        pods = (await client.list(PODS, NAMESPACE)).items
        jobs = (await client.list(JOBS, NAMESPACE)).items
    return len(pods) - 2 * len(jobs)


if __name__ == "__main__":
    main()
