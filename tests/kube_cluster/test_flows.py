"""Flows and cronjobs with real processes, on both kinds of cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.kube_cluster.test_other_projects import pod_spec
from tests.waiting import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kube_cluster.sites import Site

pytestmark = pytest.mark.xdist_group("clusters")

JsonObject = dict[str, Any]
PORT = 8123
SERVE = f"python3 -m http.server {PORT} --bind $POD_IP & until [ -e '%s' ]; do sleep 0.1; done; kill $!"


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


def test_a_diamond_whose_sides_start_while_its_top_still_serves(site: Site, tmp_path: Path) -> None:
    """Its top serves until its foot, which follows its sides, has begun."""
    begun = tmp_path / "begun"
    serving = pod_spec("sh", "-c", SERVE % begun)
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
    sides = [template(name, pod_spec("true")) for name in "bcd"]
    site.kubectl.create(template("a", serving), *sides, template("e", pod_spec("touch", str(begun))), flow)

    def status() -> JsonObject:
        found: JsonObject = site.kubectl.get("jobflow", "f").get("status") or {}
        return found

    eventually("the flow to succeed", lambda: (status().get("state") or {}).get("phase") == "Succeed")

    assert status()["completedJobs"] == [f"f-{name}" for name in "abcde"]
    eventually(
        "the template to name its job",
        lambda: site.kubectl.get("jobtemplate", "a")["status"]["jobDependsOnList"] == ["f-a"],
    )


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
    kind = "cronjob.batch.volcano.sh"
    eventually("the time to be noted", lambda: site.kubectl.get(kind, "tick")["status"]["lastScheduleTime"])
    site.kubectl("patch", "cronjob.batch.volcano.sh", "tick", "--type=merge", "-p", '{"spec":{"suspend":true}}')
