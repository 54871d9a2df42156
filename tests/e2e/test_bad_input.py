"""What a person can get wrong: each is refused with the object, the field and what to do, and leaves nothing behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.harness import Cluster, Document, vcjob
from tests.waiting import eventually
from volcano.api.resources import JOBS

pytestmark = pytest.mark.xdist_group("e2e")


def changed(**spec: Any) -> Document:
    """A job that is right but for `spec`."""
    return vcjob("wrong", "true", **spec)


def with_task(**task: object) -> Document:
    document = changed()
    document["spec"]["tasks"][0].update(task)
    return document


def twice_the_same_task() -> Document:
    document = changed()
    document["spec"]["tasks"] *= 2
    return document


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("kind: [Job\n", ["wrong.yaml: document 1, line 2: not valid YAML"]),
        ("- just\n- a list\n", ["wrong.yaml", "document 1"]),
        ("kind: Queue\n", ["wrong.yaml"]),
        (with_task(replicaz=2), ['unknown field "spec.tasks[0].replicaz"']),
        (
            with_task(replicas="three"),
            ['Job.batch.volcano.sh "wrong" is invalid: spec.tasks[0].replicas', "of type integer"],
        ),
        (with_task(template={"spec": {"containers": "none"}}), ["spec.tasks[0].template.spec.containers"]),
        (changed(queue="missing"), ['queue.scheduling.volcano.sh "missing" not found', "Warning: spec.queue"]),
        (twice_the_same_task(), ["duplicated task name work", "Warning: spec.tasks[1].name"]),
        (
            changed(minAvailable=2),
            ["'minAvailable' should not be greater than total replicas", "spec.minAvailable: minAvailable is 2"],
        ),
        (changed(plugins={"warp": []}), ["unable to find job plugin: warp", "Warning: spec.plugins"]),
        (
            changed(policies=[{"event": "PodExploded", "action": "RestartJob"}]),
            ["spec.policies[0].event", '"PodExploded"', '"PodFailed"'],
        ),
        (
            changed(policies=[{"event": "PodFailed", "action": "Explode"}]),
            ['"Explode": invalid policy action', "valid actions are [AbortJob", "Warning: spec.policies"],
        ),
    ],
    ids=[
        "malformed YAML",
        "no object",
        "another kind",
        "unknown field",
        "wrong type",
        "wrong type in a template",
        "missing queue",
        "duplicate task name",
        "minAvailable above the replicas",
        "invalid plugin",
        "invalid policy event",
        "invalid policy action",
    ],
)
def test_a_wrong_manifest_is_refused(cluster: Cluster, document: Document | str, expected: list[str]) -> None:
    refused = cluster("job", "run", "--filename", cluster.write("wrong.yaml", document), fails=True)
    assert refused.status == 255
    assert refused.out == ""
    assert refused.err.partition("Failed to job run: ")[1]
    for text in expected:
        assert text in refused.err
    assert "wrong" not in [job["metadata"]["name"] for job in cluster.list(JOBS)]


def test_an_image_without_a_command_fails_at_once_and_says_what_to_do(cluster: Cluster) -> None:
    path = cluster.write("image.yaml", vcjob("image"))
    done = cluster("job", "run", "--filename", path, "--watch", fails=True)
    assert done.status == 1
    assert "image-work-0:\tNeedsContainerRuntime: container 'main' has no command" in done.err
    assert "set spec.containers[].command" in done.err
    assert "image-work-0:\tNeedsContainerRuntime: " in cluster("logs", "image").err
    assert "pod image-work-0: NeedsContainerRuntime: " in cluster("explain", "job", "image").out
    [pod] = cluster.pods("image")
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "NeedsContainerRuntime")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("job", "run"), "job name cannot be left blank"),
        (("job", "run", "-f", "absent.yaml"), "absent.yaml"),
        (("job", "run", "x", "--requests", "cpu"), "invalid argument syntax cpu, expected <resource>=<value>"),
        (("job", "run", "x", "--requests", "cpu=much"), "cpu: "),
        (("job", "view", "absent"), 'jobs.batch.volcano.sh "absent" not found'),
        (("job", "suspend", "absent"), 'jobs.batch.volcano.sh "absent" not found'),
        (("job", "delete", "absent"), 'jobs.batch.volcano.sh "absent" not found'),
        (("queue", "get", "absent"), 'queues.scheduling.volcano.sh "absent" not found'),
        (("queue", "operate", "default", "--action", "stop"), "valid actions are open, close and update"),
        (("queue", "operate", "default", "--action", "update"), "weight must be specified"),
        (("job", "list", "--kubeconfig", "absent"), "absent"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_is_refused(cluster: Cluster, words: tuple[str, ...], expected: str) -> None:
    refused = cluster(*words, fails=True)
    assert refused.status == 255
    assert refused.err.startswith(f"Failed to {words[0]} {words[1]}: ")
    assert expected in refused.err


def test_a_near_miss_of_a_command_is_suggested(cluster: Cluster) -> None:
    refused = cluster("jobb", "list", fails=True)
    assert refused.status == 2
    assert "Did you mean 'job' or" in refused.err


def test_a_server_of_another_cluster_is_not_trusted(cluster: Cluster) -> None:
    """A kubeconfig of a cluster that was deleted, while another one has its port."""
    stale = cluster.home / "stale"
    config = json.loads(cluster.kubeconfig.read_text())
    authority = config["clusters"][0]["cluster"]
    encoded = authority["certificate-authority-data"]
    authority["certificate-authority-data"] = encoded[:-40] + "A" * 36 + encoded[-4:]
    stale.write_text(json.dumps(config))
    refused = cluster("job", "list", "--kubeconfig", str(stale), fails=True)
    assert "stale" in refused.err
    eventually("the cluster to answer still", lambda: cluster("job", "list"))
