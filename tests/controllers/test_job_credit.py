"""Which podgroups are made as let in already: what a queue promises, and who may have of it."""

from __future__ import annotations

import asyncio
import datetime
import json
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.controllers.test_job_mail import show
from volcano.api import keys, resources
from volcano.api.batch import Job, JobSpec, JobStatus, TaskSpec
from volcano.api.core import Namespace
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup, Queue
from volcano.controllers.job import machine
from volcano.controllers.job.after import Hold
from volcano.controllers.job.controller import FIRST_MAIL, JobController
from volcano.controllers.job.credit import REMEMBERED, CreditBalance
from volcano.controllers.job.events import SYNC
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.ledger import Ledger
from volcano.controllers.job.members import Member, Members
from volcano.controllers.job.sync import QueueClosed
from volcano.controllers.runtime import Context, Informers
from volcano.http.metrics import Registry

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
EACH = {"cpu": "2", "count/pods": "2", "pods": "2", "limits.cpu": "4", "requests.cpu": "2"}


def credit(id_: str = "a", **more: Any) -> str:
    """As the scheduler writes it: 20 seconds for 2 podgroups of 2 CPUs."""
    until = f"{NOW + datetime.timedelta(seconds=20):%Y-%m-%dT%H:%M:%SZ}"
    return json.dumps({"id": id_, "schedulerNames": ["volcano"], "groups": 2, "each": EACH, "until": until, **more})


def queue(text: str | None = None, name: str = "q", uid: str = "1", **annotations: str) -> Queue:
    marks = {**annotations, **({keys.ADMISSION_CREDIT: text} if text is not None else {})}
    return Queue(metadata=ObjectMeta(name=name, uid=uid, annotations=marks))


class Held:
    """A balance that is shown one queue after the other, as by a watch."""

    def __init__(self, first: Queue) -> None:
        self.balance = CreditBalance()
        self.present = first
        self.added(first)

    def added(self, found: Queue) -> None:
        assert self.balance.callbacks.on_add is not None
        self.balance.callbacks.on_add(found)
        self.present = found

    def shows(self, text: str | None, **annotations: str) -> None:
        assert self.balance.callbacks.on_update is not None
        later = queue(text, **annotations)
        self.balance.callbacks.on_update(self.present, later)
        self.present = later

    def deleted(self) -> None:
        assert self.balance.callbacks.on_delete is not None
        self.balance.callbacks.on_delete(self.present)

    def spent(self) -> int:
        """How many podgroups may be made now; they are."""
        count = 0
        while count < 100 and self.balance.covers("q", "volcano", EACH, NOW):
            self.balance.spend("q")
            count += 1
        return count


# What a queue's credits are worth


def test_a_credit_is_worth_as_many_podgroups_as_it_says() -> None:
    held = Held(queue())
    assert held.spent() == 0

    held.shows(credit())
    assert held.spent() == 2
    assert not held.balance.offers("q")


def test_a_credit_that_was_there_before_us_may_be_spent_already() -> None:
    held = Held(queue(credit("a")))
    assert held.spent() == 0
    held.shows(credit("b"))
    assert held.spent() == 2
    held.shows(credit("a"))  # of another scheduler, which says it again
    assert held.spent() == 0


def test_other_changes_of_a_queue_neither_spend_nor_refill() -> None:
    held = Held(queue())
    held.shows(credit())
    held.balance.spend("q")
    held.shows(credit(), mine="too")
    assert held.spent() == 1
    held.shows(credit())
    assert held.spent() == 0


def test_a_new_credit_takes_the_place_of_what_is_left() -> None:
    held = Held(queue())
    held.shows(credit("a"))
    held.shows(credit("b", groups=3))
    assert held.spent() == 3
    held.shows(credit("c", groups=0))
    assert held.spent() == 0


def test_two_schedulers_that_write_over_each_other_get_no_more_than_they_gave() -> None:
    held, total = Held(queue()), 0
    for _ in range(5):
        for id_ in ("a", "b"):
            held.shows(credit(id_))
            if held.balance.offers("q"):
                held.balance.spend("q")
                total += 1
    assert total == 4


@pytest.mark.parametrize(
    "gone", [None, "", "{}", "soon", credit(each={"cpu": "much"}), credit(until="2026-01-01T00:00:20")]
)
def test_what_was_taken_back_or_cannot_be_read_is_worth_nothing(gone: str | None) -> None:
    held = Held(queue())
    held.shows(credit())
    held.balance.spend("q")
    held.shows(gone)
    assert held.spent() == 0

    held.shows(credit())
    assert held.spent() == 1


def test_a_queue_that_is_made_anew_begins_with_nothing() -> None:
    held = Held(queue())
    held.shows(credit())
    held.deleted()
    assert held.spent() == 0
    held.added(queue(credit(), uid="2"))
    assert held.spent() == 0
    held.shows(credit("b"))
    assert held.spent() == 2


def test_only_a_queues_last_credits_are_remembered() -> None:
    held = Held(queue())
    for number in range(3 * REMEMBERED):
        held.shows(credit(str(number)))
        assert held.spent() == 2
    held.shows(credit(str(3 * REMEMBERED - 2)))
    assert held.spent() == 0
    assert len(held.balance._left["q"]) == REMEMBERED


def test_a_credit_that_came_while_another_process_led_may_be_spent_already() -> None:
    desk = Desk()
    desk.shows(credit("a"))
    asyncio.run(desk.controller.reconcile(FIRST_MAIL))
    assert not desk.has_credit(job())

    desk.shows(credit("b"))
    asyncio.run(desk.controller.reconcile(FIRST_MAIL))
    assert desk.has_credit(job())


def test_many_jobs_at_once_spend_no_more_than_there_is() -> None:
    desk = Desk()
    desk.shows(credit(groups=7))
    let_in = 0
    for number in range(20):
        if desk.has_credit(job(name=f"j{number}")):
            desk.controller._balance.spend("q")
            let_in += 1
    assert let_in == 7


# Who may have of it


def job(name: str = "j", *, cpus: int = 1, replicas: int = 2, resource: str = "cpu", **spec: Any) -> Job:
    container = {"name": "c", "image": "i", "resources": {"requests": {resource: cpus}, "limits": {resource: 2 * cpus}}}
    task = TaskSpec(name="w", replicas=replicas, template={"spec": {"containers": [container]}})
    wanted = {"queue": "q", "scheduler_name": "volcano", "min_available": replicas, "tasks": [task], **spec}
    return Job(metadata=ObjectMeta(name=name, namespace="n", uid=f"u-{name}"), spec=JobSpec(**wanted))


class Desk:
    """A job controller that is told by hand of queues and namespaces."""

    def __init__(self) -> None:
        self.now, self.version = NOW, 0
        self.informers = Informers(cast("Any", None))
        context = Context(cast("Any", None), self.informers, cast("Any", None), Registry(), now=lambda: self.now)
        self.controller = JobController(context, workers=1)
        self.ledger = Ledger()
        self.informers.attach()
        for name in ("q", keys.DEFAULT_QUEUE):
            self.told(resources.QUEUES, queue(name=name))

    def told(self, kind: Any, obj: Any) -> None:
        self.version += 1
        obj.metadata.resource_version = str(self.version)
        show(self.informers.of(kind), obj)

    def shows(self, text: str | None, name: str = "q") -> None:
        self.told(resources.QUEUES, queue(text, name))

    def has_credit(self, wanted: Job) -> bool:
        return self.controller._has_credit(wanted, self.ledger)


@pytest.mark.parametrize(
    ("wanted", "may"),
    [
        (job(), True),
        (job(replicas=1), True),
        (job(replicas=9, min_available=2), True),
        (job(cpus=2), False),
        (job(replicas=3), False),
        (job(resource="nvidia.com/gpu"), False),
        (job(queue="another"), False),
        (job(queue=keys.DEFAULT_QUEUE), False),
        (job(queue=""), False),
        (job(scheduler_name="default-scheduler"), False),
        (job(scheduler_name=""), False),
        (replace(job(), status=JobStatus(version=1)), False),
    ],
    ids=[
        "as the largest",
        "smaller",
        "needs no more to start",
        "wants more",
        "of more pods",
        "of something else",
        "in a queue that is not there",
        "in a queue without credit",
        "in no queue",
        "of another scheduler",
        "of no scheduler",
        "started again",
    ],
)
def test_a_credit_is_for_first_starts_of_small_jobs_of_its_queue_and_its_scheduler(wanted: Job, may: bool) -> None:
    desk = Desk()
    assert not desk.has_credit(wanted)
    desk.shows(credit())
    assert desk.has_credit(wanted) is may


def test_a_credit_ends() -> None:
    desk = Desk()
    desk.shows(credit())
    desk.now += datetime.timedelta(seconds=19)
    assert desk.has_credit(job())
    desk.now += datetime.timedelta(seconds=1)
    assert not desk.has_credit(job())


def test_a_podgroup_that_was_made_and_is_not_seen_yet_is_not_made_on_credit_too() -> None:
    desk = Desk()
    desk.shows(credit())
    desk.ledger.ensured["j-u-j"] = 1.0
    assert not desk.has_credit(job())


def test_a_job_has_credit_once() -> None:
    """What is refused, again and again, must not use up what others wait for."""
    desk = Desk()
    desk.shows(credit())
    desk.ledger.had_credit = True
    assert not desk.has_credit(job())


def test_a_job_whose_pods_are_there_has_begun() -> None:
    """Somebody has taken its podgroup away, or we hear of the pods first."""
    desk = Desk()
    desk.shows(credit())
    desk.controller.mailroom.pods.put(Member(name="j-w-0", task="w", uid="p", job_uid="u-j"))
    assert not desk.has_credit(job())


@pytest.mark.parametrize(("name", "may"), [("q", True), (keys.DEFAULT_QUEUE, False)])
def test_who_wishes_no_queue_has_no_credit_where_the_namespace_has_a_queue_of_its_own(name: str, may: bool) -> None:
    desk = Desk()
    desk.shows(credit(), name)
    assert desk.has_credit(job(queue=name))
    home = ObjectMeta(name="n", annotations={keys.POD_QUEUE_NAME: "home"})
    desk.told(resources.NAMESPACES, Namespace(metadata=home))
    assert desk.has_credit(job(queue=name)) is may


# What is made of it


def test_pods_follow_in_the_step_that_makes_the_podgroup() -> None:
    plan = machine.step(job(), Members(), None, SYNC, NOW, Facts(has_credit=True))
    assert plan.is_on_credit
    assert plan.podgroup_create is not None
    assert plan.podgroup_create["status"] == {"phase": "Inqueue"}
    assert [replica.name for replica in plan.create] == ["j-w-0", "j-w-1"]


def test_without_credit_a_podgroup_says_nothing_of_its_phase_and_pods_wait() -> None:
    plan = machine.step(job(), Members(), None, SYNC, NOW, Facts())
    assert plan.podgroup_create is not None
    assert "status" not in plan.podgroup_create
    assert (plan.is_on_credit, plan.create) == (False, [])


def test_nothing_is_spent_on_a_job_that_waits_for_another_one() -> None:
    hold = Hold("WaitsForJobs", "for a", ("a",))
    plan = machine.step(job(), Members(), None, SYNC, NOW, Facts(has_credit=True, hold=hold))
    assert (plan.is_on_credit, plan.podgroup_create) == (False, None)


def test_nothing_is_spent_on_a_podgroup_that_is_there() -> None:
    group = PodGroup(metadata=ObjectMeta(name="j-u-j", namespace="n"))
    plan = machine.step(job(), Members(), group, SYNC, NOW, Facts(has_credit=True))
    assert (plan.is_on_credit, plan.podgroup_create, plan.create) == (False, None, [])


def test_a_queue_that_was_closed_lets_nobody_in() -> None:
    with pytest.raises(QueueClosed):
        machine.step(job(), Members(), None, SYNC, NOW, Facts(has_credit=True, queue_closed="Closing"))
