"""Jobs from submission to their end, as a person drives them through vcctl."""

from __future__ import annotations

import re

import pytest

from tests.e2e.harness import Cluster, Document, vcjob
from tests.waiting import eventually
from volcano.api.resources import JOBS, PODGROUPS, QUEUES
from volcano.kube.errors import BadRequest

pytestmark = pytest.mark.xdist_group("e2e")


def test_a_command_runs_in_every_pod_and_its_output_is_kept(cluster: Cluster) -> None:
    requests = "cpu=100m,memory=32Mi"
    words = ("--replicas", "2", "--min", "2", "--requests", requests, "--limits", requests)
    done = cluster("job", "run", "hello", *words, "--watch", "--", "sh", "-c", 'echo "$HOSTNAME -- done"')
    assert done.out.startswith("run job hello successfully\n")
    assert done.out.rstrip().endswith("job hello  Completed: 2 succeeded")
    assert (
        cluster("job", "logs", "hello").out
        == "hello-default0-0: hello-default0-0 -- done\nhello-default0-1: hello-default0-1 -- done\n"
    )


def test_on_a_terminal_a_job_is_drawn_in_place(cluster: Cluster) -> None:
    shown = cluster.on_terminal("job", "run", "drawn", "--requests", "cpu=100m", "--watch", "--", "sleep", "0.5")
    assert "\x1b[" in shown
    assert "Task" in shown
    assert "default0" in shown
    assert "Completed: 1 succeeded" in shown


def test_a_job_that_fails_gives_an_exit_status_and_says_why(cluster: Cluster) -> None:
    done = cluster("job", "run", "failing", "--requests", "cpu=100m", "--watch", "--", "sh", "-c", "exit 3", fails=True)
    assert done.status == 1
    assert "failing-default0-0:\tcontainer 'failing' ended with exit status 3" in done.err
    assert "ended with exit status 3" in cluster("job", "view", "failing").out


def test_a_gang_starts_whole_or_not_at_all(cluster: Cluster) -> None:
    meeting = cluster.home / "meeting"
    meeting.mkdir()
    meet = f"touch {meeting}/$HOSTNAME; until [ $(ls {meeting} | wc -l) = 3 ]; do sleep 0.05; done"
    cluster.create(JOBS, vcjob("gang", "sh", "-c", meet, replicas=3, cpu="1", minAvailable=3))

    waiting = ""

    def told() -> bool:
        """Once what tests before have left is gone."""
        nonlocal waiting
        waiting = cluster("job", "view", "gang").out.partition("Waiting:\n")[2]
        return bool(re.search(r"3 cpu needed, (2400|2[0-3]\d\d)m available", waiting))

    try:
        eventually("the reason why the gang waits", told)
    except AssertionError as error:
        error.add_note(f"told: {waiting}")
        raise
    assert "PodGroup:\tgang-" in waiting
    assert "Stage:   \tenqueue" in waiting
    assert not any(pod["spec"].get("nodeName") for pod in cluster.pods("gang"))

    with cluster.another_node("second", "--cpus", "2"):
        eventually("its pods to meet and end", lambda: cluster.phase("gang") == "Completed")
        pods = cluster.pods("gang")
        assert len(pods) == 3
        assert {pod["spec"]["nodeName"] for pod in pods} == {"local", "second"}
    cluster("job", "delete", "gang")


def test_a_job_is_suspended_resumed_and_deleted(cluster: Cluster) -> None:
    cluster.create(JOBS, vcjob("pausing", "sleep", "60", replicas=2))
    eventually("the job to run", lambda: cluster.phase("pausing") == "Running")

    assert cluster("job", "suspend", "pausing").out == ""
    eventually("the job to be suspended", lambda: cluster.phase("pausing") == "Aborted")
    eventually("its pods to go", lambda: not cluster.pods("pausing"))

    assert cluster("job", "resume", "--name", "pausing").out == ""
    eventually("the job to run again", lambda: cluster.phase("pausing") == "Running")
    assert len(cluster.pods("pausing")) == 2

    assert cluster("job", "delete", "pausing").out == "delete job pausing successfully\n"
    eventually("its pods to go", lambda: not cluster.pods("pausing"))
    eventually("its podgroup to go", lambda: "pausing-" not in str(cluster.list(PODGROUPS)))


def test_a_closed_queue_takes_no_jobs_and_says_so(cluster: Cluster) -> None:
    cluster("queue", "create", "shut")
    eventually("the queue to open", lambda: cluster.read(QUEUES, "shut")["status"].get("state") == "Open")
    cluster("queue", "operate", "shut", "--action", "close")
    eventually("the queue to close", lambda: cluster.read(QUEUES, "shut")["status"].get("state") == "Closed")

    eventually("admission to hear of it", lambda: is_refused(cluster, vcjob("late", "true", queue="shut")))
    refused = cluster("job", "run", "late", "--queue", "shut", "--", "true", fails=True)
    assert refused.status == 255
    assert "can only submit job to queue with state `Open`, queue `shut` status is `Closed`" in refused.err
    assert "Warning: spec.queue" in refused.err

    cluster("queue", "operate", "--name", "shut", "--action", "open")
    eventually("the queue to open", lambda: cluster.read(QUEUES, "shut")["status"].get("state") == "Open")
    cluster("job", "run", "late", "--queue", "shut", "--requests", "cpu=100m", "--watch", "--", "true")
    cluster("job", "delete", "late")
    cluster("queue", "delete", "shut")
    assert 'queues.scheduling.volcano.sh "shut" not found' in cluster("queue", "get", "shut", fails=True).err


def is_refused(cluster: Cluster, job: Document) -> bool:
    """Whether the cluster would refuse the job now."""
    try:
        cluster.talk(lambda client: client.create(JOBS.untyped, job, "default", dry_run=True))
    except BadRequest:
        return True
    return False


def test_jobs_and_queues_are_told_in_the_form_asked_for(cluster: Cluster) -> None:
    path = cluster.write("told.yaml", vcjob("told", "true"))
    cluster("job", "run", "--filename", path, "--watch")

    assert cluster("job", "view", "told", "-o", "json").json["spec"]["minAvailable"] == 1
    assert cluster("job", "view", "--name", "told", "-o", "yaml").yaml["metadata"]["name"] == "told"
    listed = cluster("job", "list", "-o", "json").json
    assert listed["kind"] == "List"
    assert "told" in [item["metadata"]["name"] for item in listed["items"]]
    assert "job/told" in cluster("job", "list", "-o", "name").out.split()
    wide = cluster("job", "list", "-o", "wide").out.splitlines()
    assert wide[0].split()[:2] == ["Namespace", "Name"]
    assert any(line.split()[:2] == ["default", "told"] for line in wide)

    eventually("a state", lambda: cluster("queue", "get", "default", "-o", "json").json["status"]["state"] == "Open")
    assert {item["metadata"]["name"] for item in cluster("queue", "list", "-o", "yaml").yaml["items"]} >= {"default"}
    assert cluster("queue", "list", "-o", "wide").out.split()[0] == "Name"


def test_a_jobs_namespace_comes_from_the_flag_or_its_file(cluster: Cluster) -> None:
    document = vcjob("elsewhere", "true")
    document["metadata"]["namespace"] = "kube-public"
    cluster("job", "run", "--filename", cluster.write("elsewhere.yaml", document), "--watch")
    assert cluster.phase("elsewhere", "kube-public") == "Completed"
    assert "elsewhere" in cluster("job", "list", "--namespace", "kube-public").out
    assert "kube-public" in cluster("job", "list", "--all-namespaces").out
    cluster("job", "delete", "elsewhere", "--namespace", "kube-public")
