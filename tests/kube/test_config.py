"""Finding a cluster: kubeconfig files as kubectl reads them, pods, and errors that name file and field."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import stat
import traceback
from pathlib import Path
from typing import Any

import pytest

from tests.http.conftest import echo
from tests.http.test_tls import Authority
from volcano.http.client import ConnectFailed
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import Pem, server_context
from volcano.kube import kubeconfig
from volcano.kube.config import ClusterConfig, ConfigError, load
from volcano.kube.credentials import CredentialError, FileToken
from volcano.kube.exec_plugin import ExecPlugin
from volcano.kube.transport import HttpTransport, endpoint_of

Json = dict[str, Any]


def config(**changes: Any) -> Json:
    """A kubeconfig with one context; `cluster` and `user` are its entries."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": changes.get("cluster", {"server": "https://example:6443"})}],
        "users": [{"name": "u", "user": changes.get("user", {"token": "t"})}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **changes.get("context", {})}}],
        "current-context": changes.get("current", "x"),
    }


def write(path: Path, document: Any) -> str:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def token_of(found: ClusterConfig) -> str | None:
    assert found.token is not None
    return asyncio.run(found.token.current())


def test_a_kubeconfig_gives_server_namespace_and_token(tmp_path: Path) -> None:
    path = write(tmp_path / "config", config(context={"namespace": "ml"}))
    found = load(path)
    assert (found.server, found.namespace, token_of(found)) == ("https://example:6443", "ml", "t")
    assert found.ssl is not None
    assert load(path, master="https://other").server == "https://other"


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "a", {"clusters": [{"name": "c", "cluster": {"server": "https://first"}}]})
    second = write(tmp_path / "b", config())
    environment = {"KUBECONFIG": f"{first}:{tmp_path}/missing:{second}", "HOME": str(tmp_path)}
    assert load(environment=environment).server == "https://first"


def test_files_are_relative_to_the_kubeconfig_and_inline_data_wins(tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = authority.issue("alice")
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    (tmp_path / "token").write_text("from-file\n")
    user = {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-certificate": "missing",
        "client-key-data": base64.b64encode(key).decode(),
        "tokenFile": "token",
    }
    cluster = {"server": "https://example", "certificate-authority": "ca.crt"}
    assert token_of(load(write(tmp_path / "config", config(cluster=cluster, user=user)))) == "from-file"


def test_every_file_and_inline_text_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority()
    certificate, key = authority.issue("alice")
    for name, pem in (("ca.crt", authority.pem), ("tls.crt", certificate), ("tls.key", key)):
        (tmp_path / name).write_bytes(pem)
    looked: list[tuple[str, str]] = []
    pem_of = kubeconfig.Resolver.pem

    def noting(resolver: kubeconfig.Resolver, owner: str, field: str) -> Pem | None:
        looked.append((owner, field))
        return pem_of(resolver, owner, field)

    monkeypatch.setattr(kubeconfig.Resolver, "pem", noting)
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": "ca.crt"}
    document = config(cluster=cluster, user={"client-certificate": "tls.crt", "client-key": "tls.key"})
    assert load(write(tmp_path / "config", document)).certificate == tmp_path / "tls.crt"
    assert sorted(looked) == [
        ("cluster", "certificate-authority"),
        ("user", "client-certificate"),
        ("user", "client-key"),
    ]


def test_credentials_are_not_sent_in_the_clear(tmp_path: Path) -> None:
    found = load(write(tmp_path / "config", config(cluster={"server": "http://example"})))
    assert (found.token, found.headers) == (None, [])


def test_impersonation_and_basic_credentials_become_headers(tmp_path: Path) -> None:
    user = {"username": "a", "password": "b", "as": "bob", "as-groups": ["g1", "g2"], "as-user-extra": {"Scope": ["s"]}}
    found = load(write(tmp_path / "config", config(user=user)))
    assert found.headers == [
        ("authorization", "Basic " + base64.b64encode(b"a:b").decode()),
        ("impersonate-user", "bob"),
        ("impersonate-group", "g1"),
        ("impersonate-group", "g2"),
        ("impersonate-extra-scope", "s"),
    ]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("a: [", "config: the kubeconfig is not valid YAML"),
        ({"clusters": 5}, r"config: not a kubeconfig: Expected `array \| null`, got `int` - at `\$.clusters`"),
        (config(current=""), "current-context is not set: choose one with `kubectl config use-context NAME`"),
        (config(current="y"), r"config: current-context: there is no context named 'y' \(known: x\)"),
        (config(context={"cluster": "z"}), r"contexts\['x'\].cluster: there is no cluster named 'z' \(known: c\)"),
        (config(context={"user": "z"}), r"contexts\['x'\].user: there is no user named 'z'"),
        (config(cluster={}), r"clusters\['c'\].server is not set"),
        (
            config(cluster={"server": "https://e", "certificate-authority": "gone.crt"}),
            r"clusters\['c'\].certificate-authority: the file .*gone.crt does not exist: the kubeconfig is stale",
        ),
        (
            config(cluster={"server": "https://e", "certificate-authority-data": "bm90IHBlbQ=="}),
            r"clusters\['c'\].certificate-authority: not usable PEM",
        ),
        (
            config(cluster={"server": "https://e", "certificate-authority-data": "a"}),
            r"clusters\['c'\].certificate-authority-data is not base64",
        ),
        (config(user={"client-certificate-data": "YQ=="}), r"users\['u'\].client-key is not set"),
        (config(user={"auth-provider": {"name": "gcp"}}), r"users\['u'\].auth-provider: .* use exec instead"),
        (
            config(user={"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
            r"users\['u'\].exec.apiVersion is 'client.authentication.k8s.io/v1alpha1'",
        ),
    ],
)
def test_errors_name_the_file_and_the_field(tmp_path: Path, document: Any, message: str) -> None:
    path = write(tmp_path / "config", document)
    with pytest.raises(ConfigError, match=message) as caught:
        load(path)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(
    "line",
    ["token: s3cret: x", "token: 's3cret", "token: *s3cret", "token: !s3cret x", '{"token": "s3cret" "x"}', "s3cret\0"],
)
def test_what_is_in_a_broken_kubeconfig_is_not_told(
    tmp_path: Path, line: str, loader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passwords look like YAML at times, and parsers like to show what they stumble over."""
    if loader == "SafeLoader":
        monkeypatch.delattr("yaml.CSafeLoader", raising=False)
    path = write(tmp_path / "config", f"users:\n- name: u\n  user:\n    {line}\n")
    with pytest.raises(ConfigError, match=r"config: the kubeconfig is not valid YAML: .") as caught:
        load(path)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_the_password_of_a_proxy_is_not_told(tmp_path: Path) -> None:
    cluster = {"server": "https://example", "proxy-url": "https://me:s3cret@proxy:3128"}
    transport = HttpTransport(load(write(tmp_path / "config", config(cluster=cluster))))
    with pytest.raises(ConnectFailed, match="the proxy 'https://proxy:3128' is not an http:// URL") as caught:
        asyncio.run(transport.request("GET", "/"))
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_a_named_file_must_exist_and_no_cluster_at_all_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the kubeconfig: No such file"):
        load(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="or start a local cluster with `vcctl local up`"):
        load(environment={"HOME": str(tmp_path)}, service_account=tmp_path)


def test_a_pod_finds_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("pod-token")
    (tmp_path / "ca.crt").write_bytes(Authority().pem)
    (tmp_path / "namespace").write_text("batch")
    environment = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = load(environment=environment, service_account=tmp_path)
    assert (found.server, found.namespace, token_of(found)) == ("https://[fd00::1]:6443", "batch", "pod-token")


def test_a_token_file_is_read_again_when_old_or_refused(tmp_path: Path) -> None:
    now = [0.0]
    path = tmp_path / "token"
    path.write_text("one")
    source = FileToken(path, clock=lambda: now[0])

    async def main() -> None:
        assert await source.current() == "one"
        path.write_text("two")
        assert await source.current() == "one"
        assert source.reject()
        assert await source.current() == "two"
        path.unlink()
        now[0] = 1000
        assert await source.current() == "two"

    asyncio.run(main())


@pytest.mark.parametrize("broken", [b"", b" \n", b"\xff\xfe", b"half\nof it"])
def test_a_token_file_that_is_being_written_leaves_the_old_token_for_a_moment(tmp_path: Path, broken: bytes) -> None:
    now = [0.0]
    path = tmp_path / "token"
    path.write_text("one\n")
    source = FileToken(path, clock=lambda: now[0])

    async def main() -> None:
        assert await source.current() == "one"
        path.write_bytes(broken)
        now[0] = 100
        assert await source.current() == "one"
        path.write_text("two")
        now[0] = 102
        assert await source.current() == "two"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\n", "has no token"), (b"\xff\xfea", "not ASCII"), (b"a\nb", "line breaks"), (b"a\x00b", "control characters")],
)
def test_a_token_file_without_a_token_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(CredentialError, match=f"^{re.escape(str(path))}: .*{said}"):
        asyncio.run(FileToken(path).current())


def plugin(tmp_path: Path, script: str, **options: Any) -> ExecPlugin:
    path = tmp_path / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    version = "client.authentication.k8s.io/v1"
    return ExecPlugin(str(path), [], version, folder=tmp_path, source="f: users['u'].exec", **options)


def credential(**status: Any) -> str:
    document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"echo '{json.dumps(document)}'"


def test_an_exec_plugin_is_run_when_its_token_expires(tmp_path: Path) -> None:
    now = [1_000_000.0]
    script = "echo x >> runs\ncd ..\n" + credential(token="secret", expirationTimestamp="1970-01-12T13:50:00Z")
    source = plugin(tmp_path, f"cd {tmp_path}\n{script}", clock=lambda: now[0])

    async def main() -> None:
        for _ in range(3):
            assert await source.current() == "secret"
        assert (tmp_path / "runs").read_text() == "x\n"
        now[0] += 1000
        await source.current()
        source.reject()
        await asyncio.gather(source.current(), source.current())
        assert (tmp_path / "runs").read_text().count("x") == 4

    asyncio.run(main())


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo sorry >&2; exit 3", "failed with status 3: sorry"),
        ("echo nonsense", "printed no ExecCredential"),
        (credential(), "printed neither a token nor a client certificate"),
        ('echo \'{"apiVersion": "other/v1"}\'', "answers in other/v1, but apiVersion asks for"),
    ],
)
def test_a_failing_exec_plugin_is_explained(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(CredentialError, match=message) as caught:
        asyncio.run(plugin(tmp_path, script).current())
    assert "users['u'].exec" in str(caught.value)


def test_a_missing_exec_plugin_comes_with_its_install_hint(tmp_path: Path) -> None:
    source = ExecPlugin("no-such-command", [], "client.authentication.k8s.io/v1", install_hint="Install it.")
    with pytest.raises(CredentialError, match=r"cannot run no-such-command: No such file or directory\nInstall it\."):
        asyncio.run(source.current())


def test_a_refused_token_is_renewed_once() -> None:
    tokens = iter(["old", "new"])

    class Renewing:
        token = next(tokens)

        async def current(self) -> str | None:
            return self.token

        def reject(self) -> bool:
            self.token = next(tokens)
            return True

    async def check(request: Request) -> Response:
        return Response(200 if request.headers["authorization"] == "Bearer new" else 401)

    async def main() -> None:
        async with await serve(check) as server:
            transport = HttpTransport(ClusterConfig(f"http://127.0.0.1:{server.port}", token=Renewing()))
            assert (await transport.request("GET", "/")).status == 200
            await transport.close()

    asyncio.run(main())


def test_an_unreachable_or_recreated_cluster_is_explained(tmp_path: Path) -> None:
    async def main() -> None:
        async with await serve(echo, ssl=server_context(*Authority().issue("localhost"))) as server:
            cluster = {
                "server": f"https://localhost:{server.port}",
                "certificate-authority-data": base64.b64encode(Authority().pem).decode(),
            }
            path = write(tmp_path / "config", config(cluster=cluster))
            transport = HttpTransport(load(path))
            with pytest.raises(ConnectFailed, match="created anew and the kubeconfig is stale: fetch it again"):
                await transport.request("GET", "/")
        with pytest.raises(ConnectFailed, match=r"\(context 'x' of .*config\): is the cluster running"):
            await transport.request("GET", "/")

    asyncio.run(main())


def test_a_proxy_carries_the_connection(tmp_path: Path) -> None:
    authority = Authority()
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        if b"Basic" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        to_server = await asyncio.open_connection("127.0.0.1", int(head.split()[1].rpartition(b":")[2]))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, to_server[1]), pump(to_server[0], writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def main() -> None:
        proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        async with await serve(echo, ssl=server_context(*authority.issue("localhost"))) as server:
            cluster = {
                "server": f"https://localhost:{server.port}",
                "certificate-authority-data": base64.b64encode(authority.pem).decode(),
                "proxy-url": f"http://me:secret@127.0.0.1:{port}",
            }
            transport = HttpTransport(load(write(tmp_path / "config", config(cluster=cluster))))
            for _ in range(2):
                assert (await transport.request("GET", "/x")).status == 200
            await transport.close()
            assert len(asked) == 1
            cluster["proxy-url"] = f"http://127.0.0.1:{port}"
            transport = HttpTransport(load(write(tmp_path / "config", config(cluster=cluster))))
            with pytest.raises(ConnectFailed, match=r"the proxy answered 'HTTP/1\.1 407"):
                await transport.request("GET", "/x")
        proxy.close()

    asyncio.run(main())


@pytest.mark.parametrize("address", ["foo:bar", "https://127.0.0.1:port", "http://[::1", "ftp://x", "127.0.0.1:8080"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(ConfigError, match=f"--master: '{re.escape(address)}' is not an http, https or unix URL"):
        endpoint_of(ClusterConfig(address, None, source="--master"))
