"""vcctl explain on manifests: which stage refuses, with which numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from volcano.cli.main import run

WORLD = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {weight: 1, capability: {cpu: "1"}}
status: {state: Open}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train, namespace: default}
spec: {minMember: 2, queue: default, minResources: {cpu: "4"}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: c, image: img, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture
def world(tmp_path: Path) -> str:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    return str(path)


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(["explain", *arguments, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_podgroup_that_is_not_admitted(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = explained(capsys, "pg", "train", "-f", world)

    assert found["phase"] == "Pending"
    assert (found["reason"]["stage"], found["reason"]["need"]) == ("enqueue", 4000)


def test_a_job_is_found_by_the_name_of_its_podgroup(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(capsys, "job", "train", "-f", world)["podgroup"] == "default/train"


def test_a_queue_says_who_waits(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = explained(capsys, "queue", "default", "-f", world)

    assert found["capability"] == {"cpu": "1"}
    assert list(found["waiting"]) == ["default/train"]


SHARED = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""
MEMBER = """
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: NAME}
spec: {weight: WEIGHT}
status: {state: Open}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: NAME, namespace: default}
spec: {minMember: 1, queue: NAME}
status: {phase: Inqueue}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default, annotations: {scheduling.k8s.io/group-name: NAME}}
spec: {schedulerName: volcano, containers: [{name: c, image: img, resources: {requests: {cpu: "4", memory: 1Gi}}}]}
status: {phase: Pending}
"""


OWNED = """
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: JOB-0a, namespace: default, ownerReferences: [{kind: Job, name: JOB}]}
spec: {minMember: 1, queue: default}
"""
WITHOUT_UID = """
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: JOB, namespace: default}
spec:
  minAvailable: 1
  tasks:
    - {name: worker, replicas: 1, template: {spec: {containers: [{name: c, image: img}]}}}
"""


@pytest.mark.parametrize("manifest", [OWNED, WITHOUT_UID])
def test_a_job_is_not_taken_for_one_whose_name_ends_like_it(
    manifest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, names = tmp_path / "world.yaml", ("big-train", "train")
    path.write_text(SHARED + "".join(manifest.replace("JOB", name) for name in names))

    found = {name: explained(capsys, "job", name, "-f", str(path))["podgroup"] for name in names}

    assert found["big-train"].startswith("default/big-train-")
    assert found["train"].startswith("default/train-")


def test_a_queue_says_what_its_weight_gives_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shared.yaml"
    queues = {"production": "3", "research": "1"}
    members = (MEMBER.replace("NAME", name).replace("WEIGHT", weight) for name, weight in queues.items())
    path.write_text("".join([SHARED, *members]))

    deserved = {name: explained(capsys, "queue", name, "-f", str(path))["deserved"]["cpu"] for name in queues}

    assert deserved == {"production": "3", "research": "1"}


@pytest.mark.parametrize(
    ("kind", "name"), [("job", "train"), ("podgroup", "train"), ("pod", "p"), ("queue", "default")]
)
def test_text_is_for_people(kind: str, name: str, world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", kind, name, "-f", world]) == 0

    said = capsys.readouterr().out
    assert "4 cpu needed" in said
    assert said.count("what would change it: ") == 1
    assert "it can never start: its minimum asks for cpu 4, and the largest of 1 nodes has 2" in said
    assert "what would change it: ask for less, or add nodes: waiting does not help" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pod", "nobody"], "pod default/nobody does not exist"),
        (["queue", "nobody"], "queue nobody does not exist"),
        (["node", "n1"], "there is nothing to explain about a node"),
        (["deployment", "d"], "there is no kind 'deployment': use one of job, podgroup, pod, queue\n"),
    ],
)
def test_what_is_not_there_is_named(
    arguments: list[str], message: str, world: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", *arguments, "-f", world]) != 0
    assert message in capsys.readouterr().err


RUNNING_WITH_ITS_MINIMUM = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "1", memory: 8Gi, pods: "10"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {weight: 1}
status: {state: Open}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train, namespace: default}
spec: {minMember: 1, queue: default}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: first, namespace: default, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: second, namespace: default, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
status: {phase: Pending}
"""


def test_the_rest_of_a_job_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(RUNNING_WITH_ITS_MINIMUM)

    job = explained(capsys, "job", "train", "-f", str(path))["reason"]
    second = explained(capsys, "pod", "second", "-f", str(path))
    first = explained(capsys, "pod", "first", "-f", str(path))

    assert (job["code"], job["need"], job["have"]) == ("RestWaits", 2, 1)
    assert second["reason"] == job
    assert second["message"]
    assert first["reason"] is None


def test_who_runs_on_a_simulated_node_hears_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    label = 'labels: {volcano.sh/simulated: "true"}'
    path.write_text(RUNNING_WITH_ITS_MINIMUM.replace("{name: n1}", f"{{name: n1, {label}}}"))

    for kind, name, note in (
        ("pod", "first", "note: node n1 is simulated: no command runs there"),
        ("job", "train", "note: 1 pods are on simulated nodes: no command runs there"),
    ):
        assert run(["explain", kind, name, "-f", str(path)]) == 0
        assert note in capsys.readouterr().out
    assert "note" not in explained(capsys, "pod", "second", "-f", str(path))


def test_a_queue_at_its_limit_is_told_with_what_it_would_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "world.yaml"
    limited = RUNNING_WITH_ITS_MINIMUM.replace("spec: {weight: 1}", "spec: {weight: 1, capability: {cpu: 1500m}}")
    path.write_text(limited.replace('allocatable: {cpu: "1"', 'allocatable: {cpu: "4"'))

    assert run(["explain", "podgroup", "train", "-f", str(path)]) == 0
    explained = capsys.readouterr().out

    assert "queue: QueueQuotaExceeded, 2 cpu in all, 1500m allowed" in explained
    assert "queue 'default' would hold 2 cpu, and may hold 1500m" in explained


def test_amounts_are_printed_as_people_write_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD.replace('minResources: {cpu: "4"}', "minResources: {memory: 900Gi}"))

    assert run(["explain", "podgroup", "train", "-f", str(path)]) == 0
    explained = capsys.readouterr().out
    assert run(["schedule", "-f", str(path)]) == 0
    scheduled = capsys.readouterr().out

    assert "ClusterOverused, 900Gi memory needed, 9.6Gi there" in explained
    assert "ClusterOverused (need 900Gi memory, have 9.6Gi)" in scheduled
    assert "900Gi memory needed, 9.6Gi available" in explained


def test_a_pod_of_another_scheduler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    foreign = WORLD.replace("schedulerName: volcano", "schedulerName: foo")
    path.write_text(foreign)

    assert run(["explain", "pod", "p", "-f", str(path)]) != 0

    assert "pod default/p waits for scheduler foo (spec.schedulerName)" in capsys.readouterr().err


ENDED = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: done, namespace: default}
spec: {minAvailable: 1, queue: default, tasks: [{name: w, replicas: 1, template: {spec: {containers: []}}}]}
status: {state: {phase: Completed}}
"""


def test_a_job_that_has_ended_waits_for_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(ENDED)

    assert run(["explain", "job", "done", "-f", str(path)]) == 0

    assert "it has ended (Completed) and waits for nothing" in capsys.readouterr().out


def test_a_podgroup_without_pods_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(WORLD.rpartition("---")[0])

    assert run(["explain", "podgroup", "train", "-f", str(path)]) == 0

    assert "pods: none" in capsys.readouterr().out
