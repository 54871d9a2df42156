"""A batch job on what the agent offers of a real node, until the node is under pressure: as the job's owner sees it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.agent import colocation
from tests.waiting import eventually
from volcano.api import keys, resources
from volcano.api.core.nodes import Node
from volcano.kube.client import Client as ApiClient
from volcano.sdk import Client, Evicted

BUSY = ["sh", "-c", "while :; do :; done"]
AMOUNTS = {"kubernetes.io/batch-cpu": "300"}
TEMPLATE = {
    "metadata": {"annotations": {keys.QOS_LEVEL: "BE"}},
    "spec": {"containers": [{"resources": {"requests": AMOUNTS, "limits": AMOUNTS}}]},
}

WHY_NOT = colocation.absence()


@pytest.mark.skipif(bool(WHY_NOT), reason=str(WHY_NOT))
def test_a_job_runs_on_spare_resources_and_is_told_why_it_was_evicted() -> None:
    with colocation.colocation() as here, Client(str(here.cluster.kubeconfig)) as client:
        here.start_agent(every=0.2, features="-NetworkQoS,*")
        eventually("spare resources", lambda: "kubernetes.io/batch-cpu" in node_of(here).status.allocatable)
        job = client.submit(BUSY, template=TEMPLATE, on_eviction="fail")
        job.wait(100, until="running")
        [pod] = job.members()
        cgroup = here.hierarchy.pod(pod["metadata"]["uid"], "BestEffort")
        eventually("its quota", lambda: here.quota(cgroup) == 30_000)
        version = here.cluster.run(here.cluster.client.list(resources.NODES)).resource_version
        with ThreadPoolExecutor() as pool:
            marked = pool.submit(here.cluster.run, is_marked(here.cluster.client, version))
            here.configure(evictingConfig={"evictingCPUHighWatermark": 10, "evictingCPULowWatermark": 5})
            with pytest.raises(Evicted, match="Evict offline pod due to cpu resource pressure"):
                job.result(100)
            assert marked.result()


async def is_marked(client: ApiClient, version: str) -> bool:
    """Whether the node tells, for however short a time after the version, that it is under pressure."""
    async for event in client.watch(resources.NODES, resource_version=version):
        if keys.OFFLINE_JOB_EVICTING in [taint.key for taint in event.object.spec.taints]:
            return True
    return False


def node_of(here: colocation.Colocation) -> Node:
    return here.cluster.run(here.cluster.client.get(resources.NODES, "local"))
