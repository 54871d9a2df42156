"""The folder of a local cluster: made for its owner, removed without what belongs to others."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano.local import cluster
from volcano.local.cluster import LocalError
from volcano.local.layout import Layout


def test_it_is_removed_whole(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "root")
    with cluster.claimed(layout):
        layout.kubeconfig.write_text("")
    layout.delete()
    assert not layout.root.exists()


def test_what_others_keep_in_the_folder_stays(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "mine").touch()
    layout.delete()
    assert (tmp_path / "log" / "mine").exists(), "there never was a cluster here"
    with cluster.claimed(layout):
        (tmp_path / "conf" / "mine").touch()
        (tmp_path / "mine").touch()
    layout.delete()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["conf", "mine", "mine"]


def test_a_folder_below_a_file_holds_no_cluster_and_takes_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    layout = Layout(tmp_path / "file" / "root")
    assert cluster.running(layout) is None
    with pytest.raises(LocalError, match=r"cannot use .*/file/root: Not a directory: choose another --root"):
        cluster.prepare(layout)


def test_a_lock_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    (layout.run / "lock").mkdir(parents=True)
    with pytest.raises(LocalError, match=r"cannot use .*: Is a directory: is it another user's"):
        cluster.running(layout)


def test_a_folder_that_was_removed_is_noticed(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "root")
    with cluster.claimed(layout):
        same = cluster._same_file(layout.run / "lock")
        assert same()
        layout.delete()
        assert not same()
        layout.create()
        (layout.run / "lock").touch()
        assert not same()
