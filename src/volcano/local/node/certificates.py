"""The certificate of the log endpoint: self-signed, kept in the node's folder, renewed before it ends.

Neighbours: `main` serves with it. It is made by a program of its own (`python -m`), so that the node stays small.
"""

from __future__ import annotations

import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

VALID_DAYS = 365
_RENEW_SECONDS = 30 * 86400


def serving_identity(folder: Path, name: str) -> tuple[Path, Path]:
    """Paths of certificate and key, made now unless they exist and are still good for a while."""
    certificate, key = folder / "endpoint.crt", folder / "endpoint.key"
    made_at = certificate.stat().st_mtime if certificate.exists() and key.exists() else 0.0
    if time.time() > made_at + VALID_DAYS * 86400 - _RENEW_SECONDS:
        command = [sys.executable, "-m", "volcano.local.node.certificates", str(folder), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise OSError(f"cannot make the node's certificate in {folder}: {reason}")
    return certificate, key


def authorities_of(context: ssl.SSLContext | None) -> str:
    """The certificates that a connection's context trusts, in PEM."""
    if context is None:
        return ""
    return "".join(ssl.DER_cert_to_PEM_cert(certificate) for certificate in context.get_ca_certs(binary_form=True))


def make(folder: Path, name: str) -> None:
    """Write a new certificate and its key."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"system:node:{name}")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(names, critical=False)
        .sign(private, hashes.SHA256())
    )
    pkcs8, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key = folder / "endpoint.key"
    key.touch(mode=0o600)
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, pkcs8, plain))
    (folder / "endpoint.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2])
