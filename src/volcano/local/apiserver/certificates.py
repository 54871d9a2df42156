"""A local certificate authority: the server's certificate and the administrator's, made at first start.

Runs as a program of its own (`python -m volcano.local.apiserver.certificates`), so that the server stays small.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, GeneralName, Name

VALID_DAYS = 365
RENEW_BEFORE_SECONDS = 30 * 86400
ADMIN_NAME = "kubernetes-admin"
ADMIN_GROUP = "system:masters"


@dataclass(frozen=True)
class Pki:
    """The files of a local authority."""

    root: Path

    def certificate(self, name: str) -> Path:
        return self.root / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.root / f"{name}.key"

    @property
    def record(self) -> Path:
        return self.root / "issued.json"


def ensure(root: Path, hosts: list[str]) -> Pki:
    """Certificates under `root` that are valid for `hosts` and for a while; makes or renews them where needed."""
    pki = Pki(root)
    if not _current(pki, hosts):
        command = [sys.executable, "-m", "volcano.local.apiserver.certificates", str(root), *hosts]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise OSError(f"cannot make certificates in {root}: {reason}")
    return pki


def _current(pki: Pki, hosts: list[str]) -> bool:
    try:
        record = json.loads(pki.record.read_text())
        fresh = float(record["expires"]) - time.time() > RENEW_BEFORE_SECONDS
        _try_out(pki)
        return fresh and set(hosts) <= set(record["hosts"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _try_out(pki: Pki) -> None:
    """Raises OSError or ValueError where a file is missing or damaged."""
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_verify_locations(pki.certificate("ca"))
    for name in ("server", "admin"):
        context.load_cert_chain(pki.certificate(name), pki.key(name))


def issue(root: Path, hosts: list[str], now: float) -> None:
    """Write the authority (kept if there is one) and new server and administrator certificates."""
    pki = Pki(root)
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority, authority_key = _authority(pki, now)
    for name, subject, organization, names in (
        ("server", "kube-apiserver", None, hosts),
        ("admin", ADMIN_NAME, ADMIN_GROUP, []),
    ):
        key = _new_key()
        builder = _builder(subject, organization, key, now, VALID_DAYS).issuer_name(authority.subject)
        _write(pki.certificate(name), _pem(_signed(_with_usage(builder, names), authority_key)))
        _write(pki.key(name), _private_pem(key))
    _write(pki.record, json.dumps({"expires": now + VALID_DAYS * 86400, "hosts": hosts}).encode())


def _authority(pki: Pki, now: float) -> tuple[Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with suppress(OSError, ValueError, TypeError):  # missing or damaged
        certificate = x509.load_pem_x509_certificate(pki.certificate("ca").read_bytes())
        key = load_pem_private_key(pki.key("ca").read_bytes(), None)
        if isinstance(key, EllipticCurvePrivateKey) and certificate.not_valid_after_utc.timestamp() > now + 86400 * 400:
            return certificate, key
    key = _new_key()
    builder = _builder("volcano-local-ca", None, key, now, VALID_DAYS * 10)
    builder = builder.issuer_name(_name("volcano-local-ca", None))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(usage, critical=True).add_extension(identifier, critical=False)
    certificate = _signed(builder, key)
    _write(pki.certificate("ca"), _pem(certificate))
    _write(pki.key("ca"), _private_pem(key))
    return certificate, key


def _builder(
    common_name: str, organization: str | None, key: EllipticCurvePrivateKey, now: float, days: int
) -> CertificateBuilder:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509

    start = datetime.fromtimestamp(now, UTC) - timedelta(minutes=5)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(common_name, organization))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
    )


def _with_usage(builder: CertificateBuilder, hosts: list[str]) -> CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    purpose = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    if hosts:
        names = [_alternative_name(host) for host in hosts]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder


def _alternative_name(host: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(common_name: str, organization: str | None) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _signed(builder: CertificateBuilder, key: EllipticCurvePrivateKey) -> Certificate:
    from cryptography.hazmat.primitives import hashes

    return builder.sign(key, hashes.SHA256())


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _private_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, readable by the owner alone."""
    temporary = path.with_suffix(path.suffix + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    temporary.replace(path)


if __name__ == "__main__":
    issue(Path(sys.argv[1]), sys.argv[2:], time.time())
