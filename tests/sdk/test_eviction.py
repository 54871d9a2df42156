"""Jobs that a more important one pushes aside, by the real scheduler and with real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from volcano.api.resources import PRIORITY_CLASSES
from volcano.local.layout import Layout
from volcano.sdk import Client, Evicted
from volcano.testing.cluster import local_cluster

PREEMPTING = """\
actions: "enqueue, allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
"""


@pytest.fixture(scope="module")
def preempting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A node of one CPU, where priority counts."""
    root = tmp_path_factory.mktemp("preempting")
    configuration = Layout(root).scheduler_conf
    configuration.parent.mkdir(parents=True)
    configuration.write_text(PREEMPTING)
    with local_cluster(root, cpus=1) as cluster, Client(str(cluster.kubeconfig)) as client:
        cluster.run(cluster.client.create(PRIORITY_CLASSES.untyped, {"metadata": {"name": "urgent"}, "value": 1000}))
        yield client


@pytest.mark.xdist_group("preempting")
def test_a_preempted_job_says_so(preempting: Client) -> None:
    modest = preempting.submit("sleep 300", cpu=0.8, on_eviction="fail")
    modest.wait(120, until="running")

    hasty = preempting.submit("echo mine", cpu=0.8, priority="urgent")

    with pytest.raises(Evicted, match="because of preempt"):
        modest.result(120)
    assert hasty.result(120) == "mine\n"


@pytest.mark.xdist_group("preempting")
def test_a_preempted_job_starts_again_if_it_may(preempting: Client, tmp_path: Path) -> None:
    again = tmp_path / "again"
    modest = preempting.submit(f"test -e {again} && echo done && exit; touch {again}; sleep 300", cpu=0.8)
    modest.wait(120, until="running")

    assert preempting.submit("true", cpu=0.8, priority="urgent").result(120) == ""
    assert modest.result(120) == "done\n"
