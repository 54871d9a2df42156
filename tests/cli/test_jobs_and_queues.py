"""vcctl job and vcctl queue against an API server in the same process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Terminal
from volcano.api.resources import COMMANDS, JOBS, QUEUES
from volcano.cli.statuses import FAILED, USAGE


def test_a_job_with_a_command_of_its_own(vcctl: Terminal):
    assert vcctl("queue", "create", "default") == 0
    assert vcctl("job", "run", "hello", "--replicas", "3", "--min", "2", "--", "sh", "-c", "echo hi; sleep 1") == 0

    assert vcctl.out == "run job hello successfully\n"
    [job] = vcctl.stored(JOBS)
    task = job["spec"]["tasks"][0]
    assert (job["spec"]["minAvailable"], job["spec"]["queue"]) == (2, "default")
    assert (task["name"], task["replicas"], task["maxRetry"]) == ("default0", 3, 3)
    assert task["template"]["spec"]["containers"][0]["command"] == ["sh", "-c", "echo hi; sleep 1"]


def test_a_job_without_its_queue_is_refused_with_what_to_do(vcctl: Terminal):
    assert vcctl("job", "run", "hello", "--queue", "ml") == FAILED

    assert vcctl.err.startswith("Failed to job run: ")
    assert 'unable to find job queue: queue.scheduling.volcano.sh "ml" not found' in vcctl.err
    assert vcctl.stored(JOBS) == []


def test_a_job_from_a_file_keeps_its_namespace_unless_told_otherwise(vcctl: Terminal, tmp_path: Path):
    manifest = tmp_path / "job.yaml"
    task = {"replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}}
    document = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "filed", "namespace": "kube-public"},
        "spec": {"tasks": [task]},
    }
    manifest.write_text(yaml.safe_dump(document))
    vcctl("queue", "create", "default")

    assert vcctl("job", "run", "-f", str(manifest)) == 0
    assert [job["metadata"]["name"] for job in vcctl.stored(JOBS, "kube-public")] == ["filed"]
    assert vcctl("job", "run", "-f", str(manifest), "-n", "default") == 0
    assert [job["metadata"]["name"] for job in vcctl.stored(JOBS)] == ["filed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("job", "run"), "Failed to job run: job name cannot be left blank\n"),
        (("job", "run", "-f", "job.txt"), "Failed to job run: only support yaml file\n"),
        (("job", "run", "x", "-R", "cpu"), "invalid argument syntax cpu, expected <resource>=<value>"),
        (("job", "suspend"), "job name is mandatory to suspend a particular job"),
        (("job", "delete"), "job name is mandatory to delete a particular job"),
        (("queue", "operate", "q"), "action can not be null"),
        (("queue", "operate", "q", "-a", "update"), "weight must be specified, the value must be greater than 0"),
        (("job", "view", "gone"), "not found"),
    ],
)
def test_what_cannot_be_done_is_told_on_standard_error(vcctl: Terminal, words: tuple[str, ...], message: str):
    assert vcctl(*words) == FAILED
    assert message in vcctl.err
    assert vcctl.out == ""


def test_a_name_is_given_once_by_flag_or_by_position(vcctl: Terminal):
    assert vcctl("job", "view", "--name", "a", "b") == USAGE
    assert "Two names are given, 'a' and 'b'" in vcctl.err
    assert vcctl("queue", "get", "--name", "x", "x") == FAILED
    assert '"x" not found' in vcctl.err


def test_a_misspelt_noun_gets_a_suggestion(vcctl: Terminal):
    assert vcctl("jbo", "list") == USAGE
    assert "Did you mean 'job'?" in vcctl.err


def test_suspend_and_resume_send_commands_to_the_controller(vcctl: Terminal):
    vcctl("queue", "create", "default")
    vcctl("job", "run", "hello")

    assert (vcctl("job", "suspend", "hello"), vcctl.out) == (0, "")
    assert vcctl("job", "resume", "-N", "hello") == 0

    commands = vcctl.stored(COMMANDS)
    assert {command["action"] for command in commands} == {"AbortJob", "ResumeJob"}
    assert {command["target"]["name"] for command in commands} == {"hello"}


@pytest.mark.parametrize(
    ("verb", "status", "remark"),
    [
        ("resume", {"phase": "Completed"}, "job hello has ended (Completed): nothing to resume\n"),
        ("suspend", {"phase": "Failed"}, "job hello has ended (Failed): nothing to suspend\n"),
        ("resume", {"phase": "Aborted", "retries": 1}, ""),
        ("resume", {"phase": "Aborted", "retries": 2}, "job hello: this is retry 3 of 3 (spec.maxRetry): it uses up"),
        ("suspend", {"phase": "Running", "retries": 1}, ""),
        ("suspend", {"phase": "Running", "retries": 2}, "job hello: to resume it would be retry 3 of 3"),
        ("resume", {"phase": "Running", "retries": 2}, ""),
    ],
)
def test_what_a_command_to_a_job_brings_is_said_before(vcctl: Terminal, verb: str, status: dict[str, Any], remark: str):
    vcctl("queue", "create", "default")
    vcctl("job", "run", "hello")

    async def stand() -> None:
        new = {"state": {"phase": status["phase"]}, "retryCount": status.get("retries", 0)}
        async with vcctl.connected() as client:
            await client.patch(JOBS.untyped, "hello", {"status": new}, "default", subresource="status")

    asyncio.run(stand())

    assert (vcctl("job", verb, "hello"), vcctl.out) == (0, "")
    assert vcctl.err.startswith(remark)
    assert bool(vcctl.err) == bool(remark)
    assert len(vcctl.stored(COMMANDS)) == 1


def test_lists_and_views(vcctl: Terminal):
    assert vcctl("job", "list") == 0
    assert vcctl.out == "No resources found\n"
    vcctl("queue", "create", "default")
    vcctl("job", "run", "hello")

    vcctl("job", "list")
    assert vcctl.out.splitlines()[1].split()[0] == "hello"
    vcctl("job", "list", "-o", "json")
    assert json.loads(vcctl.out)["items"][0]["metadata"]["name"] == "hello"
    vcctl("job", "list", "-o", "name")
    assert vcctl.out == "job/hello\n"
    assert vcctl("job", "view", "hello") == 0
    assert vcctl.out.startswith("Name:       \thello\n")
    assert vcctl("job", "delete", "hello") == 0
    assert vcctl.out == "delete job hello successfully\n"


def test_queues(vcctl: Terminal):
    assert vcctl("queue", "create", "ml", "--weight", "4") == 0
    assert vcctl("queue", "operate", "ml", "--action", "update", "--weight", "7") == 0
    assert [queue["spec"]["weight"] for queue in vcctl.stored(QUEUES, None) if queue["metadata"]["name"] == "ml"] == [7]
    assert vcctl("queue", "operate", "-n", "ml", "-a", "close") == 0
    assert [command["action"] for command in vcctl.stored(COMMANDS)] == ["CloseQueue"]
    assert vcctl("queue", "get", "ml") == 0
    assert vcctl.out.splitlines()[1].split()[:2] == ["ml", "7"]
    assert vcctl("queue", "delete", "ml") == 0
    assert vcctl("queue", "delete", "default") == FAILED


def test_version_and_completion(vcctl: Terminal):
    assert vcctl("version") == 0
    assert vcctl.out.splitlines()[0] == "API Version: v1alpha1"
    assert [line.partition(":")[0] for line in vcctl.out.splitlines()[:4]] == [
        "API Version",
        "Version",
        "Git SHA",
        "Built At",
    ]
    assert vcctl("completion", "bash") == 0
    assert "_VCCTL_COMPLETE=bash_complete" in vcctl.out
