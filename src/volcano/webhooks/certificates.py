"""The serving certificate: from files that an operator keeps, or from an authority of our own that renews itself.

`Identity` is what `manager` serves and registers; both sources say when there is a new one.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from volcano.http.expiry import validity_of

LIFETIME: Final = datetime.timedelta(days=365)
RENEW_BEFORE: Final = datetime.timedelta(days=120)
CLOCK_SKEW: Final = datetime.timedelta(minutes=5)


class CertificateError(ValueError):
    """A certificate or key that cannot be served."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate, its key, and the bundle of authorities that clients shall trust (all PEM)."""

    certificate: bytes
    key: bytes
    authorities: bytes

    @property
    def expires(self) -> datetime.datetime:
        return validity_of(self.certificate).until

    def names(self) -> frozenset[str]:
        certificate = x509.load_pem_x509_certificate(self.certificate)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return frozenset(str(name.value) for name in names)


def read_files(certificate: Path, key: Path, authorities: Path) -> Identity:
    """The three files of an operator, checked to be what they should be."""
    identity = Identity(_read(certificate), _read(key), _read(authorities))
    try:
        shown = x509.load_pem_x509_certificate(identity.certificate).public_key()
        x509.load_pem_x509_certificates(identity.authorities)
    except ValueError as error:
        raise CertificateError(
            f"Failed to parse CA file: {authorities}, or certificate {certificate}: {error}"
        ) from error
    try:
        secret = serialization.load_pem_private_key(identity.key, None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"{key} is not a private key in PEM without a password: {error}") from error
    if _raw(secret.public_key()) != _raw(shown):
        raise CertificateError(f"{key} is not the key of the certificate {certificate}")
    return identity


def issue(hosts: Sequence[str], now: datetime.datetime, previous: Identity | None = None) -> Identity:
    """A new authority and a certificate for `hosts`; the bundle keeps the previous authorities, so that servers
    that still show their old certificate stay trusted."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("volcano-admission-ca")
    authority = (
        _builder(issuer, issuer, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder(_name(hosts[0]), issuer, key.public_key(), now)
        .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    bundle = authority.public_bytes(pem) + (_first_authority(previous, now) if previous else b"")
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Identity(certificate.public_bytes(pem), secret, bundle)


def is_due(identity: Identity, hosts: Sequence[str], now: datetime.datetime) -> bool:
    """Whether `identity` should be replaced: it ends soon, or is not for these hosts."""
    return identity.expires - now < RENEW_BEFORE or not identity.names() >= set(hosts)


def _first_authority(identity: Identity, now: datetime.datetime) -> bytes:
    """The newest authority of a bundle, unless it has ended."""
    newest = x509.load_pem_x509_certificates(identity.authorities)[0]
    return newest.public_bytes(serialization.Encoding.PEM) if newest.not_valid_after_utc > now else b""


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{path}: {error.strerror}") from error


def _raw(key: object) -> bytes:
    assert hasattr(key, "public_bytes")
    raw: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return raw
