"""What other projects send, on both kinds of cluster, with everything running: gangs start, jobs end, groups change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Site

pytestmark = pytest.mark.xdist_group("clusters")

JsonObject = dict[str, Any]
GROUP = "scheduling.k8s.io/group-name"


def pod_spec(*command: str) -> JsonObject:
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "c", "image": "busybox", "command": list(command or ("true",))}],
    }


def pod(name: str, *command: str, **annotations: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {**pod_spec(*command), "schedulerName": "volcano"},
    }


def group(name: str, members: int, **more: Any) -> JsonObject:
    spec = {"minMember": members, "minResources": {"cpu": "100m"}, "queue": "default", **more}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    }


def phases(site: Site) -> list[str]:
    return sorted(str(found["status"].get("phase")) for found in site.pods())


def groups(site: Site) -> list[str]:
    return [item["metadata"]["name"] for item in site.kubectl.get("pg")["items"]]


def test_torchx_job(site: Site) -> None:
    tasks = [
        {
            "name": f"trainer-{index}",
            "replicas": 1,
            "minAvailable": 1,
            "maxRetry": 1,
            "policies": [
                {"event": "PodFailed", "action": "RestartJob"},
                {"event": "PodEvicted", "action": "RestartJob"},
            ],
            "template": {"spec": pod_spec("sh", "-c", "echo $VC_TRAINER_0_HOSTS; sleep 1")},
        }
        for index in range(2)
    ]
    spec = {
        "schedulerName": "volcano",
        "queue": "default",
        "maxRetry": 1,
        "tasks": tasks,
        "plugins": {"svc": ["--publish-not-ready-addresses"], "env": []},
    }
    document = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "app"},
        "spec": spec,
    }
    site.kubectl.create(document)
    assert site.kubectl.get("vcjob", "app")["spec"]["minAvailable"] == 2
    eventually("the job to complete", lambda: site.phase("app") == "Completed")

    assert "app-trainer-0-0.app" in site.kubectl("logs", "app-trainer-1-0").out
    ended = {"trainer-0": {"Succeeded": 1}, "trainer-1": {"Succeeded": 1}}
    eventually("the ends to be counted", lambda: counts(site, "app") == ended)


def counts(site: Site, job: str) -> JsonObject:
    """How many pods of each task are in each phase."""
    found = site.kubectl.get("vcjob", job)["status"]["taskStatusCount"]
    return {name: task["phase"] for name, task in found.items()}


def test_argo_waits_for_the_phase(site: Site) -> None:
    task = {"name": "t", "replicas": 1, "template": {"spec": pod_spec("true")}}
    spec = {"schedulerName": "volcano", "minAvailable": 1, "tasks": [task]}
    site.kubectl.create(
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "step"}, "spec": spec}
    )

    site.kubectl("wait", "vcjob/step", "--for=jsonpath={.status.state.phase}=Completed", "--timeout=90s")


def test_spark_s_group_before_its_driver(site: Site) -> None:
    site.kubectl.create(group("spark-podgroup", 1))
    names = {GROUP: "spark-podgroup"}
    site.kubectl.create(pod("driver", "sleep", "1", **names), pod("executor-1", "sleep", "1", **names))

    eventually("driver and executor to end", lambda: phases(site) == ["Succeeded", "Succeeded"])
    assert groups(site) == ["spark-podgroup"]


def test_spark_operator_s_group_lives_as_long_as_its_application(site: Site) -> None:
    """It looks for the definition, says the phase itself, changes the members only, and cleans up."""
    site.kubectl("get", "crd", "podgroups.scheduling.volcano.sh")
    site.kubectl.create({**group("spark-app-pg", 2), "status": {"phase": "Pending"}})
    site.kubectl.create(pod("app-driver", "sleep", "1", **{GROUP: "spark-app-pg"}))
    eventually("the driver to wait for the rest of its group", lambda: phases(site) == ["Pending"])
    site.kubectl.overwrite("pg", "spark-app-pg", lambda group: group["spec"].update(minMember=1))

    eventually("the driver to end", lambda: phases(site) == ["Succeeded"])
    assert site.kubectl.get("pg", "spark-app-pg")["spec"]["minResources"] == {"cpu": "100m"}
    site.kubectl("delete", "pg", "spark-app-pg", "--timeout=90s")
    assert groups(site) == []


def test_the_mpi_operator_overwrites_the_specification_of_its_group(site: Site) -> None:
    """Named as the MPIJob; launcher and workers start together, though the group is written anew in between."""
    site.kubectl.create(group("pi", 3, priorityClassName="system-node-critical"))
    names = {GROUP: "pi"}
    site.kubectl.create(*(pod(f"pi-worker-{index}", "sleep", "600", **names) for index in range(2)))
    spec = {"minMember": 3, "queue": "default", "minResources": {"cpu": "300m"}}
    site.kubectl.overwrite("pg", "pi", lambda group: group.update(spec=spec))
    assert phases(site) == ["Pending", "Pending"]

    site.kubectl.create(pod("pi-launcher", "true", **names))

    eventually("launcher to end", lambda: phases(site) == ["Running", "Running", "Succeeded"])
    assert site.kubectl.get("pg", "pi")["spec"]["minResources"] == {"cpu": "300m"}
    assert groups(site) == ["pi"]


def test_leader_worker_sets_start_group_by_group_in_the_queue_they_name(site: Site) -> None:
    """Leaders come from a StatefulSet: their pods have a controller, and yet need no group of its own."""
    name = f"lws-{site.namespace}"
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": {}}
    site.kubectl.create(queue)
    site.await_queue(name, "Open")
    queued = {"scheduling.volcano.sh/queue-name": name}
    for index in range(2):
        own = group(f"lws-{index}-7c", 2, queue=name)
        own["metadata"]["annotations"] = queued
        site.kubectl.create(own)
        names = {GROUP: f"lws-{index}-7c", **queued}
        site.kubectl.create(pod(f"lws-{index}", "sleep", "1", **names))
    site.kubectl.create(pod("lws-0-1", "sleep", "1", **{GROUP: "lws-0-7c", **queued}))

    eventually("the first group to end", lambda: phases(site) == ["Pending", "Succeeded", "Succeeded"])
    assert groups(site) == ["lws-0-7c", "lws-1-7c"]
    site.kubectl("delete", "pods,pg", "--all", "--timeout=90s")
    site.kubectl("delete", "queue", name, "--timeout=90s")


def test_the_trainer_applies_its_group(site: Site) -> None:
    document = group("train", 2, networkTopology={"mode": "soft"})
    for _ in range(2):
        apply = ("apply", "--server-side", "--field-manager=trainer", "-f", "-")
        site.kubectl(*apply, stdin=yaml.safe_dump(document))
    site.kubectl.create(pod("train-0", "sleep", "1", **{GROUP: "train"}))
    eventually("the first to wait for the second", lambda: phases(site) == ["Pending"])
    site.kubectl.create(pod("train-1", "sleep", "1", **{GROUP: "train"}))

    eventually("both to end", lambda: phases(site) == ["Succeeded", "Succeeded"])


def test_kuberay_lets_its_group_go_to_zero(site: Site) -> None:
    site.kubectl.create({**group("ray-r-pg", 2), "status": {"phase": "Pending"}})
    names = {GROUP: "ray-r-pg", "volcano.sh/task-spec": "ray-r-pg"}
    site.kubectl.create(pod("head", "sleep", "600", **names), pod("worker", "sleep", "600", **names))
    eventually("head and worker to run", lambda: phases(site) == ["Running", "Running"])

    site.kubectl("patch", "pg", "ray-r-pg", "--type=merge", "-p", '{"spec":{"minMember":0,"minResources":null}}')
    site.kubectl("delete", "pod", "worker", "--timeout=90s")

    assert site.kubectl.get("pg", "ray-r-pg")["spec"].get("minMember", 0) == 0
    assert phases(site) == ["Running"]


def test_a_pod_that_knows_only_the_other_key(site: Site) -> None:
    site.kubectl.create(group("grove", 1))

    created = site.kubectl.create(pod("grove-0", **{"scheduling.volcano.sh/group-name": "grove"}))

    assert f"other schedulers and tools look for {GROUP}" in created.err
    eventually("the pod to end", lambda: phases(site) == ["Succeeded"])
    assert groups(site) == ["grove"]
