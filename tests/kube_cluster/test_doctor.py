"""vcctl doctor on a healthy cluster, and on one with a queue that can run nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

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
        done = site.vcctl("doctor", "-o", "json", fails=True)
        findings = {(each["severity"], each["subject"]) for each in json.loads(done.out)["findings"]}
        assert findings == {("error", f"queue {name}")}
    finally:
        site.kubectl("delete", "queue", name)


def test_a_healthy_cluster_has_nothing(site: Site) -> None:
    assert site.vcctl("doctor").out == "nothing found\n"
