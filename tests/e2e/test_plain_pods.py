"""Pods, Deployments and batch Jobs that name no scheduler run too: on a laptop ours is the only one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.harness import Cluster, Document
from tests.waiting import eventually
from volcano.api.resources import BATCH_JOBS, DEPLOYMENTS, PODS

pytestmark = pytest.mark.xdist_group("e2e")


def pod_spec(*command: str, **spec: Any) -> Document:
    return {"containers": [{"name": "main", "image": "busybox", "command": list(command)}], **spec}


def test_a_pod_that_names_no_scheduler_runs(cluster: Cluster) -> None:
    cluster.create(PODS, {"metadata": {"name": "plain"}, "spec": pod_spec("true", restartPolicy="Never")})
    eventually("the pod to end", lambda: cluster.read(PODS, "plain")["status"]["phase"] == "Succeeded")


def test_a_deployment_that_names_no_scheduler_becomes_available(cluster: Cluster) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec("sleep", "60")}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    cluster.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    eventually("two pods", lambda: cluster.read(DEPLOYMENTS, "web").get("status", {}).get("availableReplicas") == 2)
    cluster.talk(lambda client: client.delete(DEPLOYMENTS, "web", "default"))


def test_a_batch_job_that_names_no_scheduler_completes(cluster: Cluster) -> None:
    spec = {"completions": 2, "parallelism": 2, "template": {"spec": pod_spec("true", restartPolicy="Never")}}
    cluster.create(BATCH_JOBS, {"metadata": {"name": "sum"}, "spec": spec})
    eventually("two successes", lambda: cluster.read(BATCH_JOBS, "sum").get("status", {}).get("succeeded") == 2)
