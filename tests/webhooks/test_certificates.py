"""Certificates that are issued, judged due, renewed with overlap, and read from files."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from cryptography import x509

from volcano.webhooks.certificates import LIFETIME, CertificateError, Identity, is_due, issue, read_files
from volcano.webhooks.identity import FileIdentity
from volcano.webhooks.registration import Endpoint

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
HOSTS = ["hooks.volcano-system.svc", "127.0.0.1"]


def write(identity: Identity, folder: Path) -> tuple[Path, Path, Path]:
    paths = folder / "tls.crt", folder / "tls.key", folder / "ca.crt"
    for path, pem in zip(paths, (identity.certificate, identity.key, identity.authorities), strict=True):
        path.write_bytes(pem)
    return paths


def test_a_certificate_is_for_its_hosts_and_signed_by_its_authority():
    identity = issue(HOSTS, NOW)

    certificate = x509.load_pem_x509_certificate(identity.certificate)
    [authority] = x509.load_pem_x509_certificates(identity.authorities)
    certificate.verify_directly_issued_by(authority)
    assert identity.names() == set(HOSTS)
    assert identity.expires == NOW + LIFETIME


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://hooks", "hooks"),
        ("https://hooks:8443/below", "hooks"),
        ("https://[fd00::1]:8443", "fd00::1"),
        ("https://[fd00::1]", "fd00::1"),
    ],
)
def test_it_is_for_the_host_of_a_url(url: str, host: str):
    assert Endpoint(url=url).hosts() == [host]


def test_it_is_due_well_before_it_ends_and_when_the_hosts_changed():
    identity = issue(HOSTS, NOW)

    assert not is_due(identity, HOSTS, NOW + LIFETIME / 2)
    assert is_due(identity, HOSTS, NOW + LIFETIME * 0.9)
    assert is_due(identity, [*HOSTS, "other"], NOW)


def test_a_renewed_bundle_still_trusts_the_certificate_before_it_but_not_for_ever():
    first = issue(HOSTS, NOW)
    second = issue(HOSTS, NOW + datetime.timedelta(days=300), first)
    third = issue(HOSTS, NOW + datetime.timedelta(days=800), second)

    trusted = x509.load_pem_x509_certificates(second.authorities)
    x509.load_pem_x509_certificate(first.certificate).verify_directly_issued_by(trusted[1])
    assert [len(x509.load_pem_x509_certificates(each.authorities)) for each in (first, second, third)] == [1, 2, 1]


def test_files_are_checked_to_fit_together(tmp_path: Path):
    certificate, key, authorities = write(issue(HOSTS, NOW), tmp_path)
    assert read_files(certificate, key, authorities).names() == set(HOSTS)

    key.write_bytes(issue(HOSTS, NOW).key)
    with pytest.raises(CertificateError, match="not the key of the certificate"):
        read_files(certificate, key, authorities)
    key.write_text("no key")
    with pytest.raises(CertificateError, match="not a private key"):
        read_files(certificate, key, authorities)
    with pytest.raises(CertificateError, match="No such file"):
        read_files(certificate, tmp_path / "gone", authorities)


async def current(source: FileIdentity) -> Identity:
    return await source.current()


def test_replaced_files_are_noticed_and_half_replaced_ones_are_not_served(tmp_path: Path):
    import asyncio

    old, new = issue(HOSTS, NOW), issue(HOSTS, NOW)
    paths = write(old, tmp_path)
    source = FileIdentity(*paths)

    paths[0].write_bytes(new.certificate)
    assert asyncio.run(current(source)) == old
    write(new, tmp_path)
    assert asyncio.run(current(source)) == new
