"""Parts of the job controller on their own: moulds, volumes, delays, plugin arguments, quota sums."""

from __future__ import annotations

import datetime
import time

import pytest

from volcano.api.batch import Job, JobSpec, TaskSpec, VolumeSpec
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup, PodGroupStatus
from volcano.controllers import quota
from volcano.controllers.job import machine, podgroup, pods, volumes
from volcano.controllers.job.delays import Delays
from volcano.controllers.job.events import SYNC, Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.ledger import Pods
from volcano.controllers.job.members import Member, Members
from volcano.controllers.job.plan import Delayed
from volcano.controllers.job.plugins import Plugins, UnknownPlugin, builtin_factories, builtin_plugins
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import hosts
from volcano.controllers.job.plugins.interface import JobPlugin, PluginError
from volcano.controllers.job.pods import Draft
from volcano.controllers.job.sync import MOST_AT_ONCE
from volcano.controllers.job.vocabulary import Action, EventKind


def job(replicas: int = 3, name: str = "j", **spec: object) -> Job:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    tasks = [TaskSpec(name="w", replicas=replicas, template=template)]
    return Job(
        metadata=ObjectMeta(name=name, namespace="n", uid="u"),
        spec=JobSpec(tasks=tasks, queue="q", **spec),  # type: ignore[arg-type]
    )


# What is known of pods


def member(uid: str = "u1", **more: object) -> Member:
    return Member(name="j-w-0", task="w", uid=uid, job_uid="u", **more)  # type: ignore[arg-type]


def test_the_answer_to_a_creation_is_older_news_than_the_watch() -> None:
    known = Pods()
    known.put(member(phase="Running"))
    known.created(member(phase="Pending"), 0.0)
    assert known.of("u").count("w", "Running") == 1


def test_a_pod_that_ended_before_the_answer_to_its_creation_is_not_there() -> None:
    known = Pods()
    known.ended(member())
    known.created(member(), 0.0)
    assert not len(known.of("u"))


def test_a_new_pod_takes_the_place_of_its_namesake() -> None:
    known = Pods()
    known.put(member("old"))
    known.created(member("new"), 0.0)
    assert known.ended(member("old")) is None
    assert [pod.uid for pod in known.of("u")] == ["new"]


def test_a_pod_that_the_watch_does_not_show_in_time_is_looked_for() -> None:
    known = Pods()
    assert known.unseen("u", before=100.0) is None
    known.created(member(), 50.0)
    assert known.unseen("u", before=40.0) == []
    assert known.unseen("u", before=100.0) == [member()]
    known.put(member(phase="Running"))
    assert known.unseen("u", before=100.0) is None


def test_pods_that_the_watch_has_not_shown_go_with_their_job() -> None:
    known = Pods()
    known.created(member(), 0.0)
    known.abandon("u")
    assert not known._by_job
    known.put(member())
    known.abandon("u")
    assert len(known.of("u")) == 1, "it is still there"


def test_nothing_is_kept_of_a_job_without_pods() -> None:
    known = Pods()
    known.ended(member("never seen"))
    known.put(member())
    known.ended(member())
    assert not known._by_job


# Pods


def test_pods_found_as_wanted_are_not_looked_at_again_until_one_comes_or_is_to_go() -> None:
    members = Members()
    asked: list[str] = []

    def wanted(one: Member) -> bool:
        asked.append(one.name)
        return not one.out_of_sync

    def look(version: str = "three replicas") -> tuple[bool, int]:
        asked.clear()
        return members.are_all("w", wanted, version), len(asked)

    assert look() == (True, 0)
    members.put(member())
    members.put(Member(name="j-w-1", task="w", uid="u2", job_uid="u"))
    assert look() == (True, 2)
    members.put(member(phase="Running"))
    assert look() == (True, 0)
    assert look("two replicas") == (True, 2)
    members.drop("w", "j-w-1")
    assert look("two replicas") == (True, 0)
    members.put(member(out_of_sync=True))
    assert look("two replicas") == (False, 1)
    members.put(member())
    assert look("two replicas") == (True, 1)


def test_ten_thousand_pods_are_cheap() -> None:
    made = job(10_000, plugins={"env": [], "svc": [], "ssh": []})
    mould = pods.mould(made, made.spec.tasks[0], builtin_plugins())

    started = time.process_time()
    bodies = [mould.body(index) for index in range(10_000)]

    assert time.process_time() - started < 1.0
    assert b'"j-w-9999"' in bodies[-1]


def test_a_template_is_never_changed_by_the_pods_made_of_it() -> None:
    made = job(plugins={"env": [], "svc": [], "pytorch": ["--master=w"]})
    before = repr(made.spec.tasks[0].template)

    pods.mould(made, made.spec.tasks[0], builtin_plugins()).document(1)

    assert repr(made.spec.tasks[0].template) == before


def test_a_template_may_contain_the_characters_that_mark_gaps() -> None:
    made = job()
    strange = '\ue0000\ue000 and "quotes"'
    made.spec.tasks[0].template["spec"]["containers"][0]["image"] = strange

    document = pods.mould(made, made.spec.tasks[0], builtin_plugins()).document(2)

    assert document["spec"]["containers"][0]["image"] == strange
    assert document["metadata"]["name"] == "j-w-2"


def test_ranks_are_counted_across_plugins() -> None:
    """hcclrank reads what pytorch writes, whatever the order in which a user names them."""
    made = job(plugins={"hcclrank": [], "pytorch": ["--master=m", "--worker=w"]})
    made.spec.tasks.insert(0, TaskSpec(name="m", replicas=1, template=made.spec.tasks[0].template))

    document = pods.mould(made, made.spec.tasks[1], builtin_plugins()).document(2)

    assert document["metadata"]["annotations"]["hccl/rankIndex"] == "3"


def test_a_long_queue_name_fits_into_its_label() -> None:
    made = job()
    made.spec.queue = "q" * 100

    document = pods.base(made, made.spec.tasks[0]).finish().document(0)

    assert len(document["metadata"]["labels"]["volcano.sh/queue-name"]) <= 63
    assert document["metadata"]["annotations"]["volcano.sh/queue-name"] == made.spec.queue


def test_plugins_of_others_are_asked_by_index() -> None:
    class Greeting(JobPlugin):
        name = "greeting"

        def shape(self, draft: Draft) -> None:
            value = draft.by_index(lambda index: f'"hello" {index * index}')
            draft.add_env(draft.containers, {"name": "GREETING", "value": value})

    made = job(plugins={"greeting": []})
    plugins = Plugins({**builtin_factories(), "greeting": Greeting})

    document = pods.mould(made, made.spec.tasks[0], plugins).document(3)

    assert document["spec"]["containers"][0]["env"] == [{"name": "GREETING", "value": '"hello" 9'}]


def test_an_unknown_plugin_is_named() -> None:
    with pytest.raises(UnknownPlugin, match="failed to get plugin magic"):
        builtin_plugins().of(job(plugins={"magic": []}))


# Volumes


def test_claim_names_are_the_same_after_a_restart_and_fit() -> None:
    made = job(name="j" * 80, volumes=[VolumeSpec(mount_path="/a", volume_claim={"accessModes": []})])

    names, claims = volumes.claims_of(made)

    assert volumes.claims_of(made)[0] == names
    assert claims[0].name == names[0]
    assert len(names[0]) <= 63
    made.spec.volumes[0].volume_claim_name = names[0]
    assert volumes.claims_of(made)[1][0].manifest is not None, "written back, but perhaps not created yet"


def test_a_claim_named_twice_is_mounted_once() -> None:
    both = [VolumeSpec(mount_path="/a", volume_claim_name="x"), VolumeSpec(mount_path="/b", volume_claim_name="x")]
    assert len(list(volumes.mounts_of(job(volumes=both)))) == 1


# PodGroups


@pytest.mark.parametrize(
    ("queue", "home", "patched"),
    [("default", "q", None), ("default", "", "default"), ("q", "", None), ("other", "q", "other")],
)
def test_a_group_follows_its_job_to_another_queue_but_not_out_of_its_namespaces(
    queue: str, home: str, patched: str | None
) -> None:
    made = job()
    made.spec.queue = queue
    group = PodGroup(spec=podgroup.wanted(made, {}))
    group.spec.queue = "q"

    assert podgroup.changes(made, group, {}, home).get("spec", {}).get("queue") == patched


# Delays


def delayed(action: Action, kind: EventKind, pod: str = "p", seconds: int = 10) -> Delayed:
    event = Event(kind, task="w", pod=pod, pod_uid=f"{pod}-uid")
    return Delayed(action, datetime.timedelta(seconds=seconds), event)


def test_a_job_of_two_billion_pods_is_started_bit_by_bit() -> None:
    made = job(2**31 - 1, min_available=1)
    group = PodGroup(status=PodGroupStatus(phase="Inqueue"))
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    plan = machine.act(made, Members(), group, SYNC, now, Facts())

    assert len(plan.create) == MOST_AT_ONCE
    assert plan.unfinished


def test_names_of_two_billion_pods_do_not_fit_into_an_object() -> None:
    made = job(2**31 - 1)

    with pytest.raises(PluginError, match="at most 50000 names"):
        hosts(made, made.spec.tasks[0])


def test_a_pod_that_gets_on_cancels_what_waited_for_it() -> None:
    delays = Delays()
    delays.arm(delayed(Action.RESTART_JOB, EventKind.POD_PENDING), now=0)
    delays.saw(Event(EventKind.POD_RUNNING, pod="p", pod_uid="another"))
    assert len(delays) == 1
    delays.saw(Event(EventKind.POD_RUNNING, pod="p", pod_uid="p-uid"))
    assert len(delays) == 0

    delays.arm(delayed(Action.RESTART_POD, EventKind.POD_FAILED), now=0)
    delays.saw(Event(EventKind.POD_RUNNING, pod="p", pod_uid="new"))
    assert len(delays) == 0


def test_the_same_action_keeps_its_time_and_another_takes_its_place() -> None:
    delays = Delays()
    assert delays.arm(delayed(Action.RESTART_POD, EventKind.POD_FAILED), now=0)
    assert not delays.arm(delayed(Action.RESTART_POD, EventKind.POD_FAILED), now=5)
    assert delays.next_due() == 10
    assert delays.arm(delayed(Action.ABORT_JOB, EventKind.POD_FAILED), now=5)
    assert [item.action for item in delays.take_due(15)] == [Action.ABORT_JOB]
    assert list(delays.take_due(100)) == []


def test_an_action_leaves_others_of_its_level_nothing_to_do() -> None:
    delays = Delays()
    delays.arm(delayed(Action.RESTART_POD, EventKind.POD_FAILED, "a"), now=0)
    delays.arm(delayed(Action.RESTART_POD, EventKind.POD_FAILED, "b"), now=0)
    delays.arm(delayed(Action.ABORT_JOB, EventKind.POD_FAILED, "c"), now=0)
    delays.acted(Action.SYNC_JOB, Event(pod="a"))
    assert len(delays) == 3
    delays.acted(Action.RESTART_POD, Event(pod="a"))
    assert len(delays) == 2
    delays.acted(Action.RESUME_JOB, Event())
    assert len(delays) == 2
    delays.acted(Action.RESTART_JOB, Event())
    assert [item.event.pod for item in delays.take_due(10)] == ["b"]


# Plugin arguments and sums


def test_plugin_arguments_are_read_as_go_reads_flags() -> None:
    flags = Flags(["--a=1", "-b", "two", "--on", "--off=false", "--bad=x", "rest", "--late=1"], booleans=("on",))

    assert (flags.get("a", 0), flags.get("b", ""), flags.get("on", False)) == (1, "two", True)
    assert (flags.get("off", True), flags.get("bad", 7), flags.get("late", 0)) == (False, 7, 0)


def test_a_pod_needs_its_containers_together_or_its_largest_init_step() -> None:
    def container(cpu: str, **more: str) -> dict[str, object]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "initContainers": [container("1"), container("200m", restartPolicy="Always"), container("2")],
        "containers": [container("500m"), container("250m")],
    }

    assert quota.written(quota.pod_usage(spec))["requests.cpu"] == "2200m"
