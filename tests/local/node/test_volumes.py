"""What volumes hold, and how they get on disk."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.local.node.pods import facts, pod
from volcano.local.node.files import write_files
from volcano.local.node.sources import ClaimVolume, PlanError, Sources, Token, references
from volcano.local.node.volumes import Claim, EmptyFolder, File, Files, HostPath, contents

SOURCES = Sources(
    config_maps={"hosts": {"data": {"worker.host": "a\nb", "ps.host": "c"}, "binaryData": {"raw": "AAE="}}},
    secrets={"ssh": {"data": {"id_rsa": base64.b64encode(b"key").decode()}}},
    claims={"data": ClaimVolume("pv", "/srv/data")},
    tokens={Token("default", "", 3600): "token"},
)


def content(**volume: Any) -> Any:
    document = pod(volumes=[{"name": "v", **volume}])
    return contents(document, facts(document), SOURCES)["v"]


def test_kinds_of_volumes() -> None:
    assert content(emptyDir={}) == EmptyFolder()
    assert content(hostPath={"path": "/tmp"}) == HostPath("/tmp", "")
    assert content(persistentVolumeClaim={"claimName": "data"}) == Claim("default", ClaimVolume("pv", "/srv/data"))
    assert content(configMap={"name": "hosts"}) == Files(
        {"worker.host": File(b"a\nb"), "ps.host": File(b"c"), "raw": File(b"\0\1")}
    )


def test_items_choose_keys_paths_and_modes() -> None:
    source = {"secretName": "ssh", "defaultMode": 0o600, "items": [{"key": "id_rsa", "path": ".ssh/id_rsa"}]}

    assert content(secret=source) == Files({".ssh/id_rsa": File(b"key", 0o600)})


def test_a_projected_volume_joins_its_sources() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "hosts", "items": [{"key": "ps.host", "path": "ps"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]

    assert content(projected={"sources": sources}) == Files(
        {"token": File(b"token"), "ps": File(b"c"), "namespace": File(b"default")}
    )


def test_what_a_pod_refers_to_is_collected_once() -> None:
    document = pod(
        volumes=[
            {"name": "a", "configMap": {"name": "hosts"}},
            {"name": "b", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        ]
    )
    document["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "ssh"}}]

    found = references(document)

    assert found.config_maps == {"hosts"}
    assert found.secrets == {"ssh"}
    assert found.claims == {"data"}
    assert found.tokens == {Token("default", "", 3600)}


def test_missing_and_unknown_sources_are_named() -> None:
    with pytest.raises(PlanError, match='persistentvolumeclaim "gone" not found'):
        content(persistentVolumeClaim={"claimName": "gone"})
    with pytest.raises(PlanError, match="no nfs volumes") as caught:
        content(nfs={"server": "x"})
    assert caught.value.is_final


def test_files_are_written_changed_and_removed(tmp_path: Path) -> None:
    write_files(tmp_path, Files({"a": File(b"1"), "d/b": File(b"2", 0o600)}))
    write_files(tmp_path, Files({"d/b": File(b"3", 0o600)}))

    assert not (tmp_path / "a").exists()
    assert (tmp_path / "d" / "b").read_bytes() == b"3"
    assert (tmp_path / "d" / "b").stat().st_mode & 0o777 == 0o600


def test_a_file_path_may_not_leave_its_volume(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="leads out of its volume"):
        write_files(tmp_path / "v", Files({"../x": File(b"")}))
