"""Certificates of a running daemon change without a restart: trust first, then the new one is shown."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from cryptography import x509

from tests.http.test_tls import Authority
from tests.waiting import until
from tests.webhooks.documents import job, queue_document
from tests.webhooks.test_certificates import write
from tests.webhooks.test_daemon import FLAGS, SERVICE, api, ask, daemon, post, registered_bundle, run
from volcano.api.resources import JOBS, QUEUES, SECRETS, VALIDATING_WEBHOOKS
from volcano.http.client import Endpoint, HttpClient, HttpError
from volcano.http.tls import client_context
from volcano.kube.client import PatchKind
from volcano.webhooks import manager, presence
from volcano.webhooks.certificates import LIFETIME, Identity, issue
from volcano.webhooks.identity import FIELDS, SECRET_NAME
from volcano.webhooks.options import parse

if TYPE_CHECKING:
    from pathlib import Path

    from volcano.kube.client import Client

NOW = datetime.datetime.now(datetime.UTC)
HOSTS = ["127.0.0.1"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(presence, "HEARD_SECONDS", 0.05)


async def shown(port: int) -> bytes:
    """The certificate that a new connection is shown, whoever has signed it."""
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    return pem.replace("\n", "").encode()


def flat(pem: bytes) -> bytes:
    return pem.replace(b"\n", b"")


def test_replaced_files_are_trusted_and_shown_while_connections_stay(tmp_path: Path):
    old, new = issue(HOSTS, NOW), issue(HOSTS, NOW)
    paths = write(old, tmp_path)
    names = ("--tls-cert-file", "--tls-private-key-file", "--ca-cert-file")
    flags = [f"{name}={path}" for name, path in zip(names, paths, strict=True)]

    async def scenario() -> None:
        async with api() as client:
            await client.create(QUEUES.untyped, queue_document("default"))
            async with daemon(client, *flags) as http:
                port = http.endpoint.port
                assert (await ask(http, "/jobs/validate", job()))["allowed"]
                assert await shown(port) == flat(old.certificate)

                write(new, tmp_path)

                async def rotated() -> bool:
                    return await shown(port) == flat(new.certificate)

                async def old_is_forgotten() -> bool:
                    return await registered_bundle(client) == new.authorities

                await until(rotated)
                await until(old_is_forgotten)
                assert (await ask(http, "/jobs/validate", job()))["allowed"], "the connection of before goes on"
                fresh = HttpClient(Endpoint("127.0.0.1", port, client_context(authority=new.authorities)))
                assert (await ask(fresh, "/jobs/validate", job()))["allowed"]
                await fresh.close()
                distrustful = HttpClient(Endpoint("127.0.0.1", port, client_context(authority=old.authorities)))
                with pytest.raises(HttpError, match="certificate verify failed"):
                    await ask(distrustful, "/jobs/validate", job())
                await distrustful.close()
                await client.create(JOBS.untyped, job())  # the API server asks with what it was told

    run(scenario)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_two_bundles_of_authorities_are_one_however_they_end(end: bytes):
    old, new = (issue(HOSTS, NOW).authorities.strip() + end for _ in range(2))

    both = presence.both(new, old)

    assert x509.load_pem_x509_certificates(both) == [x509.load_pem_x509_certificate(one) for one in (new, old)]
    assert both.count(b"\n-----BEGIN") == 1
    assert presence.both(both, old) == both


def test_a_certificate_that_ends_soon_is_renewed_and_replicas_with_the_old_one_stay_trusted():
    soon = issue([*HOSTS, "hooks"], NOW - LIFETIME * 0.95)

    async def scenario() -> None:
        async with api() as client:
            stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
            task = asyncio.create_task(manager.run(client, parse([*FLAGS, *SERVICE]), stop, port.set_result))
            first = await shown(await port)
            before = await registered_bundle(client)

            await keep(client, soon)

            async def renewed() -> bool:
                stored = await secret(client)
                return stored.expires > NOW + LIFETIME / 2 and await shown(port.result()) == flat(stored.certificate)

            await until(renewed)
            stored = await secret(client)

            async def settled() -> bool:
                return await registered_bundle(client) == stored.authorities

            await until(settled)
            assert await shown(port.result()) != first
            assert stored.authorities != before
            assert soon.authorities.strip() in stored.authorities
            stop.set()
            await task

    run(scenario)


def test_a_bundle_that_an_upgrade_has_wiped_out_is_put_back():
    """Helm renders webhook configurations without one."""

    async def scenario() -> None:
        async with api() as client, daemon(client):
            name, before = "volcano-admission-service-jobs-validate", await registered_bundle(client)
            wiped = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
            await client.patch(VALIDATING_WEBHOOKS.untyped, name, wiped, kind=PatchKind.JSON)

            async def back() -> bool:
                with suppress(KeyError):
                    return await registered_bundle(client) == before
                return False

            await until(back)

    run(scenario)


def test_callers_are_verified_by_the_authority_of_now(tmp_path: Path):
    old, new, path = Authority(), Authority(), tmp_path / "ca.crt"
    path.write_bytes(old.pem)

    async def scenario() -> None:
        async with api() as client, daemon(client, f"--client-ca-file={path}") as stranger:
            bundle = await registered_bundle(client)

            async def status(authority: Authority | None) -> int:
                """How a new connection of one of its callers is answered; 0 where there is none."""
                certificate, key = (None, None) if authority is None else authority.issue("kube-apiserver")
                known = client_context(authority=bundle, certificate=certificate, key=key)
                http = HttpClient(dataclasses.replace(stranger.endpoint, ssl=known))
                try:
                    return (await post(http, "/jobs/validate", b'{"request": {"uid": "u"}}')).status
                except HttpError:
                    return 0
                finally:
                    await http.close()

            assert await status(old) != 401
            path.write_bytes(b"half of one")
            await asyncio.sleep(0.2)
            assert await status(old) not in (0, 401)
            path.write_bytes(new.pem)

            async def verified_anew() -> bool:
                return await status(new) not in (0, 401)

            await until(verified_anew)
            assert await status(old) == 0
            assert await status(None) == 401

    run(scenario)


async def keep(client: Client, identity: Identity) -> None:
    """Put an identity where replicas find it."""
    parts = (identity.certificate, identity.key, identity.authorities)
    data = {name: base64.b64encode(pem).decode() for name, pem in zip(FIELDS, parts, strict=True)}
    await client.patch(SECRETS.untyped, SECRET_NAME, {"data": data}, "volcano-system")


async def secret(client: Client) -> Identity:
    data = (await client.get(SECRETS.untyped, SECRET_NAME, "volcano-system"))["data"]
    return Identity(*(base64.b64decode(data[name]) for name in FIELDS))
