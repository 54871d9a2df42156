"""The job machine in small worlds: what one step decides."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from volcano.api import keys
from volcano.api.batch import DependsOn, Job, JobSpec, LifecyclePolicy, TaskSpec
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup
from volcano.controllers.job import machine, policies
from volcano.controllers.job.events import SYNC, Event, podgroup_changed
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.members import Member, Members
from volcano.controllers.job.sync import QueueClosed, QueueMissing
from volcano.controllers.job.vocabulary import Action, EventKind, Phase

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
EARLIER = NOW - datetime.timedelta(minutes=10)


def job(phase: str = "Running", *, replicas: int = 2, version: int = 0, retries: int = 0, **spec: Any) -> Job:
    tasks = spec.pop("tasks", None) or [TaskSpec(name="w", replicas=replicas, template={"spec": {}})]
    wanted = JobSpec(**{"min_available": replicas, "max_retry": 3, "queue": "q", "tasks": tasks, **spec})
    made = Job(metadata=ObjectMeta(name="j", namespace="n", uid="u", creation_timestamp=EARLIER), spec=wanted)
    made.status.state.phase = phase
    made.status.min_available = wanted.min_available
    made.status.version, made.status.retry_count = version, retries
    return made


def pod(index: int, phase: str = "Running", **more: Any) -> Member:
    return Member(**{"name": f"j-w-{index}", "task": "w", "phase": phase, "uid": f"u{index}", "version": 0, **more})


def group(phase: str = "Running", **annotations: str) -> PodGroup:
    made = PodGroup(metadata=ObjectMeta(name="j-u", namespace="n", uid="g", annotations=annotations))
    made.status.phase = phase
    return made


def failed(**more: Any) -> Event:
    return Event(**{"kind": EventKind.POD_FAILED, "task": "w", "pod": "j-w-0", "pod_uid": "u0", "version": 0, **more})


def test_every_phase_has_an_answer_to_every_action() -> None:
    for phase in Phase:
        for action in Action:
            assert machine.transition_of(phase, action) is not None
    assert machine.transition_of("", Action.SYNC_JOB) is machine.transition_of(Phase.PENDING, Action.SYNC_JOB)


def test_a_new_job_gets_a_podgroup_and_no_pods() -> None:
    plan = machine.step(job(""), Members(), None, SYNC, NOW)

    assert plan.podgroup_create is not None
    assert plan.podgroup_create["spec"]["minMember"] == 2
    assert not plan.create
    assert plan.waits_for_podgroup
    assert plan.status is not None
    assert plan.status.state.phase == Phase.PENDING


def test_an_admitted_job_gets_its_pods() -> None:
    plan = machine.step(job("Pending"), Members(), group("Inqueue"), SYNC, NOW)

    assert [replica.name for replica in plan.create] == ["j-w-0", "j-w-1"]
    assert plan.status is not None
    assert plan.status.pending == 2


def test_a_kill_counts_the_pods_it_spares() -> None:
    members = Members([pod(0, "Succeeded"), pod(1)])

    plan = machine.step(job(), members, group(), Event(action=Action.COMPLETE_JOB), NOW)

    assert [member.name for member in plan.evict] == ["j-w-1"]
    assert plan.status is not None
    assert (plan.status.succeeded, plan.status.terminating) == (1, 1)
    assert plan.podgroup_delete == "j-u"
    assert plan.intent is not None


def test_a_kill_takes_objects_of_plugins_away_that_the_status_does_not_name_yet() -> None:
    """The write that was to name them was lost, or waits for a calmer moment."""
    starting = job("Pending", plugins={"svc": []})

    plan = machine.step(starting, Members(), group(), Event(action=Action.ABORT_JOB), NOW)

    assert {reference.kind for reference in plan.detach} == {"ConfigMap", "Service", "NetworkPolicy"}
    assert plan.intent is not None
    assert plan.status is not None
    assert plan.intent.controlled_resources == {"plugin-svc": "svc"}
    assert plan.status.controlled_resources == {}


def test_what_a_kill_took_away_comes_back_with_the_pods_and_not_before() -> None:
    restarting = job("Restarting", plugins={"svc": []})

    assert not machine.step(restarting, Members(), None, SYNC, NOW).attach
    restarting.status.controlled_resources["plugin-svc"] = "svc"  # only some pods are restarted
    assert machine.step(restarting, Members(), None, SYNC, NOW).attach
    assert machine.step(job("Pending", plugins={"svc": []}), Members(), None, SYNC, NOW).attach


def test_a_task_whose_dependency_has_failed_says_that_it_will_not_start() -> None:
    template = {"spec": {}}
    after = DependsOn(name=["w"])
    tasks = [
        TaskSpec(name="w", replicas=2, min_available=2, template=template),
        TaskSpec(name="x", replicas=1, template=template, depends_on=after),
    ]
    waiting = job("Running", tasks=tasks)

    assert not machine.step(waiting, Members([pod(0), pod(1)]), group(), SYNC, NOW).notes
    [note] = machine.step(waiting, Members([pod(0), pod(1, "Failed")]), group(), SYNC, NOW).notes

    assert note.reason == "DependencyFailed"
    assert note.message.startswith("task 'x' will not start: it depends on task 'w', where 1 of 2 pods failed")


def test_a_targeted_restart_keeps_version_podgroup_and_the_other_pods() -> None:
    rules = [LifecyclePolicy(event="PodFailed", action="RestartPod")]
    members = Members([pod(0, "Failed"), pod(1)])

    plan = machine.step(job(policies=rules), members, group(), failed(), NOW)

    assert [member.name for member in plan.evict] == ["j-w-0"]
    assert plan.status is not None
    assert (plan.status.state.phase, plan.status.version, plan.status.running) == ("Restarting", 0, 1)
    assert plan.podgroup_delete == ""
    assert plan.mark_evicted


def test_new_counts_are_no_transition() -> None:
    current = job()
    current.status.state.last_transition_time = EARLIER

    plan = machine.step(current, Members([pod(0), pod(1)]), group(), SYNC, NOW)

    assert plan.status is not None
    assert plan.status.running == 2
    assert plan.status.state.last_transition_time == EARLIER


def test_the_running_duration_starts_when_the_job_runs() -> None:
    current = job("Pending")
    started = machine.step(current, Members([pod(0), pod(1)]), group(), SYNC, NOW).status
    assert started is not None
    current = msgspec.structs.replace(current, status=started)
    later = NOW + datetime.timedelta(seconds=90)

    ended = machine.step(current, Members([pod(0, "Succeeded"), pod(1, "Succeeded")]), group(), SYNC, later).status

    assert ended is not None
    assert (ended.state.phase, ended.running_duration) == ("Completed", "1m30s")


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated", "Aborted"])
def test_a_job_that_is_over_is_left_in_peace(phase: str) -> None:
    over = job(phase, version=4)
    over.status.state.last_transition_time = NOW
    over.status.succeeded, over.status.running_duration = 1, "10m0s"
    members = Members([pod(0, "Succeeded")])
    over.status = machine.step(over, members, None, SYNC, NOW).status or over.status

    assert machine.step(over, members, None, SYNC, NOW + datetime.timedelta(hours=1)).is_empty
    assert over.status.version == 4


def test_a_job_being_deleted_is_not_touched() -> None:
    going = job()
    going.metadata.deletion_timestamp = NOW

    assert machine.step(going, Members(), None, SYNC, NOW).is_empty


def test_stale_news_changes_nothing() -> None:
    rules = [LifecyclePolicy(event="*", action="RestartJob")]
    restarted = job(policies=rules, version=1)

    assert policies.resolve(restarted, failed(version=0)).action == Action.SYNC_JOB
    assert policies.resolve(restarted, failed(version=1, job_uid="another")).action == Action.SYNC_JOB
    assert policies.resolve(restarted, failed(version=1)).action == Action.RESTART_JOB


def test_an_unknown_podgroup_is_answered_after_a_restart_too() -> None:
    rules = [LifecyclePolicy(event="Unknown", action="AbortJob")]
    event = podgroup_changed("Running", "Unknown")

    assert event is not None
    assert policies.resolve(job(policies=rules, version=3), event).action == Action.ABORT_JOB


def test_a_timeout_puts_the_action_off_and_says_so() -> None:
    rules = [LifecyclePolicy(event="PodFailed", action="RestartJob", timeout="1m30s")]

    plan = machine.step(job(policies=rules), Members([pod(0, "Failed")]), group(), failed(), NOW)

    assert plan.delayed is not None
    assert plan.delayed.delay == datetime.timedelta(seconds=90)
    assert plan.notes[0].message == "Execute action RestartJob after 1m30s"
    assert plan.evict == ()


def test_a_podgroup_that_does_not_say_its_version_stays_with_pods_of_the_present_one() -> None:
    """The Go Volcano marks no group; its restarting job may have got the next one already."""
    restarting = job("Restarting", version=1, retries=1)
    mixed = Members([pod(0, terminating=True), pod(1, version=1)])

    assert machine.step(restarting, mixed, group(), SYNC, NOW).podgroup_delete == ""
    assert machine.step(restarting, Members([pod(0)]), group(), SYNC, NOW).podgroup_delete == "j-u"


def test_a_job_that_the_go_volcano_has_aborted_is_left_as_it_is() -> None:
    """Its running duration counts from another moment than ours: it was said, and stays."""
    aborted = job("Aborted", version=1)
    aborted.status.state.last_transition_time = EARLIER
    aborted.status.running_duration = "4m7.2s"

    assert machine.step(aborted, Members(), None, SYNC, NOW).status is None


def test_an_interrupted_kill_is_continued() -> None:
    """The status says Restarting; the killed controller got to none of the pods and not to the podgroup."""
    members = Members([pod(0), pod(1, "Failed")])

    plan = machine.step(job("Restarting", version=1, retries=1), members, group(), SYNC, NOW)

    assert {member.name for member in plan.evict} == {"j-w-0", "j-w-1"}
    assert plan.podgroup_delete == "j-u"
    assert not plan.create
    renewed = group(**{keys.JOB_VERSION: "1"})
    assert machine.step(job("Restarting", version=1, retries=1), members, renewed, SYNC, NOW).podgroup_delete == ""


@pytest.mark.parametrize("order", [SYNC, Event(action=Action.RESTART_JOB)], ids=["sync", "kill"])
def test_a_job_that_used_up_its_retries_says_so_once(order: Event) -> None:
    restarting = job("Restarting", retries=3)

    plan = machine.act(restarting, Members([pod(0)]), group(), order, NOW)

    assert plan.status is not None
    state = plan.status.state
    assert (state.phase, state.reason) == (Phase.FAILED, "RetriesUsedUp")
    assert state.message == "retries are used up (3 of 3)"
    assert [(note.type, note.message) for note in plan.notes] == [("Warning", f"The job has failed: {state.message}")]
    restarting.status = plan.status
    after = machine.act(restarting, Members([pod(0, "Succeeded")]), group(), order, NOW)
    assert not after.notes
    assert after.status is None or after.status.state == state


def test_scaling_down_takes_the_highest_indices() -> None:
    members = Members([pod(0), pod(1), pod(2)])

    plan = machine.step(job(replicas=1), members, group(), SYNC, NOW)

    assert [member.name for member in plan.evict] == ["j-w-1", "j-w-2"]


def test_pods_beyond_the_replicas_do_not_send_a_job_to_and_fro() -> None:
    """They cannot go while the podgroup waits to be admitted; each look changed the phase."""
    surplus = Members([pod(0), pod(1, "Pending"), pod(2, "Pending")])
    for phase in ("Pending", "Running"):
        plan = machine.step(job(phase, replicas=1, min_available=0), surplus, group("Pending"), SYNC, NOW)
        assert plan.status is not None
        assert plan.status.state.phase == Phase.RUNNING


def test_edits_of_the_job_reach_its_podgroup() -> None:
    edited = job()
    edited.metadata.labels["team"] = "a"
    present = group()
    present.spec.min_member, present.spec.queue = 1, "old"

    plan = machine.step(edited, Members([pod(0), pod(1)]), present, SYNC, NOW)

    assert plan.podgroup_patch is not None
    name, patch = plan.podgroup_patch
    assert (name, patch["spec"]["minMember"], patch["spec"]["queue"]) == ("j-u", 2, "q")
    assert patch["metadata"] == {"labels": {"team": "a"}}


def test_a_missing_queue_is_named() -> None:
    with pytest.raises(QueueMissing, match="queue 'q' of job n/j does not exist"):
        machine.step(job(), Members(), None, SYNC, NOW, Facts(queue_exists=False))


def test_a_closed_queue_takes_no_new_podgroup_and_leaves_those_it_has() -> None:
    closed = Facts(queue_closed="Closing")

    with pytest.raises(QueueClosed, match="queue 'q' of job n/j is Closing"):
        machine.step(job(), Members(), None, SYNC, NOW, closed)
    assert machine.step(job(), Members(), group(), SYNC, NOW, closed).create


def test_partitions_restart_on_their_own() -> None:
    rules = [LifecyclePolicy(event="PodFailed", action="RestartPartition")]
    members = Members([pod(index, partition=str(index // 2)) for index in range(4)])
    event = failed(pod="j-w-2", partition="1")

    plan = machine.step(job(replicas=4, policies=rules), members, group(), event, NOW)

    assert {member.name for member in plan.evict} == {"j-w-2", "j-w-3"}
    assert machine.step(job(replicas=4, policies=rules), Members(), group(), event, NOW).is_empty


def test_a_policy_for_any_event_does_not_answer_the_admission_of_the_group() -> None:
    event = podgroup_changed("Pending", "Inqueue")
    assert event is not None
    current = job("Pending", policies=[LifecyclePolicy(event="*", action="TerminateJob")])
    assert policies.resolve(current, event) == policies.JUST_SYNC
    assert policies.resolve(current, failed()).action == Action.TERMINATE_JOB
