"""The parts of flows: gates, patches, labels, phases."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from volcano.api.batch import Job
from volcano.api.flow import JobFlow
from volcano.api.meta import ObjectMeta
from volcano.controllers.jobflow import machine, progress
from volcano.controllers.jobflow.jobs import job_for, label_of
from volcano.controllers.jobflow.patches import patched
from volcano.controllers.jobflow.probes import Question

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def flow(*steps: dict[str, Any], phase: str = "Running", **status: Any) -> JobFlow:
    document = {
        "metadata": {"name": "f", "namespace": "default", "uid": "u"},
        "spec": {"flows": list(steps)},
        "status": {"state": {"phase": phase}, **status},
    }
    return msgspec.convert(document, JobFlow)


def after(name: str, *targets: str, **probe: Any) -> dict[str, Any]:
    return {"name": name, "dependsOn": {"targets": list(targets), **({"probe": probe} if probe else {})}}


def job(name: str, phase: str = "Running", **counts: int) -> Job:
    document = {
        "metadata": {"name": name},
        "spec": {"tasks": [{"name": "server", "replicas": 2}]},
        "status": {"state": {"phase": phase}, "taskStatusCount": {"server": {"phase": counts}}},
    }
    return msgspec.convert(document, Job)


def step(flow: JobFlow, *jobs: Job, answered: tuple[Question, ...] = ()) -> machine.Plan:
    return machine.step(flow, {job.metadata.name: job for job in jobs}, answered, NOW)


def test_without_a_probe_targets_must_complete() -> None:
    wanted = flow({"name": "a"}, after("b", "a"))

    assert step(wanted).start == ["a"]
    assert step(wanted, job("f-a")).start == []
    assert step(wanted, job("f-a", "Completed")).start == ["b"]


def test_a_probe_on_a_task_opens_when_all_its_pods_are_in_the_phase() -> None:
    wanted = flow({"name": "a"}, after("b", "a", taskStatusList=[{"taskName": "server", "phase": "Running"}]))

    assert step(wanted, job("f-a", Running=1, Pending=1)).start == []
    assert step(wanted, job("f-a", Running=2)).start == ["b"]
    assert step(wanted, job("f-a", Running=1, Succeeded=1)).start == ["b"]
    assert step(wanted, job("f-a", Running=1, Failed=1)).start == []


def test_probes_of_ports_are_asked_until_they_are_answered() -> None:
    probe = {
        "httpGetList": [{"taskName": "server", "path": "/up", "port": 80, "httpHeader": {"name": "X", "value": "y"}}],
        "tcpSocketList": [{"port": 22}],
    }
    wanted = flow({"name": "a"}, after("b", "a", **probe))
    questions = [Question("f-a", "server", 80, "/up", ("X", "y")), Question("f-a", "", 22)]

    assert step(wanted).questions == []
    assert step(wanted, job("f-a")).questions == questions
    assert step(wanted, job("f-a"), answered=(questions[0],)).start == []
    assert step(wanted, job("f-a"), answered=tuple(questions)).start == ["b"]


def test_who_has_completed_is_asked_no_more() -> None:
    wanted = flow({"name": "a"}, after("b", "a", tcpSocketList=[{"port": 22}]))

    assert step(wanted, job("f-a", "Completed")).start == ["b"]


def test_a_probe_of_a_task_that_does_not_exist_is_told() -> None:
    wanted = flow({"name": "a"}, after("b", "a", tcpSocketList=[{"taskName": "sever", "port": 22}]))

    plan = step(wanted, job("f-a"))

    assert (plan.start, plan.unknown_tasks) == ([], ["sever"])


def test_a_job_that_completed_and_was_removed_does_not_run_again() -> None:
    wanted = flow({"name": "a"}, after("b", "a"), completedJobs=["f-a"], jobStatusList=[{"name": "f-a"}])

    plan = step(wanted)

    assert plan.start == ["b"]
    assert plan.status is not None
    assert plan.status.completed_jobs == ["f-a"]


def test_a_job_that_was_removed_while_it_ran_starts_again() -> None:
    assert step(flow({"name": "a"}, runningJobs=["f-a"])).start == ["a"]


def test_a_flow_whose_failed_job_runs_again_goes_on() -> None:
    failed = flow({"name": "a"}, after("b", "a"), phase="Failed", failedJobs=["f-a"], jobStatusList=[{"name": "f-a"}])

    def phase(*jobs: Job) -> str:
        status = step(failed, *jobs).status
        assert status is not None
        return status.state.phase

    assert phase(job("f-a", "Failed")) == "Failed"
    assert phase() == "Failed"  # the failed job's time to live may be over
    assert phase(job("f-a", "Running")) == "Running"


def test_a_flow_that_is_being_deleted_starts_nothing() -> None:
    wanted = flow({"name": "a"})
    wanted.metadata.deletion_timestamp = NOW

    plan = step(wanted)

    assert not plan.start
    assert plan.status is not None
    assert plan.status.state.phase == "Terminating"


def test_histories_end_one_another() -> None:
    status = progress.status_of(flow({"name": "a"}), {"f-a": job("f-a", "Pending")}, NOW)
    later = NOW + datetime.timedelta(seconds=5)
    history = progress.histories(job("f-a", "Running"), status.job_status_list[0], later)

    assert [(entry.state, entry.start_timestamp, entry.end_timestamp) for entry in history] == [
        ("Pending", NOW, later),
        ("Running", later, None),
    ]


def test_patches_match_tasks_and_containers_by_name_and_leave_defaults_out() -> None:
    spec: dict[str, Any] = {
        "queue": "ml",
        "maxRetry": 7,
        "tasks": [
            {
                "name": "worker",
                "replicas": 1,
                "template": {
                    "spec": {"containers": [{"name": "c", "image": "a", "env": [{"name": "X", "value": "1"}]}]}
                },
            },
            {"name": "ps", "replicas": 1},
        ],
    }
    patch = {
        "queue": "default",
        "maxRetry": 3,
        "minAvailable": 4,
        "tasks": [
            {
                "name": "worker",
                "replicas": 3,
                "template": {"spec": {"containers": [{"name": "c", "env": [{"name": "Y", "value": "2"}]}]}},
            },
            {"name": "chief", "replicas": 1},
        ],
    }

    result = patched(spec, patch)

    assert (result["queue"], result["maxRetry"], result["minAvailable"]) == ("ml", 7, 4)
    assert [(task["name"], task["replicas"]) for task in result["tasks"]] == [("worker", 3), ("ps", 1), ("chief", 1)]
    container = result["tasks"][0]["template"]["spec"]["containers"][0]
    assert (container["image"], [variable["name"] for variable in container["env"]]) == ("a", ["X", "Y"])
    assert spec["tasks"][0]["replicas"] == 1


@pytest.mark.parametrize("length", [5, 60])
def test_names_are_shortened_in_labels_only(length: int) -> None:
    name = "n" * length
    made = job_for(ObjectMeta(name=name, namespace="default", uid="u"), {"name": "a"}, {"spec": {}})

    assert made["metadata"]["labels"]["volcano.sh/createdByJobFlow"] == label_of("default", name)
    assert len(label_of("default", name)) <= 63
    assert made["metadata"]["annotations"]["volcano.sh/createdByJobFlow"] == f"default.{name}"
