"""Jobs: what they become, what is refused, and that a refusal says where and what to do."""

from __future__ import annotations

import copy

import pytest

from tests.webhooks.documents import Document, job, queue, request, task, world
from volcano.webhooks.rules import AdmissionResponse, Settings, mutate, review, validate

SETTINGS = Settings()


def judged(document: Document) -> AdmissionResponse:
    return validate(request(document), world(), SETTINGS)


def test_a_bare_job_gets_queue_scheduler_retries_names_and_gang_size():
    document = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"tasks": [{"replicas": 3, "template": {}}, {"replicas": 2, "minAvailable": 1, "template": {}}]},
    }
    before = copy.deepcopy(document)

    answer = mutate(request(document), world(), SETTINGS)

    assert answer.object is not None
    spec = answer.object["spec"]
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        4,
    )
    assert [(each["name"], each["minAvailable"], each["maxRetry"]) for each in spec["tasks"]] == [
        ("default0", 3, 3),
        ("default1", 1, 3),
    ]
    assert document == before, "the request's own document must not change"


def test_a_mutated_job_has_nothing_left_to_mutate():
    once = mutate(request(job(task(), task("ps", 2), maxRetry=0)), world(), SETTINGS)
    assert once.object is not None

    assert mutate(request(once.object), world(), SETTINGS).patch == ()


def test_an_update_that_replaces_the_tasks_gets_their_defaults_again():
    old = mutate(request(job(task(replicas=2))), world(), SETTINGS).object
    replaced = copy.deepcopy(old)
    replaced["spec"]["tasks"] = [task(replicas=3)]
    assert not validate(request(replaced, "UPDATE", old=old), world(), SETTINGS).allowed

    completed = mutate(request(replaced, "UPDATE", old=old), world(), SETTINGS).object

    assert validate(request(completed, "UPDATE", old=old), world(), SETTINGS).allowed


def test_host_network_needs_a_dns_policy_that_still_finds_services():
    template = {"spec": {"hostNetwork": True, "containers": []}}

    answer = mutate(request(job(task(template=template))), world(), SETTINGS)

    assert answer.object is not None
    assert answer.object["spec"]["tasks"][0]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"pytorch": ["--master=m"]}, {"pytorch", "svc"}),
        ({"mpi": []}, {"mpi", "svc", "ssh"}),
        ({"env": []}, {"env"}),
    ],
)
def test_plugins_bring_those_they_need(given: Document, expected: set[str]):
    answer = mutate(request(job(plugins=given)), world(), SETTINGS)

    assert answer.object is not None
    assert set(answer.object["spec"]["plugins"]) == expected


def test_unknown_fields_of_users_survive():
    document = job(task(note={"deep": [1]}, minAvailable=None))

    answer = mutate(request(document), world(), SETTINGS)

    assert answer.object is not None
    assert answer.object["spec"]["tasks"][0]["note"] == {"deep": [1]}


@pytest.mark.parametrize(
    ("document", "message", "field"),
    [
        (job(tasks=[]), "No task specified in job spec", "spec.tasks"),
        (job(task("a"), task("a")), "duplicated task name a;", "spec.tasks[1].name"),
        (
            job(minAvailable=2),
            "job 'minAvailable' should not be greater than total replicas in tasks;",
            "spec.minAvailable",
        ),
        (
            job(task(minAvailable=2)),
            "'minAvailable' is greater than 'replicas' in task: worker, job: train;",
            "spec.tasks[0].minAvailable",
        ),
        (job(plugins={"envv": []}), "unable to find job plugin: envv;", "spec.plugins[envv]"),
        (
            job(queue="ml"),
            'unable to find job queue: queue.scheduling.volcano.sh "ml" not found;',
            "spec.queue",
        ),
        (job(queue="root"), "can not submit job to root queue;", "spec.queue"),
        (
            job(task(dependsOn={"name": ["nobody"]})),
            "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);",
            "spec.tasks[*].dependsOn",
        ),
        (
            job(plugins={"mpi": ["--master=chief"]}),
            "The specified mpi master task was not found",
            "spec.plugins[mpi]",
        ),
        (job(volumes=[{"mountPath": ""}]), "mountPath is required;", "spec.volumes[0].mountPath"),
    ],
)
def test_refusals_have_the_known_message_and_name_the_field(document: Document, message: str, field: str):
    answer = judged(document)

    assert (answer.allowed, answer.message) == (False, message)
    assert field in [cause.field for cause in answer.causes]
    assert any(cause.hint for cause in answer.causes)
    assert answer.warnings


def test_several_faults_are_told_at_once():
    answer = judged(job(task("a"), task("a"), queue="ml"))

    assert answer.message == (
        'duplicated task name a; unable to find job queue: queue.scheduling.volcano.sh "ml" not found;'
    )
    assert len(answer.causes) == 2


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown"])
def test_a_queue_that_is_not_open_takes_no_jobs(state: str):
    answer = validate(request(job(queue="ml")), world(queue("ml", state=state)), SETTINGS)

    expected = f"can only submit job to queue with state `Open`, queue `ml` status is `{state}`;"
    assert answer.message == expected


def test_a_queue_that_is_so_new_that_it_has_no_state_takes_jobs():
    assert validate(request(job(queue="ml")), world(queue("ml", state="")), SETTINGS).allowed


def test_pod_names_are_judged_by_their_last_replica():
    name = "j" * 50

    assert judged(job(task("t" * 10, 10), name=name)).allowed
    assert "create pod with name" in judged(job(task("t" * 10, 101), name=name)).message


def test_an_exit_code_needs_a_known_action_too():
    answer = judged(job(policies=[{"exitCode": 3, "action": "Restart"}]))

    assert 'spec.policies: Invalid value: "Restart": invalid policy action' in answer.message
    assert answer.causes[0].field == "spec.policies[0].action"


def test_updates_may_scale_and_reprioritise_only():
    old = job(task("a", 4), minAvailable=2)
    scaled = job(task("a", 6), minAvailable=3, priorityClassName="high")
    moved = job(task("a", 4), minAvailable=2, queue="other")

    assert validate(request(scaled, "UPDATE", old=old), world(), SETTINGS).allowed
    refused = validate(request(moved, "UPDATE", old=old), world(), SETTINGS)
    assert refused.message.startswith("job updates may not change fields other than")
    assert refused.causes[0].field == "spec.queue"


def test_an_update_sees_no_change_between_absent_and_empty():
    old = job(task("a", 4, policies=[]), plugins={})
    new = job(task("a", 4))

    assert validate(request(new, "UPDATE", old=old), world(), SETTINGS).allowed


def test_a_field_of_the_wrong_type_is_named():
    answer = judged(job(task(replicas="three")))

    assert not answer.allowed
    assert answer.causes[0].field == "spec.tasks[0].replicas"


@pytest.mark.parametrize("containers", ["none", {"name": "main"}, ["none"], [None]])
def test_containers_of_the_wrong_type_are_left_to_the_schema(containers: object):
    answer = mutate(request(job(task(template={"spec": {"containers": containers}}))), world(), SETTINGS)
    assert answer.allowed
    assert answer.object["spec"]["tasks"][0]["template"]["spec"]["containers"] == containers


def test_status_writes_and_foreign_jobs_are_not_judged():
    document = job(tasks=[])
    status = request(document, "UPDATE", old=document)

    assert validate(type(status)(operation="UPDATE", group="batch", resource="jobs"), world(), SETTINGS).allowed
    assert validate(
        type(status)(operation="UPDATE", group="batch.volcano.sh", resource="jobs", subresource="status"),
        world(),
        SETTINGS,
    ).allowed


def test_review_mutates_and_then_judges_the_outcome():
    answer = review(request(job(task("", 2), minAvailable=0)), world(), SETTINGS)

    assert answer.allowed
    assert answer.object is not None
    assert answer.object["spec"]["tasks"][0]["name"] == "default0"
    assert {operation["path"] for operation in answer.patch} >= {"/spec/tasks", "/spec/minAvailable"}
