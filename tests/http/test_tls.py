"""TLS: verified servers, client certificates that name their bearer, and certificates replaced while serving."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.http.conftest import Run, exchange
from volcano.http.client import ConnectFailed, Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import client_context, live_context, load_identity, server_context

SINCE, UNTIL = datetime.timedelta(minutes=-5), datetime.timedelta(hours=1)


class Authority:
    """A certificate authority for one test."""

    def __init__(self, *, since: datetime.timedelta = SINCE, until: datetime.timedelta = UNTIL) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test authority")])
        self.pem = self._sign(self.name, self.key.public_key(), since, until, authority=True)

    def issue(
        self,
        common_name: str,
        *organizations: str,
        since: datetime.timedelta = SINCE,
        until: datetime.timedelta = UNTIL,
    ) -> tuple[bytes, bytes]:
        """A certificate for localhost and for the subject, with its key; when it is good is told from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, name) for name in organizations]
        subject = x509.Name([*attributes, x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return self._sign(subject, key.public_key(), since, until, authority=False), pem

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        since: datetime.timedelta,
        until: datetime.timedelta,
        *,
        authority: bool,
    ) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder(self.name, subject, key, x509.random_serial_number())
            .not_valid_before(now + since)
            .not_valid_after(now + until)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


async def whoami(request: Request) -> Response:
    return Response(200, {}, f"{request.peer.common_name} {','.join(request.peer.organizations)}".encode())


def endpoint(port: int, context: ssl.SSLContext) -> Endpoint:
    return Endpoint("127.0.0.1", port, context, "localhost")


def test_a_client_certificate_names_its_bearer(run: Run) -> None:
    authority = Authority()

    async def main() -> None:
        context = server_context(*authority.issue("localhost"), client_authority=authority.pem)
        async with await serve(whoami, ssl=context) as server:
            certificate, key = authority.issue("alice", "system:masters", "ops")
            named = HttpClient(
                endpoint(server.port, client_context(authority=authority.pem, certificate=certificate, key=key))
            )
            assert (await named.request("GET", "/")).content == b"alice system:masters,ops"
            unnamed = HttpClient(endpoint(server.port, client_context(authority=authority.pem)))
            assert (await unnamed.request("GET", "/")).content == b"None "
            await named.close()
            await unnamed.close()

    run(main())


def test_a_server_of_another_authority_is_not_trusted(run: Run) -> None:
    async def main() -> None:
        async with await serve(whoami, ssl=server_context(*Authority().issue("localhost"))) as server:
            client = HttpClient(endpoint(server.port, client_context(authority=Authority().pem)))
            with pytest.raises(ConnectFailed, match="certificate verify failed") as caught:
                await client.request("GET", "/")
            assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
            careless = HttpClient(endpoint(server.port, client_context(verify=False)))
            assert (await careless.request("GET", "/")).status == 200
            await careless.close()

    run(main())


def test_a_certificate_can_be_replaced_while_serving(run: Run, tmp_path: Path) -> None:
    first, second = Authority(), Authority()

    async def main() -> None:
        context = server_context(*first.issue("localhost"))
        async with await serve(whoami, ssl=context) as server:
            certificate, key = second.issue("localhost")
            (tmp_path / "tls.crt").write_bytes(certificate)
            (tmp_path / "tls.key").write_bytes(key)
            load_identity(context, tmp_path / "tls.crt", tmp_path / "tls.key")
            client = HttpClient(endpoint(server.port, client_context(authority=second.pem)))
            assert (await client.request("GET", "/")).status == 200
            await client.close()

    run(main())


def test_a_session_is_not_resumed_once_the_authorities_have_changed(run: Run) -> None:
    """Nobody would verify its client again."""
    authority, other = Authority(), Authority()
    certificate, key = authority.issue("alice")
    known = client_context(authority=authority.pem, certificate=certificate, key=key)
    known.maximum_version = ssl.TLSVersion.TLSv1_2  # later ones resume by tickets, which are never given

    def resumed(port: int, session: ssl.SSLSession | None) -> tuple[bool | None, ssl.SSLSession | None]:
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        with known.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            while connection.recv(1000):
                pass  # a session that does not end well is forgotten
            return connection.session_reused, connection.session

    async def main() -> None:
        now = first = server_context(*authority.issue("localhost"), client_authority=authority.pem)
        async with await serve(whoami, ssl=live_context(lambda: now)) as server:
            _, session = await asyncio.to_thread(resumed, server.port, None)
            assert session is not None
            assert (await asyncio.to_thread(resumed, server.port, session))[0]
            now = server_context(*authority.issue("localhost"), client_authority=other.pem)
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.to_thread(resumed, server.port, session)
            now = first
            assert (await asyncio.to_thread(resumed, server.port, None))[0] is False

    run(main())


def test_plain_http_on_a_tls_port_harms_nobody(run: Run) -> None:
    authority = Authority()

    async def main() -> None:
        async with await serve(whoami, ssl=server_context(*authority.issue("localhost"))) as server:
            await exchange(server.port, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            client = HttpClient(endpoint(server.port, client_context(authority=authority.pem)))
            assert (await client.request("GET", "/")).status == 200
            await client.close()

    run(main())


def test_an_idle_client_that_does_not_say_goodbye_holds_up_nobody(run: Run) -> None:
    context = server_context(*Authority().issue("localhost"))

    def connected(port: int) -> ssl.SSLSocket:
        """A connection that was used once and is not looked at since."""
        plain = socket.create_connection(("127.0.0.1", port))
        secure = client_context(verify=False).wrap_socket(plain, server_hostname="localhost")
        secure.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        secure.recv(1000)
        return secure

    async def main() -> None:
        server = await serve(whoami, ssl=context)
        with await asyncio.to_thread(connected, server.port):
            started = time.monotonic()
            await server.close(grace_seconds=200)
            assert time.monotonic() - started < 60

    run(main())
