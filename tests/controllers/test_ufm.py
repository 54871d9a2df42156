"""Hypernodes of a fabric that UFM describes: over HTTP and TLS, its account in a Secret, and all that goes wrong."""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.controllers.bench import Bench, bench
from tests.controllers.test_hypernodes import PLACE, configure, hypernodes, make_node
from tests.waiting import until
from volcano.api import resources
from volcano.controllers.hypernode.config import KEY
from volcano.webhooks import certificates

if TYPE_CHECKING:
    from pathlib import Path

ACCOUNT = {"username": b"u", "password": b"p"}
DOMAINS = {"leaf-hn-0": 2, "leaf-hn-1": 1, "spine-hn": 3}


@dataclass
class Ufm:
    """Stands in for UFM: answers every request with `status` and `body`."""

    ports: list[dict[str, Any]] = field(default_factory=list)
    status: str = "200 OK"
    body: bytes | None = None
    asked: list[str] = field(default_factory=list)
    port: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        body = json.dumps(self.ports).encode() if self.body is None else self.body
        writer.write(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (self.status.encode(), len(body), body))
        await writer.drain()
        writer.close()


def port(node: str, switch: str) -> dict[str, Any]:
    return {"description": "Computer IB Port", "system_name": node, "peer_node_name": switch, "tier": 1, "other": None}


@asynccontextmanager
async def fabric(tls: ssl.SSLContext | None = None, **flags: Any) -> AsyncIterator[tuple[Ufm, Bench]]:
    """UFM with three nodes behind three switches, and the controllers beside it."""
    ufm = Ufm([port("a", "s1"), port("b", "s1"), port("b", "s2"), port("c", "s3"), {"description": "Switch"}])
    server = await asyncio.start_server(ufm.answer, "127.0.0.1", 0, ssl=tls)
    async with server, bench(**flags) as world:
        ufm.port = server.sockets[0].getsockname()[1]
        for name in "abc":
            await make_node(world, name)
        yield ufm, world


def wanted(endpoint: str, *, enabled: bool = True, interval: str = "1s", **config: Any) -> str:
    discovery = {
        "source": "ufm",
        "enabled": enabled,
        "interval": interval,
        "credentials": {"secretRef": {"name": "ufm", "namespace": PLACE}},
        "config": {"endpoint": endpoint, **config},
    }
    return json.dumps({"networkTopologyDiscovery": [discovery]})


async def give_account(world: Bench, **data: bytes) -> None:
    encoded = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()}
    secret = {"metadata": {"name": "ufm", "namespace": PLACE}, "data": encoded}
    await world.client.create(resources.SECRETS.untyped, secret)


async def reconfigure(world: Bench, text: str) -> None:
    body = {"data": {KEY: text}}
    await world.client.patch(resources.CONFIGMAPS.untyped, "volcano-controller-configmap", body, PLACE)


async def shows(world: Bench, expected: dict[str, int]) -> bool:
    return {one.metadata.name: one.status.node_count for one in await hypernodes(world)} == expected


async def told(world: Bench, *words: str, reason: str = "TopologyDiscoveryFailed") -> bool:
    events = (await world.client.list(resources.EVENTS, PLACE)).items
    messages = [one.message for one in events if one.reason == reason]
    return any(all(word in message for word in words) for message in messages)


def test_a_fabric_that_ufm_describes() -> None:
    async def main() -> None:
        async with fabric() as (ufm, world):
            await give_account(world, **ACCOUNT)
            await configure(world, wanted(f"http://127.0.0.1:{ufm.port}"))

            await until(lambda: shows(world, DOMAINS))
            assert "GET /ufmRest/resources/ports" in ufm.asked[0]
            assert f"Basic {base64.b64encode(b'u:p').decode()}" in ufm.asked[0]
            ufm.ports[:] = [port("c", "s3")]
            await until(lambda: shows(world, {"leaf-hn-1": 1, "spine-hn": 1}))

    asyncio.run(main())


def test_a_key_that_the_configuration_has_twice_is_told_and_the_last_counts() -> None:
    async def main() -> None:
        async with fabric() as (ufm, world):
            await give_account(world, **ACCOUNT)
            await configure(world, "networkTopologyDiscovery: 1\n" + wanted(f"http://127.0.0.1:{ufm.port}")[1:-1])

            await until(lambda: shows(world, DOMAINS))
            await until(lambda: told(world, "'networkTopologyDiscovery' is on line 1 already", reason="RepeatedKey"))

    asyncio.run(main())


def test_what_ufm_answers_wrongly_is_told_and_asked_again() -> None:
    """What was discovered before stays meanwhile."""

    async def main() -> None:
        async with fabric() as (ufm, world):
            await give_account(world, **ACCOUNT)
            ufm.status = "401 Unauthorized"
            await configure(world, wanted(f"http://127.0.0.1:{ufm.port}"))
            await until(lambda: told(world, "/ufmRest/resources/ports: status 401: check the Secret"))
            ufm.status = "200 OK"
            await until(lambda: shows(world, DOMAINS))

            ufm.body = b"<html>"
            await until(lambda: told(world, "not a list of ports"))
            ufm.status, ufm.body = "503 Service Unavailable", None
            await until(lambda: told(world, "status 503"))
            assert await shows(world, DOMAINS)

    asyncio.run(main())


def test_what_is_missing_is_told_at_once_and_waited_for() -> None:
    async def main() -> None:
        async with fabric() as (ufm, world):
            await configure(world, wanted(""))
            await until(lambda: told(world, "secret volcano-system/ufm does not exist"))
            await give_account(world, username=b"u")
            await until(lambda: told(world, "credentials are not configured", "has no password"))
            await world.client.delete(resources.SECRETS, "ufm", PLACE)
            await give_account(world, **ACCOUNT)
            await until(lambda: told(world, "UFM endpoint is not configured"))
            await reconfigure(world, wanted("http://127.0.0.1:1"))
            await until(lambda: told(world, "http://127.0.0.1:1"))

            await reconfigure(world, wanted(f"http://127.0.0.1:{ufm.port}"))

            await until(lambda: shows(world, DOMAINS))

    asyncio.run(main())


def test_the_configuration_is_followed_while_running() -> None:
    """Switched off, UFM is asked no more and its domains stay; a configuration that cannot be used changes nothing."""

    async def main() -> None:
        async with fabric() as (ufm, world):
            await give_account(world, **ACCOUNT)
            address = f"http://127.0.0.1:{ufm.port}"
            await configure(world, wanted(address, interval="100ms"))
            await until(lambda: shows(world, DOMAINS))

            await reconfigure(world, wanted(address, interval="soon"))
            await until(lambda: told(world, "ufm: interval 'soon': expected a duration such as 10m"))
            asked = len(ufm.asked)
            await until(lambda: more_than(ufm, asked + 2))

            await reconfigure(world, wanted(address, enabled=False))
            await until(lambda: rests(ufm))
            assert await rests(ufm)
            assert await shows(world, DOMAINS)

    asyncio.run(main())


async def rests(ufm: Ufm) -> bool:
    """It is not asked for a while."""
    asked = len(ufm.asked)
    await asyncio.sleep(0.4)
    return len(ufm.asked) == asked


async def more_than(ufm: Ufm, count: int) -> bool:
    return len(ufm.asked) > count


def test_its_certificate_is_checked_unless_that_is_switched_off(tmp_path: Path) -> None:
    identity = certificates.issue(["127.0.0.1"], datetime.datetime.now(datetime.UTC))
    pair = tmp_path / "pair.pem"
    pair.write_bytes(identity.certificate + identity.key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pair)

    async def main() -> None:
        async with fabric(tls) as (ufm, world):
            await give_account(world, **ACCOUNT)
            await configure(world, wanted(f"127.0.0.1:{ufm.port}"))
            await until(lambda: told(world, f"https://127.0.0.1:{ufm.port}", "certificate verify failed"))
            assert ufm.asked == []
            await reconfigure(world, wanted(f"127.0.0.1:{ufm.port}", insecureSkipVerify=True))
            await until(lambda: shows(world, DOMAINS))

        async with fabric(tls) as (ufm, world):
            await give_account(world, **ACCOUNT, ca_crt=identity.authorities)
            await configure(world, wanted(f"https://127.0.0.1:{ufm.port}"))
            await until(lambda: shows(world, DOMAINS))

    asyncio.run(main())


def test_an_authority_that_is_none_is_told() -> None:
    async def main() -> None:
        async with fabric() as (ufm, world):
            await give_account(world, **ACCOUNT, ca_crt=b"nonsense")
            await configure(world, wanted(f"https://127.0.0.1:{ufm.port}"))
            await until(lambda: told(world, "ca.crt is not a certificate in PEM"))

    asyncio.run(main())
