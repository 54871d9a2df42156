"""Volcano's daemons on a real API server: CRDs applied, each daemon a process of its own, our node joined.

`control_plane` is what they talk to.
"""

from __future__ import annotations

import asyncio
import http.client
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

from tests.kube_cluster import chart
from tests.kube_cluster.programs import free_ports
from tests.waiting import until
from volcano.api import builtin_schemas, crds
from volcano.api.resources import ALL_VOLCANO, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, QUEUES
from volcano.kube.client import Client
from volcano.kube.config import load
from volcano.kube.transport import HttpTransport
from volcano.local.cluster import DEFAULT_SCHEDULER_CONF
from volcano.webhooks.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address
    from tests.kube_cluster.programs import Programs
    from volcano.api.resource import Resource

    Lease = tuple[str, ...]

NAMESPACE = "volcano-system"
NODE = "local"
ACCOUNTS = {
    "volcano.webhooks.manager": "volcano-admission",
    "volcano.controllers.manager": "volcano-controllers",
    "volcano.scheduler.daemon.main": "volcano-scheduler",
}
ADMISSION = ",".join(rule.path for rule in RULES)
QUICK_LEASE = (
    "--leader-elect=true",
    "--leader-elect-lease-duration=12s",
    "--leader-elect-renew-deadline=10s",
    "--leader-elect-retry-period=500ms",
)


def plainly(module: str) -> list[str]:
    """The command that runs a module as its main program."""
    return [sys.executable, "-m", module]


def start(root: Path, programs: Programs, address: Address, lease: Lease = QUICK_LEASE) -> None:
    """Install the chart and start everything; return when jobs are taken and nodes are there."""
    port = free_ports(1)[0]
    url = f"https://127.0.0.1:{port}"
    chart.install(address, url)
    place = f"--listen-address=127.0.0.1:{port}", f"--webhook-url={url}", "--register-webhooks=false"
    start_webhooks(programs, address, *place, chart.admission())
    start_controllers(programs, address, lease=lease)
    start_scheduler(root, programs, address, lease=lease)
    start_node(root, programs, address)
    programs.await_ready("node", lambda: address.get(f"/api/v1/nodes/{NODE}"))
    programs.await_ready("vc-scheduler", lambda: address.get(QUEUES.path(name="default")))


def start_webhooks(programs: Programs, address: Address, *flags: str) -> None:
    """`flags` say where they are; they judge everything unless these say otherwise."""
    health, every = free_ports(1)[0], f"--enabled-admission={ADMISSION}"
    _daemon(programs, "vc-webhook-manager", "volcano.webhooks.manager", address, health, every, *flags)


def start_controllers(
    programs: Programs,
    address: Address,
    name: str = "vc-controller-manager",
    lease: Lease = QUICK_LEASE,
    command: Callable[[str], list[str]] = plainly,
) -> None:
    metrics = "--listen-address=127.0.0.1:0"
    module = "volcano.controllers.manager"
    _daemon(programs, name, module, address, free_ports(1)[0], metrics, *lease, command=command)


def start_scheduler(
    root: Path,
    programs: Programs,
    address: Address,
    name: str = "vc-scheduler",
    lease: Lease = QUICK_LEASE,
    command: Callable[[str], list[str]] = plainly,
) -> None:
    conf = root / "scheduler.yaml"
    conf.write_text(DEFAULT_SCHEDULER_CONF)
    more = "--listen-address=127.0.0.1:0", f"--scheduler-conf={conf}", *lease
    _daemon(programs, name, "volcano.scheduler.daemon.main", address, free_ports(1)[0], *more, command=command)


def start_second(root: Path, programs: Programs, module: str, kubeconfig: Path, *flags: str) -> str:
    """Another scheduler or controller manager, named "second"; the address of its probes, once they answer."""
    health = f"127.0.0.1:{free_ports(1)[0]}"
    more = ["--listen-address=127.0.0.1:0", *flags]
    if "scheduler" in module:
        more.append(f"--scheduler-conf={root / 'scheduler.yaml'}")
    command = [sys.executable, "-m", module, f"--kubeconfig={kubeconfig}", f"--healthz-address={health}"]
    programs.start("second", [*command, *more])
    programs.await_ready("second", lambda: answers(f"http://{health}/healthz"))
    return health


def start_node(root: Path, programs: Programs, address: Address) -> None:
    """One that runs processes."""
    _node(root, programs, address, "--name", NODE, "--cpus", "2", "--memory", "4Gi")


def start_simulated_nodes(root: Path, programs: Programs, address: Address, count: int) -> None:
    size = "--simulated-cpu", "2", "--simulated-memory", "4Gi"
    _node(root, programs, address, "--name", "", "--simulated", str(count), *size)


def _node(root: Path, programs: Programs, address: Address, *flags: str) -> None:
    command = [sys.executable, "-m", "volcano.local.node", "--kubeconfig", str(address.kubeconfig)]
    programs.start("node", [*command, "--data-dir", str(root / "node"), *flags])


def _daemon(
    programs: Programs,
    name: str,
    module: str,
    address: Address,
    health: int,
    *flags: str,
    command: Callable[[str], list[str]] = plainly,
) -> None:
    kubeconfig = chart.kubeconfig_of(address, ACCOUNTS[module])
    where = f"--kubeconfig={kubeconfig}", f"--healthz-address=127.0.0.1:{health}"
    programs.start(name, [*command(module), *where, *flags])
    programs.await_ready(name, lambda: answers(f"http://127.0.0.1:{health}/healthz"))


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (OSError, http.client.HTTPException):
        return False


async def install(kubeconfig: Path) -> None:
    """The CRDs, established and served, and the namespace of the daemons' leases."""
    client = Client(HttpTransport(load(str(kubeconfig))))
    definitions = builtin_schemas.load()
    try:
        for resource in ALL_VOLCANO:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS.untyped, crds.crd(resource, definitions))
        await client.create(NAMESPACES.untyped, {"metadata": {"name": NAMESPACE}})
        for resource in ALL_VOLCANO:
            await _established(client, f"{resource.plural}.{resource.group}")
        for resource in ALL_VOLCANO:  # the server learns a little later what it has just said
            await until(lambda kind=resource: _served(client, kind))
    finally:
        await client.close()


async def _served(client: Client, resource: Resource[Any]) -> bool:
    await client.list(resource.untyped, limit=1)
    return True


async def _established(client: Client, name: str) -> None:
    for _ in range(600):
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS.untyped, name)
        conditions = {item["type"]: item for item in (found.get("status") or {}).get("conditions") or ()}
        accepted = conditions.get("NamesAccepted", {})
        assert accepted.get("status") != "False", accepted
        assert "NonStructuralSchema" not in conditions, conditions["NonStructuralSchema"]
        if conditions.get("Established", {}).get("status") == "True":
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{name} is not established: {conditions}")
