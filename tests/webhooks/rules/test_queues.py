"""Queues: their amounts, their place in the hierarchy, and what keeps them from being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhooks.documents import queue, queue_document, request, world
from volcano.webhooks.rules import AdmissionResponse, Settings, World, mutate, validate

SETTINGS = Settings()


def created(seen: World, name: str = "q", settings: Settings = SETTINGS, **spec: Any) -> AdmissionResponse:
    return validate(request(queue_document(name, **spec)), seen, settings)


def deleted(seen: World, name: str, settings: Settings = SETTINGS) -> AdmissionResponse:
    return validate(request(None, "DELETE", name=name), seen, settings)


def test_a_new_queue_is_reclaimable_and_has_a_weight():
    answer = mutate(request(queue_document("q", weight=0)), world(), SETTINGS)

    assert answer.object is not None
    assert answer.object["spec"] == {"weight": 1, "reclaimable": True}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"capability": {"cpu": "-1"}},
            'requestBody.spec.capability.cpu: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"deserved": {"cpu": 3}, "capability": {"cpu": 2}},
            'requestBody.spec.deserved.cpu: Invalid value: "3": deserved[cpu]=3 must be <= capability[cpu]=2',
        ),
        (
            {"parent": "q"},
            "queue q cannot use itself as parent",
        ),
        (
            {"parent": "nobody"},
            'failed to get parent queue nobody of queue q: queue.scheduling.volcano.sh "nobody" not found',
        ),
    ],
)
def test_refusals_at_creation(spec: dict[str, Any], message: str):
    answer = created(world(), **spec)

    assert (answer.allowed, answer.message) == (False, message)
    assert answer.causes[0].field


def test_children_together_stay_within_their_parent():
    seen = world(
        queue("team", guarantee={"cpu": "4"}, deserved={"cpu": "8"}),
        queue("one", parent="team", guarantee={"cpu": "3"}, deserved={"cpu": "3"}),
    )

    answer = created(seen, "two", parent="team", guarantee={"resource": {"cpu": "2"}}, deserved={"cpu": "2"})

    assert answer.message == (
        "parent queue team validation failed: sum of children's guarantee (cpu 5000.00, memory 0.00) "
        "exceeds parent's guarantee limit (cpu 4000.00, memory 0.00)"
    )


def test_a_capability_is_bounded_by_the_nearest_ancestor_that_has_one():
    seen = world(queue("team", capability={"memory": "8Gi"}), queue("group", parent="team"))

    answer = created(seen, "leaf", parent="group", capability={"memory": "9Gi", "cpu": "100"})

    assert answer.message == "queue leaf capability[memory]=9Gi exceeds its ancestor's capability=8Gi"


def test_a_parent_cannot_shrink_below_its_descendants():
    seen = world(queue("team"), queue("group", parent="team"), queue("leaf", parent="group", capability={"cpu": "9"}))
    new, old = (queue_document("team", parent="root", capability={"cpu": cpu}) for cpu in ("8", "10"))

    answer = validate(request(new, "UPDATE", old=old), seen, SETTINGS)

    assert answer.message == "queue team capability[cpu]=8 is smaller than its descendants' max capability=9"


def test_the_tree_is_not_deeper_than_allowed_and_never_a_circle():
    seen = world(queue("a"), queue("b", parent="a"), queue("c", parent="b"))

    assert created(seen, "d", Settings(max_queue_depth=4), parent="c").allowed
    refused = created(seen, "d", Settings(max_queue_depth=3), parent="c")
    assert refused.message == "queue d exceeds the maximum allowed depth of 3"
    circle = queue_document("a", parent="c"), queue_document("a", parent="root")
    assert not validate(request(circle[0], "UPDATE", old=circle[1]), seen, SETTINGS).allowed


def test_a_queue_with_pods_becomes_no_parent():
    answer = created(world(queue("busy", pods=2)), "q", parent="busy")

    assert answer.message == "queue busy cannot be the parent queue of queue q because it has allocated Pods: 2"


def test_the_limits_of_root_are_protected_unless_the_operator_says_otherwise():
    change = request(
        queue_document("root", capability={"cpu": "1"}), "UPDATE", old=queue_document("root", capability={"cpu": "2"})
    )

    assert not validate(change, world(), SETTINGS).allowed
    assert validate(change, world(), Settings(protect_root_queue=False)).allowed


def test_paths_given_by_annotation_do_not_contain_each_other():
    taken = queue("deep")
    taken.metadata.annotations = {"volcano.sh/hierarchy": "root/a/b", "volcano.sh/hierarchy-weights": "1/1/1"}

    def at(path: str) -> AdmissionResponse:
        document = queue_document("q")
        weights = "/".join("1" for _ in path.split("/"))
        document["metadata"]["annotations"] = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
        return validate(request(document), world(taken), SETTINGS)

    assert "is not allowed to be in the sub path of root/a/b of queue deep" in at("root/a").message
    assert at("root/a/bb").allowed
    assert at("root/ab").allowed


@pytest.mark.parametrize("name", ["default", "root"])
def test_the_first_queues_stay(name: str):
    assert deleted(world(), name).message == f"`{name}` queue can not be deleted"


def test_a_queue_with_children_stays_and_so_does_a_busy_one_when_asked_for():
    seen = world(queue("team"), queue("b", parent="team"), queue("a", parent="team"), queue("busy", pods=3))

    assert deleted(seen, "team").message == "queue team can not be deleted because it has 2 child queues: a, b"
    assert deleted(seen, "busy").allowed
    careful = Settings(check_allocated_pods_on_queue_delete=True)
    assert deleted(seen, "busy", careful).message == "queue busy cannot be deleted because it has allocated Pods: 3"
    assert deleted(seen, "gone").message == 'queue.scheduling.volcano.sh "gone" not found'
