"""Files of the local authority that were damaged are made anew, and only those that must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano.local.apiserver import certificates

HOSTS = ["127.0.0.1", "localhost"]


def contents(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir()}


def test_certificates_are_kept(tmp_path: Path) -> None:
    certificates.ensure(tmp_path, HOSTS)
    made = contents(tmp_path)
    certificates.ensure(tmp_path, HOSTS)
    assert contents(tmp_path) == made


@pytest.mark.parametrize("damage", [b"", b"\xa5\x00 not PEM"])
@pytest.mark.parametrize("name", ["ca.crt", "server.crt", "server.key", "admin.crt", "admin.key", "issued.json"])
def test_a_damaged_file_is_made_anew(tmp_path: Path, name: str, damage: bytes) -> None:
    certificates.ensure(tmp_path, HOSTS)
    authority = (tmp_path / "ca.crt").read_bytes()
    (tmp_path / name).write_bytes(damage)
    certificates._try_out(certificates.ensure(tmp_path, HOSTS))
    assert ((tmp_path / "ca.crt").read_bytes() == authority) == (name != "ca.crt")


def test_an_authority_that_lost_its_key_is_replaced_when_it_has_to_sign(tmp_path: Path) -> None:
    certificates.ensure(tmp_path, HOSTS)
    (tmp_path / "ca.key").write_bytes(b"")
    certificates._try_out(certificates.ensure(tmp_path, [*HOSTS, "another.host"]))
