"""Kubernetes' own control plane on loopback: etcd and kube-apiserver; its controllers and scheduler where wanted.

`make kube` builds the programs; `programs` runs them.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.request
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.kube import where

from tests.kube_cluster.programs import Programs, free_ports
from volcano.kube.client import Client
from volcano.kube.config import load
from volcano.kube.transport import HttpTransport
from volcano.local.apiserver import certificates, kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "helm")
HOST = "127.0.0.1"

UNHURRIED = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""Each namespace that goes is some hundred requests: at twenty a second those of earlier tests would pile up."""

# Pods here have loopback addresses, which Kubernetes refuses in endpoints: these controllers could only complain.
CONTROLLERS = "*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller"


def absence() -> str:
    """Why there can be no control plane on this machine; "" when there can."""
    missing = [name for name in PROGRAMS if not (where.folder() / name).exists()]
    return f"no {', '.join(missing)} in {where.folder()}: run `make kube`" if missing else ""


@dataclass(frozen=True)
class Address:
    """Where the API server is and what proves who the caller is; `etcd` keeps what it knows."""

    server: str
    pki: certificates.Pki
    kubeconfig: Path
    etcd: str = ""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        """A client with the administrator's credentials."""
        client = Client(HttpTransport(load(str(self.kubeconfig))))
        try:
            yield client
        finally:
            await client.close()

    def get(self, path: str) -> str | None:
        """The body of a path that anybody who knows the authority may read; None while there is no answer."""
        context = ssl.create_default_context(cafile=str(self.pki.certificate("ca")))
        context.load_cert_chain(self.pki.certificate("admin"), self.pki.key("admin"))
        try:
            with urllib.request.urlopen(f"{self.server}{path}", context=context, timeout=5) as answer:
                return answer.read().decode()
        except (OSError, http.client.HTTPException):
            return None


def start(
    root: Path,
    programs: Programs,
    *,
    controllers: bool = True,
    options: tuple[str, ...] = (),
) -> Address:
    """Start the control plane with everything it writes under `root`; return when it is ready.

    `options` are further flags of kube-apiserver.
    """
    etcd_port, peer_port, port = free_ports(3)
    pki = certificates.ensure(root / "pki", [HOST, "localhost", "10.96.0.1", "kubernetes.default.svc"])
    address = Address(f"https://{HOST}:{port}", pki, root / "kubeconfig", f"http://{HOST}:{etcd_port}")
    kubeconfig.write(address.kubeconfig, pki, address.server, name="kube")
    start_etcd(root, programs, etcd_port, peer_port)
    start_api_server(programs, pki, etcd_port, port, options)
    await_api(programs, address)
    if controllers:
        start_controllers(programs, address)
    return address


def await_api(programs: Programs, address: Address) -> None:
    """Wait until the API server is ready.

    It ends by itself where etcd is away, and where a busy machine keeps it for 30 s from the roles it writes first.
    """
    programs.await_ready("kube-apiserver", lambda: address.get("/readyz") == "ok", restarted=True)


def start_etcd(root: Path, programs: Programs, port: int, peer_port: int) -> None:
    client, peer = f"http://{HOST}:{port}", f"http://{HOST}:{peer_port}"
    programs.start(
        "etcd",
        [
            where.folder() / "etcd",
            f"--data-dir={root / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ],
    )


def start_api_server(
    programs: Programs, pki: certificates.Pki, etcd_port: int, port: int, options: tuple[str, ...]
) -> None:
    programs.start(
        "kube-apiserver",
        [
            where.folder() / "kube-apiserver",
            f"--etcd-servers=http://{HOST}:{etcd_port}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={port}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
            f"--cert-dir={pki.root}",
            f"--client-ca-file={pki.certificate('ca')}",
            f"--tls-cert-file={pki.certificate('server')}",
            f"--tls-private-key-file={pki.key('server')}",
            f"--kubelet-client-certificate={pki.certificate('admin')}",
            f"--kubelet-client-key={pki.key('admin')}",
            "--kubelet-preferred-address-types=InternalIP",
            "--enable-aggregator-routing=true",  # nobody forwards what is sent to the addresses of services
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki.certificate('server')}",
            f"--service-account-signing-key-file={pki.key('server')}",
            *options,
        ],
    )


def start_controllers(programs: Programs, address: Address, options: tuple[str, ...] = ()) -> None:
    """Return when they work."""
    programs.start(
        "kube-controller-manager",
        [
            where.folder() / "kube-controller-manager",
            f"--kubeconfig={address.kubeconfig}",
            f"--root-ca-file={address.pki.certificate('ca')}",
            f"--service-account-private-key-file={address.pki.key('server')}",
            f"--controllers={CONTROLLERS}",
            "--leader-elect=false",
            "--secure-port=0",
            *UNHURRIED,
            *options,
        ],
    )
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    programs.await_ready("kube-controller-manager", lambda: address.get(account), restarted=True)


def start_scheduler(programs: Programs, address: Address, *options: str) -> None:
    """The one of pods that name none."""
    command = [str(where.folder() / "kube-scheduler"), f"--kubeconfig={address.kubeconfig}"]
    programs.start("kube-scheduler", [*command, "--leader-elect=false", "--secure-port=0", *options])
