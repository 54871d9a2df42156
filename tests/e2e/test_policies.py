"""What follows from each event by each action, at a job and at a task, with real processes: a job for each row.

The first rows are the pairs that sample manifests of Volcano use; the others complete the table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.harness import Cluster, Document, vcjob
from tests.waiting import eventually
from volcano.api import keys
from volcano.api.resources import JOBS, PODS
from volcano.kube.errors import ApiError

pytestmark = pytest.mark.xdist_group("e2e")

SECONDS = 90.0
ENDS = {
    "AbortJob": ["Aborting", "Aborted"],
    "CompleteJob": ["Completing", "Completed"],
    "TerminateJob": ["Terminating", "Terminated"],
}


@dataclass(frozen=True)
class Row:
    """When `event` happens to pod 0 of task `first`, a policy of the job or of the task asks for `action`."""

    level: str
    event: str
    action: str
    used_by: str = ""
    timeout: str = ""
    exit_code: int = field(default=1, kw_only=True)

    @property
    def name(self) -> str:
        words = (self.level, self.event.replace("*", "any"), self.action, self.timeout)
        return "-".join(filter(None, words)).lower()


ROWS = [
    Row("job", "PodEvicted", "RestartJob", "job.yaml, job-1.yaml, job-plugin.yaml, cronjob.yaml and most integrations"),
    Row("job", "PodFailed", "RestartJob", "gang-restart.yaml, paddlepaddle, mxnet"),
    Row("job", "PodFailed", "AbortJob", "the duplicated policy events that admission refuses"),
    Row("job", "TaskCompleted", "CompleteJob", "gang-restart.yaml"),
    Row("task", "TaskCompleted", "CompleteJob", "job-1.yaml, mpi, tensorflow, horovod, paddlepaddle"),
    Row("job", "PodFailed", "TerminateJob"),
    Row("job", "PodFailed", "CompleteJob"),
    Row("job", "PodFailed", "RestartTask"),
    Row("job", "PodFailed", "RestartPod"),
    Row("job", "PodFailed", "RestartPartition"),
    Row("job", "PodFailed", "RestartJob", timeout="1s"),
    Row("job", "PodEvicted", "AbortJob"),
    Row("job", "PodEvicted", "TerminateJob"),
    Row("job", "PodEvicted", "RestartTask"),
    Row("job", "TaskCompleted", "RestartJob"),
    Row("job", "TaskCompleted", "TerminateJob"),
    Row("job", "TaskCompleted", "AbortJob", timeout="1s"),
    Row("job", "TaskFailed", "AbortJob"),
    Row("job", "PodPending", "AbortJob", timeout="1s"),
    Row("job", "*", "TerminateJob"),
    Row("task", "PodFailed", "RestartPod"),
    Row("task", "PodFailed", "RestartPartition"),
    Row("task", "PodFailed", "TerminateJob"),
    Row("task", "PodEvicted", "RestartPod"),
    Row("task", "TaskFailed", "TerminateJob"),
    Row("task", "PodPending", "TerminateJob", timeout="1s"),
    Row("task", "exit", "CompleteJob", exit_code=3),
    Row("job", "exit", "RestartTask", exit_code=3),
]


def document(row: Row, folder: Path) -> Document:
    """Two tasks whose pods wait; pod 0 of the first one is ready for what the row wants to happen to it."""
    trigger = folder / row.name
    os.mkfifo(trigger)
    policy: Document = {"action": row.action}
    policy |= {"exitCode": row.exit_code} if row.event == "exit" else {"event": row.event}
    policy |= {"timeout": row.timeout} if row.timeout else {}
    first, second = _task("first", _script(row, trigger), 2), _task("second", "sleep 300", 1)
    if row.event == "TaskCompleted":
        first["replicas"] = 1
    if row.event == "TaskFailed":
        first["template"]["spec"]["restartPolicy"] = "OnFailure"
        first["maxRetry"] = 1
    if row.event == "PodPending":
        first["template"]["spec"]["nodeSelector"] = {keys.HOSTNAME: "nowhere"}
    if row.action == "RestartPartition":
        first["replicas"] = 4
        first["partitionPolicy"] = {"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}
    job = vcjob(row.name, tasks=[first, second], maxRetry=5, plugins={"env": []})
    job["spec"]["minAvailable"] = first["replicas"] + 1
    (job["spec"] if row.level == "job" else first)["policies"] = [policy]
    return job


def _task(name: str, script: str, replicas: int) -> Document:
    container: Document = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    container["resources"] = {"requests": {"cpu": "10m"}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"name": name, "replicas": replicas, "template": template}


def _script(row: Row, trigger: Path) -> str:
    """Pod 0 waits for the trigger once in its life, or, if it was restarted, for ever."""
    code = 0 if row.event == "TaskCompleted" else row.exit_code
    pulled = f"[ -e {trigger}.pulled ]"
    wait = f"read -r word < {trigger}; : > {trigger}.pulled; exit {code}"
    if row.event == "TaskFailed":  # its container restarts, and ends again
        return f'if [ "$VC_TASK_INDEX" = 0 ]; then {pulled} && exit 1; {wait}; fi; exec sleep 300'
    return f'if [ "$VC_TASK_INDEX" = 0 ] && ! {pulled}; then {wait}; fi; exec sleep 300'


Uids = dict[str, str]


@dataclass
class Started:
    cluster: Cluster
    folder: Path
    before: dict[str, Uids] = field(default_factory=dict)
    """pods of each row's job, before anything happened"""

    def uids(self, row: Row) -> Uids:
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.cluster.pods(row.name)}

    def pull(self, row: Row) -> None:
        if row.event == "PodEvicted":
            self.cluster.talk(lambda client: client.delete(PODS, f"{row.name}-first-0", "default", grace_seconds=0))
        elif row.event != "PodPending":
            eventually(f"pod 0 of {row.name} to wait", lambda: self._pulled(row))

    def _pulled(self, row: Row) -> bool:
        try:
            os.close(os.open(self.folder / row.name, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody reads yet
            return False
        return True


@pytest.fixture(scope="module")
def started(cluster: Cluster) -> Iterator[Started]:
    """All jobs run, except those whose pods are to stay pending; then everything happens to all of them."""
    folder = cluster.home / "policies"
    folder.mkdir()
    found = Started(cluster, folder)
    for row in ROWS:
        cluster.create(JOBS, document(row, folder))
    for row in ROWS:
        if row.event != "PodPending":
            eventually(f"{row.name} to run", lambda row=row: _all_run(cluster, row.name), SECONDS)
            found.before[row.name] = found.uids(row)
    for row in ROWS:
        found.pull(row)
    yield found
    for row in ROWS:
        with suppress(ApiError):
            cluster.talk(lambda client, row=row: client.delete(JOBS, row.name, "default"))
    eventually("the pods to go", lambda: not any(cluster.pods(row.name) for row in ROWS), SECONDS)


def _all_run(cluster: Cluster, job: str) -> bool:
    pods = cluster.pods(job)
    return cluster.phase(job) == "Running" and all(pod["status"]["phase"] == "Running" for pod in pods)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_action_follows_the_event(started: Started, row: Row) -> None:
    if row.action in ENDS:
        ends(started, row)
    else:
        restarts(started, row)


def ends(started: Started, row: Row) -> None:
    cluster = started.cluster
    eventually(f"{row.name} to end", lambda: cluster.phase(row.name) == ENDS[row.action][-1], SECONDS)
    status = cluster.read(JOBS, row.name)["status"]
    assert [condition["status"] for condition in status["conditions"]][-2:] == ENDS[row.action]
    assert {pod["status"]["phase"] for pod in cluster.pods(row.name)} <= {"Succeeded", "Failed"}
    assert status.get("retryCount", 0) == 0


def restarts(started: Started, row: Row) -> None:
    """The pods that the action names are new, and no others."""
    before = started.before[row.name]
    target = f"{row.name}-first-0"
    if row.action == "RestartJob":
        expected = set(before)
    elif row.action == "RestartTask":
        expected = {name for name in before if "-first-" in name}
    elif row.action == "RestartPartition":
        expected = {target, f"{row.name}-first-1"}
    else:
        expected = {target}

    def renewed() -> bool:
        now = started.uids(row)
        changed = {name for name, uid in now.items() if before[name] != uid}
        return changed >= expected and set(now) == set(before) and _all_run(started.cluster, row.name)

    eventually(f"{row.name} to run again", renewed, SECONDS)
    now = started.uids(row)
    assert {name for name in now if now[name] != before[name]} == expected
    assert started.cluster.read(JOBS, row.name)["status"]["retryCount"] == 1
