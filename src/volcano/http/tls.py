"""TLS contexts for both sides, from PEM files or bytes.

Servers whose files may change serve with a `live_context`.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Pem = bytes | Path


def client_context(
    *,
    authority: Pem | None = None,
    certificate: Pem | None = None,
    key: Pem | None = None,
    verify: bool = True,
) -> ssl.SSLContext:
    """A context that trusts `authority` (default: the system's) and shows `certificate` when the server asks."""
    if verify and authority is None:
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority is not None:
        context.load_verify_locations(cadata=read_pem(authority).decode("ascii"))
    context.set_alpn_protocols(["http/1.1"])
    if certificate is not None and key is not None:
        load_identity(context, certificate, key)
    return context


def server_context(certificate: Pem, key: Pem, *, client_authority: Pem | None = None) -> ssl.SSLContext:
    """A context that shows `certificate`; with `client_authority`, client certificates are verified when offered."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    load_identity(context, certificate, key)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=read_pem(client_authority).decode("ascii"))
    return context


def load_identity(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    """Make `context` show this certificate on connections made from now on."""
    if isinstance(certificate, Path) and isinstance(key, Path):
        context.load_cert_chain(certificate, key)
        return
    with readable(read_pem(certificate) + b"\n" + read_pem(key)) as path:
        context.load_cert_chain(path)


def live_context(current: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """A server's context each of whose connections is made with what `current` answers then.

    So certificate and authorities of clients may change while it serves; whether clients are verified may not.
    """
    first = current()

    def choose(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> int | None:
        now = current()
        if now is not first:
            if connection.session_reused:  # whom it resumes was verified by an authority that may be gone
                return ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE
            connection.context = now
        return None

    first.sni_callback = choose  # called for clients that name no server, too
    first.num_tickets = 0
    first.options |= ssl.OP_NO_TICKET
    return first


def authorities_in(path: Path) -> bytes:
    """The authorities of a PEM file. Raises `OSError` or `ValueError` that name the file when there are none."""
    pem = path.read_bytes()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=pem.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(f"{path} has no authorities in PEM: {error}") from error
    return pem


@contextmanager
def readable(pem: bytes) -> Iterator[str]:
    """A path to read `pem` from, because the standard library takes keys from files only; in memory where it can be."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("pem", os.MFD_CLOEXEC), "wb") as file:
            file.write(pem)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # of mode 0600
        file.write(pem)
        file.flush()
        yield file.name


def read_pem(pem: Pem) -> bytes:
    return pem.read_bytes() if isinstance(pem, Path) else pem
