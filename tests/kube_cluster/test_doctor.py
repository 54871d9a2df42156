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
        await_findings(site, {("error", f"queue {name}")})
    finally:
        site.kubectl("delete", "queue", name)


def test_a_healthy_cluster_has_nothing(site: Site) -> None:
    await_findings(site, set())
    eventually("the doctor to say so", lambda: says_nothing(site))


def says_nothing(site: Site) -> bool:
    """In words, and by its exit status."""
    try:
        return site.vcctl("doctor").out == "nothing found\n"
    except AssertionError:
        return False


def await_findings(site: Site, expected: set[tuple[str, str]]) -> None:
    """Wait until nothing else is found; what tests before have left goes soon."""
    found: list[dict[str, str]] = []

    def are_found() -> bool:
        nonlocal found
        found = findings(site)
        return {(each["severity"], each["subject"]) for each in found} == expected

    try:
        eventually("the findings", are_found)
    except AssertionError:
        pytest.fail(f"found {found} instead of {expected}")


def findings(site: Site) -> list[dict[str, str]]:
    """What the doctor says now."""
    vcctl = Path(sysconfig.get_path("scripts"), "vcctl")
    environment = {**os.environ, "KUBECONFIG": str(site.kubectl.kubeconfig)}
    done = subprocess.run(
        [vcctl, "doctor", "-o", "json"], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    found: list[dict[str, str]] = json.loads(done.stdout)["findings"]
    return found
