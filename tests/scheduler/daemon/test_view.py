"""Pods as the scheduler watches them: what decides is there, what does not is empty."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import msgspec
import pytest

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api.core import EnvVar, Pod
from volcano.api.narrow import narrowed
from volcano.scheduler import dump
from volcano.scheduler.daemon.view import PODGROUPS_IN_VIEW, PODS_IN_VIEW, PodGroupInView, Writer, WrittenMeta
from volcano.scheduler.plugins.extender.plugin import Extender
from volcano.testing.builders import gang
from volcano.testing.world import World

DOCUMENT = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "web"},
        "annotations": {"scheduling.k8s.io/group-name": "g"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "o", "controller": True}],
    },
    "spec": {
        "schedulerName": "volcano",
        "nodeName": "n1",
        "priority": 5,
        "preemptionPolicy": "Never",
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "schedulingGates": [{"name": "gate"}],
        "overhead": {"cpu": "1"},
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host"}]}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "pvc"}}],
        "initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}],
        "containers": [
            {
                "name": "c",
                "image": "busybox",
                "ports": [{"hostPort": 80, "containerPort": 80}],
                "resources": {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": 1}, "claims": [{"name": "gpu"}]},
            }
        ],
    },
    "status": {
        "phase": "Running",
        "nominatedNodeName": "n2",
        "qosClass": "Guaranteed",
        "startTime": "2026-01-01T00:00:01Z",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"}],
        "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
    },
}


def test_what_decides_is_read() -> None:
    view = msgspec.json.decode(msgspec.json.encode(DOCUMENT), type=PODS_IN_VIEW.type)

    assert isinstance(view, Pod)
    assert without_empty(msgspec.to_builtins(view)) == without_empty(
        msgspec.to_builtins(msgspec.convert(DOCUMENT, Pod))
    )


def test_what_decides_nothing_is_empty_and_shared() -> None:
    secret = {"name": "TOKEN", "value": "secret"}
    containers = [{"name": "c", "env": [secret], "securityContext": {"privileged": True}, "tty": True}]
    volumes = [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]
    text = msgspec.json.encode({**DOCUMENT, "spec": {"containers": containers, "volumes": volumes}})

    one, other = (msgspec.json.decode(text, type=PODS_IN_VIEW.type) for _ in range(2))

    container = one.spec.containers[0]
    assert not container.env
    assert container.env is other.spec.containers[0].env
    assert container.security_context is None
    assert not container.tty
    assert one.spec.volumes[0].projected is None
    assert b"secret" not in msgspec.json.encode(one)


CURIOUS = """
from volcano.scheduler.framework.plugin import Plugin


class Curious(Plugin):
    name = "curious"
    watches = WATCHES

    def pre_filter(self, task):
        (container,) = task.pod.spec.containers
        self.session.warn(f"sees {[variable.name for variable in container.env]}")
"""


@pytest.mark.parametrize(
    ("watches", "seen"), [('("pods",)', "sees ['TOKEN']"), ("()", "sees []")], ids=["whole", "in part"]
)
def test_a_plugin_sees_whole_pods_if_it_wants_to(
    watches: str, seen: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "curious.py").write_text(CURIOUS.replace("WATCHES", watches))
    conf = tmp_path / "scheduler.yaml"
    conf.write_text("actions: allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: curious}]\n")
    job = gang("train", pods=1, cpu=1)
    job.pods[0].spec.containers[0].env = [EnvVar(name="TOKEN", value="secret")]

    async def scenario() -> None:
        async with bench(scheduler_conf=str(conf), plugins_dir=str(tmp_path)) as b:
            await b.submit(job)

            async def said() -> bool:
                return seen in caplog.text

            await until(said)

    asyncio.run(scenario())


def test_the_extender_tells_its_service_all_about_pods() -> None:
    assert "pods" in set(Extender.watched({}))


def test_a_wanted_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="Pod has no field stats"):
        narrowed(Pod, {"stats": None})


def without_empty(value: object) -> object:
    """Empty objects left out: of an object with defaults only, to_builtins makes `{}` or nothing."""
    if isinstance(value, dict):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({}, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


def test_of_podgroups_it_is_seen_who_wrote_them_and_how() -> None:
    managed = [
        {"manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:spec": {"f:queue": {}}}}
    ]
    document = {"metadata": {"name": "g", "managedFields": managed}, "spec": {"minMember": 2}}

    group = msgspec.json.decode(msgspec.json.encode(document), type=PODGROUPS_IN_VIEW.type)

    assert isinstance(group, PodGroupInView)
    assert group.spec.min_member == 2
    assert group.metadata.managed_fields == [Writer(manager="kubectl", operation="Apply")]


def test_a_dump_does_not_say_who_wrote_a_podgroup() -> None:
    one = gang("train", pods=1, cpu=1)
    meta = WrittenMeta(name="train", namespace="default", managed_fields=[Writer(manager="kubectl")])
    seen = dataclasses.replace(one, pod_group=PodGroupInView(metadata=meta, spec=one.pod_group.spec))

    (group,) = (item for item in dump.of_cluster(World(jobs=[seen]).cluster) if item["kind"] == "PodGroup")

    assert "managedFields" not in group["metadata"]
