"""Jobs without a cluster: admitted, placed, evicted, restarted by the real state machine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.test_schedule import group, job, node, pod, queue
from volcano.scheduler.framework.decisions import Decisions, Eviction, PodGroupDecision
from volcano.scheduler.framework.options import Options
from volcano.scheduler.offline import OfflineError, World
from volcano.simulator.jobs import InstantJobController

JOB_GROUP = "default/train-default-train"


class Stage:
    """A world and its job controller, settled after every change."""

    def __init__(self, *documents: dict[str, Any]) -> None:
        self.world = World(Options())
        self.controller = InstantJobController(self.world)
        for document in (node("n1"), queue(), *documents):
            if (found := self.world.add(document)) is not None:
                self.controller.add(found)
        self.controller.settle(0.0)

    def decided(self, decisions: Decisions) -> None:
        self.world.settle(decisions, self.controller)
        self.controller.settle(1.0)

    def evict(self, key: str) -> None:
        namespace, name = key.split("/")
        self.decided(Decisions(evictions=[Eviction("", namespace, name, "n1", "", "preempt")]))

    def bind(self, *keys: str) -> None:
        self.decided(Decisions(binds=dict.fromkeys(keys, "n1")))

    def admit(self) -> None:
        self.decided(Decisions(podgroups={JOB_GROUP: PodGroupDecision("Inqueue")}))

    @property
    def phases(self) -> dict[str, str]:
        return {key: pod.status.phase for key, pod in self.world.pods.items()}


def owned(document: dict[str, Any], kind: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": True}
    document["metadata"]["ownerReferences"] = [owner]
    return document


def test_bound_pods_run():
    stage = Stage(group("g", 1), pod("a", "g"))

    stage.bind("default/a")

    assert stage.phases == {"default/a": "Running"}
    assert stage.world.pods["default/a"].spec.node_name == "n1"


def test_a_bare_pod_that_is_evicted_is_gone_and_one_of_a_replica_set_comes_back():
    stage = Stage(group("g", 1), pod("a", "g", nodeName="n1"), owned(pod("b", "g", nodeName="n1"), "ReplicaSet"))
    before = stage.world.pods["default/b"].metadata.uid

    stage.evict("default/a")
    stage.evict("default/b")

    assert stage.phases == {"default/b": "Pending"}
    assert stage.world.pods["default/b"].spec.node_name == ""
    assert stage.world.pods["default/b"].metadata.uid != before


def running_job(**spec: Any) -> Stage:
    stage = Stage(job(schedulerName="volcano", minAvailable=2, **spec))
    assert stage.world.pod_groups[JOB_GROUP].spec.min_member == 2
    assert not stage.phases, "pods come once the group is admitted"
    stage.admit()
    assert stage.phases == {"default/train-w-0": "Pending", "default/train-w-1": "Pending"}
    stage.bind(*stage.phases)
    return stage


def test_an_evicted_pod_of_a_job_is_replaced():
    stage = running_job()

    stage.evict("default/train-w-1")

    assert stage.phases == {"default/train-w-0": "Running", "default/train-w-1": "Pending"}


def test_a_policy_can_restart_the_whole_job_instead():
    stage = running_job(maxRetry=3, policies=[{"event": "PodEvicted", "action": "RestartJob"}])

    stage.evict("default/train-w-1")

    assert not stage.phases, "the group is admitted anew before its pods come back"
    stage.admit()
    assert stage.phases == {"default/train-w-0": "Pending", "default/train-w-1": "Pending"}
    assert all(pod.metadata.annotations["volcano.sh/job-version"] == "1" for pod in stage.world.pods.values())


def test_what_cannot_be_understood_is_named():
    with pytest.raises(OfflineError, match="Queue default"):
        Stage({**queue("default"), "spec": {"weight": "heavy"}})
