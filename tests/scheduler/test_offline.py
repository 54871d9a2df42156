"""Scheduling manifests without a cluster."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from volcano.scheduler import offline
from volcano.scheduler.framework import conf as conf_file, registry as registries
from volcano.scheduler.framework.options import Options
from volcano.testing.builders import gang, node, pod, queue

CONF = conf_file.parse(conf_file.DEFAULT_CONF, registries.built_in().actions)


def manifests(*objects: Any) -> list[dict[str, Any]]:
    kinds = {"Node": "v1", "Pod": "v1", "PodGroup": "scheduling.volcano.sh/v1beta1"}
    documents = []
    for source in objects:
        kind = type(source).__name__
        document = msgspec.json.decode(msgspec.json.encode(source))
        documents.append({**document, "kind": kind, "apiVersion": kinds.get(kind, "scheduling.volcano.sh/v1beta1")})
    return documents


def run(*objects: Any, cycles: int = 1) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = offline.schedule(manifests(*objects), CONF, Options(), cycles=cycles)["cycles"]
    return result


def test_a_gang_runs_in_the_second_cycle() -> None:
    train = gang("train", pods=2, cpu=1)

    first, second = run(node("n1"), queue("default"), train.pod_group, *train.pods, cycles=2)

    assert first["binds"] == {"default/train-worker-0": "n1", "default/train-worker-1": "n1"}
    assert first["queues"]["default"]["allocated"] == {"cpu": "2", "pods": "2"}
    assert second["binds"] == {}
    assert second["podgroups"]["default/train"]["phase"] == "Running"
    assert second["tasks"]["default/train-worker-0"] == {"status": "Running", "node": "n1"}


def test_a_missing_queue_is_a_reason() -> None:
    train = gang("train", pods=1, queue="nowhere")

    (only,) = run(node("n1"), train.pod_group, *train.pods)

    assert only["binds"] == {}
    assert only["reasons"]["default/train"]["code"] == "QueueNotFound"
    assert "spec.queue" in only["reasons"]["default/train"]["message"]


def test_a_bad_manifest_is_named() -> None:
    bad = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {"unschedulable": "perhaps"}}

    with pytest.raises(offline.OfflineError, match=r"Node n1: .*unschedulable"):
        offline.schedule([bad], CONF, Options())


@pytest.mark.parametrize(("phase", "missed"), [("Pending", ["default/train"]), ("Succeeded", []), ("Failed", [])])
def test_a_podgroup_is_missed_by_pods_that_wait_alone(phase: str, missed: list[str]) -> None:
    member = pod("train-0", group="train", node="" if phase == "Pending" else "n1", phase=phase)

    (only,) = run(node("n1"), queue("default"), member)

    assert list(only["reasons"]) == missed
