"""Work on a real local cluster: what comes back, and how failures are told apart."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.sdk import work
from tests.waiting import eventually
from volcano.api.batch import Job as JobObject
from volcano.api.resources import EVENTS, PODS, QUEUES, SECRETS
from volcano.sdk import (
    Cancelled,
    Client,
    Evicted,
    Failed,
    Phase,
    Rejected,
    ResultLost,
    ResultTooLarge,
    TimedOut,
    Typed,
    Unschedulable,
    WaitTimeout,
)

LONG = 120.0


def api(client: Client, verb: str, *arguments: Any, **keywords: Any) -> Any:
    """A request of `volcano.kube` with the client's connection."""
    call = getattr(client.connection().api, verb)
    return client.portal.run(call(*arguments, **keywords))


def names_of_secrets(client: Client) -> set[str]:
    return {secret.metadata.name for secret in api(client, "list", SECRETS, "default").items}


@pytest.fixture
def queue(client: Client) -> Iterator[str]:
    """A queue that may use one CPU."""
    document = {"metadata": {"name": "small"}, "spec": {"capability": {"cpu": "1"}}}
    api(client, "apply", QUEUES.untyped, document)
    yield "small"
    for job in client.jobs(queue="small"):
        job.delete()


# Results


def test_a_function_returns(client: Client) -> None:
    assert client.submit(work.square, 7).result(LONG) == 49


def test_the_members_of_a_gang_return_in_order(client: Client) -> None:
    assert client.submit(work.rank, nodes=4).result(LONG) == [0, 1, 2, 3]


def test_map_gives_each_member_an_item(client: Client) -> None:
    assert client.map(pow, [2, 3], [5, 2]).result(LONG) == [32, 9]


def test_a_command_gives_its_output(client: Client) -> None:
    assert client.submit("echo out; echo err >&2").result(LONG) == "out\nerr\n"
    assert client.submit(["echo", "a b"], array=2).result(LONG) == ["a b\n", "a b\n"]


def test_a_script_gives_its_output(client: Client, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv[1])")
    assert client.submit(script, "argument").result(LONG) == "argument\n"


def test_a_whole_job_gives_its_output(client: Client) -> None:
    container = {"name": "c", "image": "none", "command": ["echo", "whole"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    document = {"metadata": {"generateName": "whole-"}, "spec": {"tasks": [{"replicas": 1, "template": template}]}}
    assert client.submit(Typed(JobObject, document)).result(LONG) == "whole\n"


def test_what_a_function_prints_is_its_log_and_what_it_returns_is_not(client: Client) -> None:
    job = client.submit(work.talk)
    assert job.result(LONG) == "returned"
    assert [line.text for line in job.logs()] == ["spoken, without an end of line"]


def test_a_result_can_be_asked_for_by_another_program(client: Client, kubeconfig: Path) -> None:
    job = client.submit(work.square, 3)
    code = f"from volcano import Client; print(Client({str(kubeconfig)!r}).job({job.name!r}).result(100))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "9\n"


# Failures


def test_an_exception_of_a_function_is_raised(client: Client) -> None:
    with pytest.raises(LookupError, match="no 3 here") as raised:
        client.submit(work.refuse, 3).result(LONG)
    assert "in refuse" in str(raised.value.__cause__)


def test_one_failure_ends_a_gang_and_not_an_array(client: Client) -> None:
    gang = client.submit("[ $VC_TASK_INDEX = 1 ] && exit 4; sleep 60", nodes=2)
    with pytest.raises(Failed) as raised:
        gang.result(LONG)
    assert (raised.value.exit_code, raised.value.member) == (4, f"{gang.name}-member-1")

    array = client.map(work.fail_on, range(3), [1, 1, 1])
    with pytest.raises(LookupError, match="no 1 here"):
        array.result(LONG)
    eventually("all to be counted", lambda: (array.status().succeeded, array.status().failed) == (2, 1))


def test_a_failure_tells_the_exit_code_and_the_last_words(client: Client) -> None:
    with pytest.raises(Failed, match=r"failed: pod .*-member-0: container '.*' ended with exit status 7") as raised:
        client.submit(work.die, 7).result(LONG)
    assert (raised.value.exit_code, raised.value.log) == (7, "last words")


def test_retries_start_again(client: Client, tmp_path: Path) -> None:
    job = client.submit(f"test -e {tmp_path}/flag || {{ touch {tmp_path}/flag; exit 1; }}; echo again", retries=1)
    assert job.result(LONG) == "again\n"
    assert job.status().retries == 1


def test_retries_are_used_up(client: Client) -> None:
    job = client.submit("exit 1", retries=1)
    with pytest.raises(Failed):
        job.result(LONG)
    assert job.status().retries == 2


def test_a_time_limit_ends_work(client: Client) -> None:
    with pytest.raises(TimedOut, match="reached its time limit"):
        client.submit("echo begun; sleep 60", time_limit=1).result(LONG)


def test_patience_may_end_before_the_job(client: Client) -> None:
    job = client.submit("sleep 60")
    with pytest.raises(WaitTimeout, match=r"has not finished within 0.5 s: (Pending|Running)"):
        job.result(0.5)
    job.delete()
    with pytest.raises(Cancelled, match="was removed"):
        job.wait(LONG)


def test_admission_refuses_with_the_field_and_leaves_nothing(client: Client) -> None:
    before = names_of_secrets(client)
    with pytest.raises(Rejected, match='"nowhere" not found') as raised:
        client.submit(work.square, 1, queue="nowhere")
    assert raised.value.causes[0][0] == "spec.queue"
    assert str(raised.value).endswith(
        "create the queue (vcctl queue create -n nowhere) or name another one (vcctl queue list)"
    )
    assert names_of_secrets(client) <= before


def test_what_can_never_start_is_not_waited_for(client: Client, queue: str) -> None:
    with pytest.raises(Unschedulable) as raised:
        client.submit("true", cpu=1000).result(LONG)
    assert raised.value.reason["code"] == "LargerThanAnyNode"
    with pytest.raises(Unschedulable, match="queue small may use 1") as raised:
        client.submit("true", cpu=1, nodes=2, queue=queue).result(LONG)
    assert raised.value.reason["blocker"] == "small"


def test_an_eviction_is_told_from_a_failure(client: Client) -> None:
    job = client.submit("sleep 60", on_eviction="fail")
    job.wait(LONG, until="running")
    (pod,) = job.members()
    reference = {"kind": "Pod", "namespace": "default", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    event = {
        "metadata": {"generateName": "evict-"},
        "involvedObject": reference,
        "reason": "Evict",
        "type": "Warning",
        "message": "preempted by default/urgent",
    }
    api(client, "create", EVENTS.untyped, event, "default")
    api(client, "delete", PODS, pod["metadata"]["name"], "default")
    with pytest.raises(Evicted, match="preempted by default/urgent"):
        job.result(LONG)


def test_results_too_large_say_so(client: Client) -> None:
    with pytest.raises(ResultTooLarge, match="write it to a volume"):
        client.submit(work.large, 2000, result_limit=1000).result(LONG)


def test_a_result_whose_pod_is_gone_is_lost(client: Client) -> None:
    job = client.submit(work.square, 2)
    job.wait(LONG)
    api(client, "delete", PODS, f"{job.name}-member-0", "default")
    eventually("its pods to go", lambda: not job.members())
    with pytest.raises(ResultLost, match="are gone"):
        job.result(LONG)


# Steering


def test_a_job_is_suspended_and_resumed(client: Client) -> None:
    job = client.submit("sleep 60")
    job.wait(LONG, until="running")
    job.suspend()
    assert job.wait(LONG).phase is Phase.ABORTED
    with pytest.raises(Cancelled, match="was suspended"):
        job.result(LONG)
    job.resume()
    eventually("the job to run", lambda: job.status().phase is Phase.RUNNING)
    job.cancel()
    with pytest.raises(Cancelled, match="was cancelled"):
        job.result(LONG)


def test_a_gang_is_scaled(client: Client) -> None:
    job = client.submit("sleep 60", nodes=1)
    job.wait(LONG, until="running")
    job.scale(3)
    eventually("three pods to run", lambda: job.status().running == 3)
    job.delete()
    with pytest.raises(ValueError, match="is no gang"):
        client.submit("true").scale(2)


def test_an_edit_is_written_back(client: Client, queue: str) -> None:
    job = client.submit("true", queue=queue, cpu=4)
    with job.edit() as found:
        found.metadata.labels["edited"] = "yes"
    assert job.document()["metadata"]["labels"] == {"edited": "yes"}
    with pytest.raises(ZeroDivisionError), job.edit() as found:
        found.metadata.labels["edited"] = str(1 // 0)
    assert job.document()["metadata"]["labels"] == {"edited": "yes"}


def test_a_deleted_job_takes_its_files_along(client: Client) -> None:
    job = client.submit(work.square, 2)
    job.wait(LONG)
    job.delete()
    eventually("its secret to go", lambda: f"{job.name}-files" not in names_of_secrets(client))


# Looking


def test_logs_are_followed_as_they_are_written(client: Client) -> None:
    job = client.submit("for i in 1 2 3; do echo $VC_TASK_INDEX:$i; sleep 0.1; done", nodes=2)
    lines = list(job.logs(follow=True))
    for member in (0, 1):
        own = [line.text for line in lines if line.pod == f"{job.name}-member-{member}"]
        assert own == [f"{member}:{number}" for number in (1, 2, 3)]
    assert [line.text for line in job.logs(1, tail=1)] == ["1:3"]


def test_why_a_job_waits_is_what_vcctl_explain_says(client: Client, queue: str) -> None:
    first = client.submit("sleep 60", cpu=1, queue=queue)
    first.wait(LONG, until="running")
    second = client.submit("true", cpu=1, queue=queue)
    eventually("the second job to be seen", lambda: second.status().phase is Phase.PENDING)
    eventually("the reason", lambda: (why := second.why_pending()) and why["stage"] == "enqueue")
    reason = second.why_pending()
    assert reason is not None
    assert (reason["stage"], reason["blocker"]) == ("enqueue", "small")
    assert first.why_pending() is None
    with pytest.raises(WaitTimeout, match="Pending"):
        second.wait(2)
    eventually("an event", lambda: any(event["reason"] == "Unschedulable" for event in second.events()))


def test_a_job_waits_for_others(client: Client) -> None:
    first = client.submit("sleep 0.5")
    second = client.submit("true", after=[first])
    assert second.result(LONG) == ""
    assert first.status().ok
    third = client.submit("true", after=[client.submit("exit 1")])
    with pytest.raises(Unschedulable, match="is Failed"):
        third.result(LONG)


def test_many_jobs_are_found_waited_for_and_ended_by_label(client: Client, tmp_path: Path) -> None:
    labels, go = {"sweep": "one"}, tmp_path / "go"
    commands = (f"until [ -e '{go}' ]; do sleep 0.1; done", "true", "sleep 600")
    jobs = [client.submit(command, labels=labels) for command in commands]
    finished = client.as_completed(jobs)
    assert next(finished).name == jobs[1].name
    go.touch()
    assert next(finished).name == jobs[0].name
    assert sorted(job.name for job in client.jobs(labels)) == sorted(job.name for job in jobs)
    assert [job.name for job in client.cancel(labels)] == [jobs[2].name]
    assert next(finished).name == jobs[2].name
    assert [job.name for job in client.jobs(labels, phase=Phase.TERMINATED)] == [jobs[2].name]
    with pytest.raises(ValueError, match="say which jobs"):
        client.cancel({})


def test_jobs_are_shown_as_tables(client: Client) -> None:
    job = client.submit("true", labels={"shown": "yes"})
    job.wait(LONG)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(client.jobs({"shown": "yes"}))
    assert f"{job.name} │ default │ Completed" in console.export_text()
    assert f"<td>{job.name}</td>" in job._repr_html_()
    assert repr(job) == f"<Job default/{job.name}>"


def test_a_client_shows_where_it_is_connected_to(client: Client) -> None:
    client.connection()
    assert re.fullmatch(r"<Client of https://127\.0\.0\.1:\d+, namespace default>", repr(client))
    with Client() as other:
        assert repr(other) == "<Client, not connected>"
