"""What people do with Volcano, on both kinds of cluster: the demo, gangs, lives of jobs, queues, refusals, logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.kube_cluster.jobs import gang
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.sites import Site

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.xdist_group("clusters")


def example(name: str, queue: str) -> dict[str, Any]:
    job = yaml.safe_load((EXAMPLES / name).read_text())
    job["spec"]["queue"] = queue
    return job


@pytest.fixture
def queue(site: Site) -> Iterator[str]:
    """An open queue of the test's own."""
    name = f"queue-{site.namespace}"
    site.vcctl("queue", "create", "--name", name)
    site.await_queue(name, "Open")
    yield name
    site.kubectl("delete", "vcjob", "--all", "--timeout=90s")


def submit(site: Site, tmp_path: Path, job: dict[str, Any], *, watch: bool = False) -> str:
    """`vcctl job run -f`, and what it printed."""
    path = tmp_path / f"{job['metadata']['name']}.yaml"
    path.write_text(yaml.safe_dump(job))
    return site.job("run", "--filename", str(path), *(["--watch"] if watch else [])).out


def test_the_smallest_job_runs_to_its_end(site: Site, queue: str, tmp_path: Path) -> None:
    shown = submit(site, tmp_path, example("job-1.yaml", queue), watch=True)

    assert "Completed" in shown
    assert site.job("logs", "job-1").out.count("done") == 1
    assert "job-1" in site.job("list").out


def test_a_gang_restarts_as_a_whole_when_a_member_fails(site: Site, queue: str, tmp_path: Path) -> None:
    shown = submit(site, tmp_path, example("gang-restart.yaml", queue), watch=True)

    assert "Restarting" in shown
    assert shown.strip().splitlines()[-1].startswith("job gang  Completed")
    logs = site.job("logs", "gang").out
    assert all(f"worker {index} starts, attempt 1" in logs for index in range(4))
    assert logs.count("done") == 4
    status = site.kubectl.get("vcjob", "gang")["status"]
    assert (status["retryCount"], status["minAvailable"]) == (1, 4)


def test_a_gang_that_does_not_fit_starts_nothing_until_it_does(site: Site, queue: str) -> None:
    site.kubectl.create(gang("big", 3, cpu="2", queue=queue))
    eventually("a word on why it waits", lambda: waits(site, "big"))
    assert [pod for pod in site.pods() if pod["spec"].get("nodeName")] == []

    site.kubectl.create(gang("small", 2, cpu="500m", queue=queue))
    eventually("the small gang to run", lambda: site.phase("small") == "Running")
    eventually("the big gang to be told that it waits", lambda: site.phase("big") == "Pending")


def waits(site: Site, job: str) -> bool:
    """The job's podgroup says that it cannot be scheduled."""
    groups = [item for item in site.kubectl.get("pg")["items"] if item["metadata"]["name"].startswith(job)]
    conditions = [condition for group in groups for condition in (group.get("status") or {}).get("conditions") or ()]
    return any(condition["type"] == "Unschedulable" and condition["status"] == "True" for condition in conditions)


def test_a_job_is_suspended_resumed_and_deleted(site: Site, queue: str) -> None:
    site.kubectl.create(gang("life", 2, queue=queue))
    eventually("the job to run", lambda: site.phase("life") == "Running")

    site.job("suspend", "life")
    eventually("the job to be aborted", lambda: site.phase("life") == "Aborted")
    eventually("its pods to go", lambda: not site.pods())

    site.job("resume", "life")
    eventually("the job to run again", lambda: site.phase("life") == "Running" and len(site.pods()) == 2)

    site.job("delete", "life")
    eventually("everything of it to go", lambda: not site.pods() and not site.kubectl.get("pg")["items"])


def test_a_closed_queue_takes_no_jobs_until_it_opens(site: Site, queue: str, tmp_path: Path) -> None:
    site.vcctl("queue", "operate", "--name", queue, "--action", "close")
    site.await_queue(queue, "Closed")

    refused = site.kubectl("create", "-f", "-", stdin=yaml.safe_dump(gang("late", 1, queue=queue)), fails=True)
    assert f"can only submit job to queue with state `Open`, queue `{queue}` status is `Closed`" in refused.err

    site.vcctl("queue", "operate", "--name", queue, "--action", "open")
    site.await_queue(queue, "Open")
    site.kubectl.create(gang("late", 1, queue=queue))
    eventually("the job to run", lambda: site.phase("late") == "Running")


REFUSED = {
    "too large a minimum": (
        {"minAvailable": 9},
        "job 'minAvailable' should not be greater than total replicas in tasks;",
    ),
    "an unknown plugin": ({"plugins": {"envv": []}}, "unable to find job plugin: envv;"),
    "an unknown queue": (
        {"queue": "nowhere"},
        'unable to find job queue: queue.scheduling.volcano.sh "nowhere" not found;',
    ),
    "the root queue": ({"queue": "root"}, "can not submit job to root queue;"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_wrong_with_a_job_is_said(site: Site, what: str) -> None:
    fields, message = REFUSED[what]
    job = gang("wrong", 2)
    job["spec"].update(fields)

    refused = site.kubectl("create", "-f", "-", stdin=yaml.safe_dump(job), fails=True)

    assert message in refused.err
    assert "admission webhook" in refused.err
    assert "denied the request" in refused.err


def test_a_queue_with_children_or_the_default_one_stays(site: Site) -> None:
    refused = site.kubectl("delete", "queue", "default", fails=True)

    assert "`default` queue can not be deleted" in refused.err


def test_defaults_of_jobs_come_from_admission(site: Site, queue: str) -> None:
    job = gang("plain", 1, queue=queue)
    for field in ("queue", "minAvailable", "schedulerName"):
        del job["spec"][field]
    del job["spec"]["tasks"][0]["name"]

    site.kubectl.create(job)

    spec = site.kubectl.get("vcjob", "plain")["spec"]
    assert (spec["queue"], spec["minAvailable"], spec["schedulerName"], spec["maxRetry"]) == (
        "default",
        1,
        "volcano",
        3,
    )
    assert spec["tasks"][0]["name"] == "default0"


def test_logs_come_through_the_api_server(site: Site, queue: str) -> None:
    script = "for i in 1 2 3; do echo line $i; sleep 0.3; done"
    site.kubectl.create(gang("talk", 2, "sh", "-c", script, queue=queue))
    eventually("the pods", lambda: len(site.pods()) == 2)
    name = str(site.pods()[0]["metadata"]["name"])
    site.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", f"pod/{name}", "--timeout=90s")

    assert site.kubectl("logs", name).out == "line 1\nline 2\nline 3\n"
    assert site.kubectl("logs", name, "--tail=1").out == "line 3\n"
    assert site.kubectl("logs", "-f", name).out.endswith("line 3\n")


def test_a_deployment_of_volcanos_scheduler_gets_a_podgroup(site: Site) -> None:
    pod = gang("x", 1)["spec"]["tasks"][0]["template"]["spec"] | {"restartPolicy": "Always", "schedulerName": "volcano"}
    labels = {"app": "web"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }

    site.kubectl.create(deployment)

    assert "successfully rolled out" in site.kubectl("rollout", "status", "deploy/web", "--timeout=90s").out
    assert len(site.kubectl.get("pg")["items"]) == 1
    site.kubectl("delete", "deployment", "web", "--timeout=90s")
    eventually("the podgroup to go", lambda: not site.kubectl.get("pg")["items"])


def test_who_applies_to_the_podgroup_of_a_job_hears_of_conflicts(site: Site, queue: str) -> None:
    """No account is kept of who wrote it, until somebody wants one."""
    site.kubectl.create(gang("kept", 1, queue=queue))
    eventually("the job to run", lambda: site.phase("kept") == "Running")
    group = eventually("the podgroup to say so", lambda: running_group(site))
    applied = {
        "apiVersion": group["apiVersion"],
        "kind": "PodGroup",
        "metadata": {"name": group["metadata"]["name"], "labels": {"seen": "yes"}},
    }

    site.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(applied))
    applied["spec"] = {"minMember": 2}
    refused = site.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(applied), fails=True)

    assert "managedFields" not in group["metadata"]
    assert 'conflict with "before-first-apply"' in refused.err
    kept = site.kubectl.get("podgroup", group["metadata"]["name"], "--show-managed-fields")["metadata"]["managedFields"]
    assert sorted(entry["manager"] for entry in kept) == ["before-first-apply", "kubectl"]


def running_group(site: Site) -> Any:
    """The only podgroup, once the scheduler has nothing more to say of it."""
    (group,) = site.kubectl.get("podgroups", "--show-managed-fields")["items"]
    status = group.get("status", {})
    return group if (status.get("phase"), status.get("running")) == ("Running", 1) else None
