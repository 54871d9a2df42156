"""vc-webhook-manager is called by both API servers, at a URL and behind a Service, as it registered itself."""

from __future__ import annotations

import asyncio
import base64
import datetime
import socket
import ssl
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster import bare, control_plane, volcano
from tests.kube_cluster.programs import free_ports
from tests.waiting import SECONDS, until
from tests.webhooks.test_certificates import write
from volcano.api import resources
from volcano.kube.errors import AlreadyExists, ApiError, NotFound
from volcano.webhooks import certificates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.bare import Server
    from volcano.api.resource import Resource
    from volcano.kube.client import Client

pytestmark = pytest.mark.xdist_group("webhooks")

DAEMON = "vc-webhook-manager"
SERVICE = "volcano-admission-service"
# Only a webhook that was started like this refuses what `deep` is.
STRICT = "--max-queue-depth=1"
DAEMON_SAYS = 'admission webhook "validatequeue.volcano.sh" denied the request'
WORDS = "queue deep exceeds the maximum allowed depth of 1"
NO_QUEUE = 'queue.scheduling.volcano.sh "nowhere" not found'
OF_JOB = {"apiVersion": resources.JOBS.api_version, "kind": "Job", "name": "j", "uid": "u"}


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
    me = asyncio.run(own_name(server))
    volcano.start_webhooks(server.programs, server.address, *flags, STRICT, f"--controllers-user={me}")


async def own_name(server: Server) -> str:
    async with server.address.connected() as client:
        review = await client.create(resources.SELF_SUBJECT_REVIEWS, {})
        return str(review["status"]["userInfo"]["username"])


@pytest.mark.parametrize("server", [pytest.param("kube", marks=pytest.mark.kube)], indirect=True)
def test_files_are_replaced_while_kubernetes_goes_on_asking(server: Server) -> None:
    """Twenty seconds long: so often the daemon looks at its files, and trust comes before and goes after."""
    [port] = free_ports(1)
    url, names = f"https://127.0.0.1:{port}", ("--tls-cert-file", "--tls-private-key-file", "--ca-cert-file")
    now = datetime.datetime.now(datetime.UTC)
    old, new = (certificates.issue(["127.0.0.1"], now) for _ in range(2))
    files = write(old, server.root)
    flags = [f"{name}={file}" for name, file in zip(names, files, strict=True)]
    start(server, f"--listen-address=127.0.0.1:{port}", f"--webhook-url={url}", *flags)

    async def main() -> None:
        async with server.address.connected() as client:
            assert DAEMON_SAYS in await refusal(client, queue("deep", parent="top"), words=WORDS)
            write(new, server.root)
            async with asyncio.timeout(SECONDS):
                while await shown(port) != new.certificate.decode():
                    assert DAEMON_SAYS in await refusal(client, queue("deep", parent="top"))
                    await asyncio.sleep(0.2)
            async with asyncio.timeout(SECONDS):
                while await trusted(client) != new.authorities:
                    assert DAEMON_SAYS in await refusal(client, queue("deep", parent="top"))
                    await asyncio.sleep(0.2)
            for _ in range(20):
                assert DAEMON_SAYS in await refusal(client, queue("deep", parent="top"))

    try:
        asyncio.run(main())
    finally:
        server.programs.kill(DAEMON)
        asyncio.run(forget(server))


async def shown(port: int) -> str:
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))


async def forget(server: Server) -> None:
    async with server.address.connected() as client:
        for registrations in (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS):
            await client.delete_collection(registrations)


async def trusted(client: Client) -> bytes:
    """The authorities that Kubernetes takes the webhook of queues for."""
    found = await client.get(resources.VALIDATING_WEBHOOKS.untyped, "volcano-admission-service-queues-validate")
    return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])


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
        assert DAEMON_SAYS in await refusal(client, queue("deep", parent="top"), words=WORDS)
        await until(partial(is_reclaimable, client, queue("plain")))
        await refusal(client, group(), resources.PODGROUPS, words=NO_QUEUE)
        if server.address.etcd:  # local mode judges by itself, too, whoever comes
            await taken(client, resources.PODGROUPS, group(OF_JOB))

        server.programs.kill(DAEMON)
        assert "failed calling webhook" in await refusal(client, queue("any"))
        await pods_of_others_start(client)
        for registrations in (resources.MUTATING_WEBHOOKS, resources.VALIDATING_WEBHOOKS):
            await client.delete_collection(registrations)


async def pods_of_others_start(client: Client) -> None:
    """Only pods that we have to judge wait until we are back: ours with a budget, or with a group by the other key."""
    with suppress(AlreadyExists):
        await client.create(resources.SERVICE_ACCOUNTS.untyped, {"metadata": {"name": "default"}}, "default")
    budget = {"volcano.sh/jdb-min-available": "1"}
    for marks in (budget, {"scheduling.volcano.sh/group-name": "g"}):
        await until(partial(waits, client, resources.PODS, pod("volcano", marks), "default"))
    for others in (pod("default-scheduler", budget), pod("volcano", {}), pod("volcano", {"any": "thing"})):
        assert not await waits(client, resources.PODS, others, "default")


async def is_reclaimable(client: Client, document: dict[str, Any]) -> bool:
    """A queue is, when it has passed the webhook that gives defaults: servers learn of each webhook by itself."""
    with suppress(Unanswered):  # by those of a test before
        return (await taken(client, resources.QUEUES, document))["spec"].get("reclaimable") is True
    return False


async def waits(client: Client, resource: Resource[Any], document: dict[str, Any], namespace: str) -> bool:
    """An object cannot be created while its webhook is away."""
    try:
        await taken(client, resource, document, namespace)
    except Unanswered:
        return True
    return False


class Unanswered(Exception):
    """By a webhook that the server asked."""


async def taken(
    client: Client, resource: Resource[Any], document: dict[str, Any], namespace: str | None = None
) -> dict[str, Any]:
    """What the object would be stored as."""
    try:
        made: dict[str, Any] = await client.create(resource.untyped, document, namespace, dry_run=True)
    except ApiError as error:
        if "failed calling webhook" in error.message:
            raise Unanswered from error
        raise
    return made


def pod(scheduler: str, annotations: dict[str, str]) -> dict[str, Any]:
    spec = {"schedulerName": scheduler, "containers": [{"name": "c", "image": "busybox"}]}
    return {"metadata": {"name": "p", "annotations": annotations}, "spec": spec}


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def group(*owners: dict[str, str]) -> dict[str, Any]:
    meta = {"name": "g", "namespace": "default", "ownerReferences": owners}
    return {"metadata": meta, "spec": {"minMember": 1, "queue": "nowhere"}}


async def refusal(
    client: Client, document: dict[str, Any], resource: Resource[Any] = resources.QUEUES, words: str = ""
) -> str:
    """Why the object is refused, once it is for a reason that has `words` in it."""
    said = "nothing: the object is taken"

    async def refused() -> str:
        nonlocal said
        try:
            await client.create(resource.untyped, document, dry_run=True)
        except ApiError as error:
            said = error.message
            return said if words in said else ""
        return ""

    try:
        return await until(refused)
    except AssertionError as error:
        error.add_note(f"instead of {words or 'a refusal'}, the server said {said}")
        raise
