"""vcctl doctor on a healthy cluster, and on one with a queue that can run nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Site

pytestmark = pytest.mark.xdist_group("clusters")


def test_a_queue_that_can_run_nothing_is_found(site: Site) -> None:
    name = f"{site.namespace}-empty"
    site.kubectl.create(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1, "capability": {"cpu": "0"}},
        }
    )
    try:
        eventually("nothing but the queue to be found", lambda: findings(site) == {("error", f"queue {name}")})
    finally:
        site.kubectl("delete", "queue", name)


def test_a_healthy_cluster_has_nothing(site: Site) -> None:
    eventually("what others left to go", lambda: not findings(site))
    assert site.vcctl("doctor").out == "nothing found\n"


def findings(site: Site) -> set[tuple[str, str]]:
    """How bad what is found is, and what it is about."""
    vcctl = Path(sysconfig.get_path("scripts"), "vcctl")
    environment = {**os.environ, "KUBECONFIG": str(site.kubectl.kubeconfig)}
    done = subprocess.run(
        [vcctl, "doctor", "-o", "json"], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return {(each["severity"], each["subject"]) for each in json.loads(done.stdout)["findings"]}
