"""Credentials that are replaced while a daemon runs: used as they are now; what cannot be used is named."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_tls import Authority
from tests.kube.test_certificates import ended
from tests.kube.test_config import config as kubeconfig, write
from volcano.api.resources import PODS
from volcano.http.client import ConnectFailed
from volcano.http.message import Request, Response
from volcano.http.server import Server, serve
from volcano.http.tls import load_identity, server_context
from volcano.kube.client import Client
from volcano.kube.config import ClusterConfig, in_cluster, load
from volcano.kube.credentials import StaticToken
from volcano.kube.errors import Unauthorized
from volcano.kube.exec_plugin import ExecPlugin
from volcano.kube.transport import HttpTransport


class ApiServer:
    """Answers those whose client certificate names one of `known`, as kube-apiserver does: 401 to all others."""

    def __init__(self, *known: str) -> None:
        self.authority = Authority()
        self.known = set(known)
        self.context = server_context(*self.authority.issue("localhost"), client_authority=self.authority.pem)

    async def answer(self, request: Request) -> Response:
        if request.peer.common_name in self.known:
            return Response(200, {}, b'{"items":[]}')
        return Response(401, {}, b'{"kind":"Status","code":401,"reason":"Unauthorized","message":"Unauthorized"}')

    async def start(self) -> Server:
        return await serve(self.answer, ssl=self.context)

    def identity(self, folder: Path, name: str) -> None:
        """Put a certificate and its key into files, each replaced as a whole."""
        for file, pem in zip(("tls.crt", "tls.key"), self.authority.issue(name), strict=True):
            (folder / "new").write_bytes(pem)
            (folder / "new").rename(folder / file)

    def cluster(self, server: Server) -> dict[str, str]:
        authority = base64.b64encode(self.authority.pem).decode()
        return {"server": f"https://localhost:{server.port}", "certificate-authority-data": authority}


FILES = {"client-certificate": "tls.crt", "client-key": "tls.key"}


def inline(api: ApiServer, name: str) -> dict[str, str]:
    pems = zip(FILES, api.authority.issue(name), strict=True)
    return {f"{field}-data": base64.b64encode(pem).decode() for field, pem in pems}


async def status(transport: HttpTransport) -> int:
    return (await transport.request("GET", "/api/v1/pods")).status


@pytest.mark.parametrize("where", ["files", "kubeconfig"])
def test_a_client_certificate_that_is_replaced_is_shown_after_the_first_refusal(tmp_path: Path, where: str) -> None:
    async def main() -> None:
        api = ApiServer("first")
        async with await api.start() as server:

            def give(name: str) -> None:
                if where == "files":
                    api.identity(tmp_path, name)
                user = FILES if where == "files" else inline(api, name)
                write(tmp_path / "config", kubeconfig(cluster=api.cluster(server), user=user))

            give("first")
            transport = HttpTransport(load(str(tmp_path / "config")))
            assert await status(transport) == 200
            api.known = {"second"}
            assert await status(transport) == 401
            give("second")
            assert await status(transport) == 200
            await transport.close()

    asyncio.run(main())


def test_what_has_changed_is_used_before_anybody_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Files that are half replaced, or name another server, are told once, and what was read before is used."""
    monkeypatch.setattr("volcano.kube.renewal.LOOK_SECONDS", 0.0)

    async def main() -> None:
        api = ApiServer("first", "second")
        async with await api.start() as server:
            seen: list[str | None] = []
            answer = api.answer

            async def note(request: Request) -> Response:
                seen.append(request.peer.common_name)
                return await answer(request)

            api.answer = note  # type: ignore[method-assign]
            async with await api.start() as server:
                path = tmp_path / "config"
                write(path, kubeconfig(cluster=api.cluster(server), user=FILES))
                api.identity(tmp_path, "first")
                transport = HttpTransport(load(str(path)))
                await status(transport)
                (tmp_path / "tls.key").write_bytes(api.authority.issue("second")[1])
                await status(transport)
                await status(transport)
                assert caplog.text.count("what was read before stays in use") == 1
                api.identity(tmp_path, "second")
                await status(transport)
                write(path, kubeconfig(cluster={**api.cluster(server), "server": "https://elsewhere"}, user=FILES))
                await status(transport)
                await status(transport)
                assert caplog.text.count("names another server now, https://elsewhere") == 1
                assert seen == ["first", "first", "first", "second", "second", "second"]
                await transport.close()

    asyncio.run(main())


def test_whoever_chooses_another_context_means_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("volcano.kube.renewal.LOOK_SECONDS", 0.0)
    document = kubeconfig(cluster={"server": "http://127.0.0.1:1"})
    document["contexts"].append({"name": "y", "context": {"cluster": "d", "user": "u"}})
    document["clusters"].append({"name": "d", "cluster": {"server": "http://127.0.0.1:2"}})
    path = tmp_path / "config"
    transport = HttpTransport(load(write(path, document)))
    write(path, document | {"current-context": "y"})

    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1:1"):
        asyncio.run(status(transport))


def test_the_authority_of_a_pod_is_read_again_when_the_server_is_not_trusted(tmp_path: Path) -> None:
    async def main() -> None:
        api, stranger = ApiServer(), Authority()
        (tmp_path / "ca.crt").write_bytes(stranger.pem)
        (tmp_path / "token").write_text("mine")
        environment = {"KUBERNETES_SERVICE_HOST": "localhost"}

        async def answer(request: Request) -> Response:
            return Response(200 if request.headers["authorization"] == "Bearer mine" else 401)

        async with await serve(answer, ssl=api.context) as server:
            environment["KUBERNETES_SERVICE_PORT"] = str(server.port)
            transport = HttpTransport(in_cluster(environment, tmp_path))
            with pytest.raises(ConnectFailed, match="certificate verify failed"):
                await status(transport)
            (tmp_path / "new").write_bytes(api.authority.pem)
            (tmp_path / "new").rename(tmp_path / "ca.crt")
            assert await status(transport) == 200
            await transport.close()

    asyncio.run(main())


def test_a_certificate_that_a_plugin_renews_replaces_the_one_of_connections(tmp_path: Path) -> None:
    async def main() -> None:
        api = ApiServer("first")
        async with await api.start() as server:
            path = tmp_path / "credential.json"

            def give(name: str) -> None:
                certificate, key = api.authority.issue(name)
                found = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
                document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": found}
                path.write_text(json.dumps(document))

            give("first")
            plugin = {"command": "cat", "args": [str(path)], "apiVersion": "client.authentication.k8s.io/v1"}
            user = {"exec": {**plugin, "interactiveMode": "Never"}}
            transport = HttpTransport(
                load(write(tmp_path / "config", kubeconfig(cluster=api.cluster(server), user=user)))
            )
            assert isinstance(transport.config.token, ExecPlugin)
            assert await status(transport) == 200
            api.known = {"second"}
            give("second")
            assert await status(transport) == 200
            await transport.close()

    asyncio.run(main())


def jwt(expires: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{claims}.signature"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"token": StaticToken(jwt(1_000_000_000))}, "(made here): the token ended on 2001-09-09 01:46 UTC: renew it"),
        ({"token": StaticToken(jwt(99_000_000_000))}, "the token is not accepted: its account is gone"),
        ({"token": StaticToken("opaque")}, "the token is not accepted"),
        ({"certificate": "ended"}, "the client certificate ended on "),
        ({"certificate": "good"}, "the client certificate is not accepted: another authority issued it"),
        ({"headers": [("authorization", "Basic YTpi")]}, "the credentials are not accepted"),
        ({}, "no credentials are given"),
    ],
    ids=["ended token", "good token", "opaque token", "ended certificate", "good certificate", "password", "nothing"],
)
@pytest.mark.parametrize("streamed", [False, True], ids=["request", "stream"])
def test_a_refusal_says_whose_credentials_and_why(given: dict[str, Any], words: str, streamed: bool) -> None:
    authority = Authority()
    pems = {"ended": ended(authority)[0], "good": authority.issue("me")[0]}
    if "certificate" in given:
        given = {"certificate": pems[given["certificate"]]}

    async def main() -> str:
        async with await serve(ApiServer().answer) as server:
            config = ClusterConfig(f"http://127.0.0.1:{server.port}", source="made here", **given)
            client = Client(HttpTransport(config))
            with pytest.raises(Unauthorized) as refused:
                await (anext(client.watch(PODS)) if streamed else client.list(PODS))
            await client.close()
            return refused.value.message

    said = asyncio.run(main())
    assert said.startswith("Unauthorized (made here): ")
    assert words in said
    assert not any(secret in said for secret in ("signature", "opaque", "YTpi"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ended", "certificate of the API server, or of its authority, has ended: renew it there"),
        ("other", "certificate of the API server is for other names: set tls-server-name"),
        ("stranger", "created anew and the kubeconfig is stale"),
    ],
)
def test_a_server_that_is_not_trusted_is_named_with_what_to_do(tmp_path: Path, name: str, words: str) -> None:
    async def main() -> None:
        api = ApiServer()
        if name == "ended":
            load_identity(api.context, *ended(api.authority))
        if name == "stranger":
            load_identity(api.context, *Authority().issue("localhost"))
        async with await api.start() as server:
            cluster = api.cluster(server) | ({"tls-server-name": "elsewhere"} if name == "other" else {})
            transport = HttpTransport(load(write(tmp_path / "config", kubeconfig(cluster=cluster))))
            with pytest.raises(ConnectFailed, match=words):
                await status(transport)
            await transport.close()

    asyncio.run(main())
