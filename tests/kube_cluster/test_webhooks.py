"""vc-webhook-manager is called by both API servers, at a URL and behind a Service, as it registered itself."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import bare, control_plane, volcano
from tests.kube_cluster.programs import free_ports
from volcano.api import resources
from volcano.kube.errors import ApiError, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.bare import Server
    from volcano.kube.client import Client

pytestmark = pytest.mark.xdist_group("webhooks")

DAEMON = "vc-webhook-manager"
SERVICE = "volcano-admission-service"
# Only a webhook that was started like this refuses what `deep` is.
STRICT = "--max-queue-depth=1"
DAEMON_SAYS = 'admission webhook "validatequeue.volcano.sh" denied the request'
WORDS = "queue deep exceeds the maximum allowed depth of 1"


@pytest.fixture(scope="module", params=["local", pytest.param("kube", marks=pytest.mark.kube)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if request.param == "kube" and (why := control_plane.absence()):
        pytest.skip(why)
    make = bare.kube if request.param == "kube" else bare.local
    for server in make(tmp_path_factory.mktemp(request.param)):
        asyncio.run(add_queues(server))
        yield server


async def add_queues(server: Server) -> None:
    async with server.address.connected() as client:
        await client.create(resources.QUEUES.untyped, queue("root"))
        await client.create(resources.QUEUES.untyped, queue("top", parent="root"))


def own_address() -> str:
    """An address of this machine that endpoints may have: Kubernetes allows no loopback there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: says which address would
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return str(probe.getsockname()[0])


def test_webhooks_at_a_url(server: Server) -> None:
    [port] = free_ports(1)
    start(server, f"--listen-address=127.0.0.1:{port}", f"--webhook-url=https://127.0.0.1:{port}")

    asyncio.run(are_called(server))


def test_webhooks_behind_a_service(server: Server) -> None:
    host, [port] = own_address(), free_ports(1)
    asyncio.run(offer(server, host, port))
    start(
        server,
        f"--listen-address={host}:{port}",
        f"--webhook-namespace={volcano.NAMESPACE}",
        f"--webhook-service-name={SERVICE}",
    )

    asyncio.run(are_called(server))


def start(server: Server, *flags: str) -> None:
    volcano.start_webhooks(server.programs, server.address, *flags, STRICT)


async def offer(server: Server, host: str, port: int) -> None:
    """The service of the webhooks, and the only place where it is offered."""
    service = {"metadata": {"name": SERVICE}, "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]}}
    labels = {"kubernetes.io/service-name": SERVICE}
    endpoints = {
        "metadata": {"name": SERVICE, "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    }
    async with server.address.connected() as client:
        await ensure_namespace(client)
        await client.create(resources.SERVICES.untyped, service, volcano.NAMESPACE)
        await client.create(resources.ENDPOINT_SLICES.untyped, endpoints, volcano.NAMESPACE)


async def ensure_namespace(client: Client) -> None:
    try:
        await client.get(resources.NAMESPACES, volcano.NAMESPACE)
    except NotFound:
        await client.create(resources.NAMESPACES.untyped, {"metadata": {"name": volcano.NAMESPACE}})


async def are_called(server: Server) -> None:
    """They judge and change objects while they are there; without them nothing passes; in the end they are gone."""
    async with server.address.connected() as client:
        assert DAEMON_SAYS in await refusal(client, queue("deep", parent="top"), until=WORDS)
        made = await client.create(resources.QUEUES.untyped, queue("plain"), dry_run=True)
        assert made["spec"]["reclaimable"] is True

        server.programs.kill(DAEMON)
        assert "failed calling webhook" in await refusal(client, queue("any"))
        for registrations in (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS):
            await client.delete_collection(registrations)


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


async def refusal(client: Client, document: dict[str, Any], until: str = "") -> str:
    """Why the queue is refused, once it is for a reason that has `until` in it."""
    async with asyncio.timeout(30):
        while True:
            try:
                await client.create(resources.QUEUES.untyped, document, dry_run=True)
            except ApiError as error:
                if until in error.message:
                    return error.message
            await asyncio.sleep(0.1)
