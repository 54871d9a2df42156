"""Other tools get the cluster in the way their users give it to them: by KUBECONFIG."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano.testing.cluster import LocalCluster


@pytest.fixture
def kubeconfig(volcano_cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBECONFIG", str(volcano_cluster.kubeconfig))
    return volcano_cluster.kubeconfig
