"""TLS contexts for both sides, from PEM files or bytes.

Servers reload their certificate by calling `load_identity` again on the same context: new connections use it.
"""

from __future__ import annotations

import ssl
import tempfile
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
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
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
    with tempfile.TemporaryDirectory() as folder:  # of mode 0700: the standard library reads keys from files only
        paths = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        for path, pem in zip(paths, (certificate, key), strict=True):
            path.write_bytes(read_pem(pem))
        context.load_cert_chain(*paths)


def read_pem(pem: Pem) -> bytes:
    return pem.read_bytes() if isinstance(pem, Path) else pem
