"""API servers to measure on: local mode's, or Kubernetes' own with its controllers; daemons beside them.

Kubernetes' programs are those of `make kube`.
"""

from __future__ import annotations

import asyncio
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.kube_cluster import chart, control_plane, volcano
from tests.kube_cluster.programs import Programs, free_ports

from benchmarks.rig.processes import cpu_seconds, peak_mib
from volcano.api.resources import CLUSTER_ROLE_BINDINGS, NODES, SERVICE_ACCOUNTS
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists
from volcano.kube.transport import HttpTransport
from volcano.local.cluster import DEFAULT_SCHEDULER_CONF

T = TypeVar("T")
NODE_SIZE = ("--simulated-cpu=32", "--simulated-memory=256Gi", "--simulated-pods=110")
CONTROLLER_OPTIONS = ("--node-monitor-grace-period=1h", "--kube-api-qps=1000", "--kube-api-burst=1000")
"""Simulated nodes renew their leases rarely, and would be taken for dead; a thousand of them come at once."""
NODES_SECONDS = 120.0
WRITER = "writer"
WEBHOOKS = "volcano.webhooks.manager"
ACCOUNTS = {module: account for module, account in volcano.ACCOUNTS.items() if module != WEBHOOKS}
"""Webhooks register themselves here, which is more than their account may."""


@dataclass
class Cluster:
    """An API server, and every process that a run starts beside it."""

    root: Path
    kubeconfig: Path
    programs: Programs
    server: tuple[str, ...]
    names: list[str]

    def start(self, name: str, module: str, *flags: str) -> None:
        """A program of ours that finds the API server through a kubeconfig: its account's, else the administrator's."""
        account = self.root / f"{ACCOUNTS.get(module, 'no')}.kubeconfig"
        kubeconfig = account if account.exists() else self.kubeconfig
        self.programs.start(name, [sys.executable, "-m", module, "--kubeconfig", str(kubeconfig), *flags])
        self.names.append(name)

    @property
    def writer(self) -> Path:
        """The kubeconfig of who hands in the load."""
        return self.root / f"{WRITER}.kubeconfig"

    def pid(self, name: str) -> int:
        return self.programs.process_id(name)

    def cpu_seconds(self) -> dict[str, float]:
        """CPU that each process has used so far."""
        return {name: cpu_seconds(self.pid(name)) for name in self.names}

    def peak_mib(self) -> dict[str, float]:
        return {name: round(peak_mib(self.pid(name)), 1) for name in self.names}

    def make_account(self) -> None:
        """The service account that pods need, where no controllers run that make it."""
        asyncio.run(with_client(self.kubeconfig, make_account))

    # Daemons

    def start_controllers(self) -> None:
        self._daemon("vc-controller-manager", "volcano.controllers.manager", "--listen-address=127.0.0.1:0")

    def start_scheduler(self) -> None:
        conf = self.root / "scheduler.yaml"
        conf.write_text(DEFAULT_SCHEDULER_CONF)
        flags = f"--scheduler-conf={conf}", "--listen-address=127.0.0.1:0"
        self._daemon("vc-scheduler", "volcano.scheduler.daemon.main", *flags)

    def start_webhooks(self, *flags: str) -> int:
        """With its default admission unless `flags` say otherwise; returns its port."""
        port = free_ports(1)[0]
        place = f"--listen-address=127.0.0.1:{port}", f"--webhook-url=https://127.0.0.1:{port}"
        self._daemon("vc-webhook-manager", WEBHOOKS, *place, *flags)
        return port

    def start_nodes(self, count: int) -> None:
        """Simulated nodes; returns when all of them can be used."""
        flags = "--name=", f"--data-dir={self.root / 'nodes'}", f"--simulated={count}", *NODE_SIZE
        self.start("nodes", "volcano.local.node", *flags)
        self.programs.await_ready(
            "nodes", lambda: asyncio.run(with_client(self.kubeconfig, usable_nodes)) == count, NODES_SECONDS
        )

    def _daemon(self, name: str, module: str, *flags: str) -> None:
        port = free_ports(1)[0]
        self.start(name, module, *flags, f"--healthz-address=127.0.0.1:{port}")
        self.programs.await_ready(name, lambda: answers(f"http://127.0.0.1:{port}/readyz"))


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def local(root: Path) -> Iterator[Cluster]:
    """Local mode's API server alone, on disk."""
    with Programs(root) as programs:
        cluster = Cluster(root, root / "kubeconfig", programs, ("apiserver",), [])
        cluster.start("apiserver", "volcano.local.apiserver", "--data-dir", str(root / "data"))
        programs.await_ready("apiserver", cluster.kubeconfig.exists)
        yield cluster


@contextmanager
def kubernetes(
    root: Path, *, controllers: bool = True, options: tuple[str, ...] = (), accounts: bool = False
) -> Iterator[Cluster]:
    """kube-apiserver on etcd (which does not wait for the disk), our CRDs in it; kube-controller-manager if wanted.

    With `accounts` daemons have the chart's, and their tokens and rights; else they are the administrator.
    """
    server = ("etcd", "kube-apiserver")
    names = [*server, *(["kube-controller-manager"] if controllers else [])]
    with Programs(root) as programs:
        address = control_plane.start(root, programs, controllers=False, options=options)
        asyncio.run(volcano.install(address.kubeconfig))
        if controllers:  # they look for kinds when they start, and twice a minute: ours have been there for long
            control_plane.start_controllers(programs, address, CONTROLLER_OPTIONS)
        if accounts:
            chart.install_accounts(address)
            asyncio.run(with_client(address.kubeconfig, make_writer))
            chart.write_kubeconfig(address, WRITER, chart.token(address, WRITER))
        yield Cluster(root, address.kubeconfig, programs, server, names)


async def with_client(kubeconfig: Path, work: Callable[[Client], Awaitable[T]]) -> T:
    client = Client(HttpTransport(config.load(str(kubeconfig))))
    try:
        return await work(client)
    finally:
        await client.close()


async def make_writer(client: Client) -> None:
    """Who hands in the load, by a token as programs in a cluster have it: certificates are checked at each request."""
    subject = {"kind": "ServiceAccount", "name": WRITER, "namespace": volcano.NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": WRITER}, "roleRef": role, "subjects": [subject]}
    await client.create(SERVICE_ACCOUNTS.untyped, {"metadata": {"name": WRITER}}, volcano.NAMESPACE)
    await client.create(CLUSTER_ROLE_BINDINGS.untyped, binding)


async def make_account(client: Client) -> None:
    account = {"metadata": {"name": "default"}, "automountServiceAccountToken": False}
    with suppress(AlreadyExists):
        await client.create(SERVICE_ACCOUNTS.untyped, account, "default")


async def usable_nodes(client: Client) -> int:
    """How many nodes are ready and without taint."""
    return sum(
        not node.spec.taints and any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
        for node in (await client.list(NODES)).items
    )
