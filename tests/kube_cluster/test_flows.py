"""Flows and cronjobs with real processes, on both kinds of cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster.test_other_projects import pod_spec
from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Site

pytestmark = pytest.mark.xdist_group("clusters")

JsonObject = dict[str, Any]
PORT = 8123
SERVE = f"timeout 12 python3 -m http.server {PORT} --bind $POD_IP || true"


def template(name: str, spec: JsonObject) -> JsonObject:
    task = {"name": "main", "replicas": 1, "template": {"spec": spec}}
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name},
        "spec": {"schedulerName": "volcano", "minAvailable": 1, "tasks": [task]},
    }


def after(name: str, *targets: str, **probe: Any) -> JsonObject:
    return {"name": name, "dependsOn": {"targets": list(targets), **({"probe": probe} if probe else {})}}


def test_a_diamond_whose_sides_start_while_its_top_still_serves(site: Site) -> None:
    serving = pod_spec("sh", "-c", SERVE)
    serving["containers"][0]["env"] = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    steps = [
        {"name": "a"},
        after("b", "a", httpGetList=[{"taskName": "main", "path": "/", "port": PORT}]),
        after("c", "a", tcpSocketList=[{"taskName": "main", "port": PORT}]),
        after("d", "a", taskStatusList=[{"taskName": "main", "phase": "Running"}]),
        after("e", "b", "c", "d"),
    ]
    flow = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "f"},
        "spec": {"flows": steps, "jobRetainPolicy": "retain"},
    }
    site.kubectl.create(template("a", serving), *(template(name, pod_spec("true")) for name in "bcde"), flow)

    def status() -> JsonObject:
        found: JsonObject = site.kubectl.get("jobflow", "f").get("status") or {}
        return found

    eventually("the flow to succeed", lambda: (status().get("state") or {}).get("phase") == "Succeed")

    assert status()["completedJobs"] == [f"f-{name}" for name in "abcde"]
    jobs = {job["metadata"]["name"]: job for job in site.kubectl.get("vcjob")["items"]}
    first_ended = jobs["f-a"]["status"]["state"]["lastTransitionTime"]
    for name in "bcd":
        assert jobs[f"f-{name}"]["metadata"]["creationTimestamp"] < first_ended
    assert site.kubectl.get("jobtemplate", "a")["status"]["jobDependsOnList"] == ["f-a"]


def test_a_cronjob_starts_jobs_and_stops_when_it_is_suspended(site: Site) -> None:
    task = {"name": "t", "replicas": 1, "template": {"spec": pod_spec("true")}}
    job = {"spec": {"schedulerName": "volcano", "minAvailable": 1, "tasks": [task]}}
    cronjob = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {"schedule": "@every 2s", "successfulJobsHistoryLimit": 2, "jobTemplate": job},
    }
    site.kubectl.create(cronjob)

    def completed() -> int:
        jobs = site.kubectl.get("vcjob")["items"]
        return sum((job.get("status") or {}).get("state", {}).get("phase") == "Completed" for job in jobs)

    eventually("two jobs to complete", lambda: completed() >= 1)
    assert site.kubectl.get("cronjob.batch.volcano.sh", "tick")["status"].get("lastScheduleTime")
    site.kubectl("patch", "cronjob.batch.volcano.sh", "tick", "--type=merge", "-p", '{"spec":{"suspend":true}}')
