"""Deployments: replica sets by template, rolling and recreating, revisions, status."""

from __future__ import annotations

from typing import Any

import pytest

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.builtin import progress, rollout


def template(image: str) -> JsonObject:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def deployment(image: str, replicas: int = 4, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": "web", "namespace": "default", "uid": "d1", "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image),
            **spec,
        },
    }


def replica_set(image: str, size: int, *, available: int | None = None, revision: int = 1) -> JsonObject:
    made = rollout.plan(deployment(image), []).create
    assert made is not None
    made["spec"]["replicas"] = size
    made["metadata"]["annotations"][keys.DEPLOYMENT_REVISION] = str(revision)
    ready = size if available is None else available
    made["status"] = {"replicas": size, "readyReplicas": ready, "availableReplicas": ready}
    return made


def test_a_new_template_gets_a_replica_set_named_after_it() -> None:
    plan = rollout.plan(deployment("a"), [])

    assert plan.create is not None
    mark = plan.create["metadata"]["labels"][keys.POD_TEMPLATE_HASH]
    assert plan.create["metadata"]["name"] == f"web-{mark}"
    assert plan.create["spec"]["replicas"] == 4
    assert plan.create["spec"]["selector"]["matchLabels"] == {"app": "web", keys.POD_TEMPLATE_HASH: mark}
    assert plan.create["spec"]["template"]["metadata"]["labels"][keys.POD_TEMPLATE_HASH] == mark
    assert plan.revision == "1"


def test_scaling_changes_the_present_replica_set() -> None:
    present = replica_set("a", 4)

    assert rollout.plan(deployment("a", replicas=7), [present]).sizes == {present["metadata"]["name"]: 7}
    assert rollout.plan(deployment("a", replicas=1), [present]).sizes == {present["metadata"]["name"]: 1}


def test_a_rolling_update_keeps_between_the_limits_and_arrives() -> None:
    wanted = deployment("b", strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    old, new = replica_set("a", 4), None
    for _ in range(20):
        existing = [item for item in (old, new) if item is not None]
        plan = rollout.plan(wanted, existing)
        if plan.create is not None:
            new = plan.create
        for item in existing:
            item["spec"]["replicas"] = plan.sizes.get(item["metadata"]["name"], item["spec"]["replicas"])
        total = sum(item["spec"]["replicas"] for item in (old, new) if item is not None)
        assert total <= 5
        for item in (old, new):  # the replica sets follow and their pods become available
            if item is not None:
                size = item["spec"]["replicas"]
                item["status"] = {"replicas": size, "readyReplicas": size, "availableReplicas": size}
        assert sum(item["status"]["availableReplicas"] for item in (old, new) if item is not None) >= 3

    assert new is not None
    assert (old["spec"]["replicas"], new["spec"]["replicas"]) == (0, 4)


def test_old_pods_that_never_became_available_go_first() -> None:
    plan = rollout.plan(
        deployment("b"), [replica_set("a", 4, available=2), replica_set("b", 1, available=0, revision=2)]
    )

    assert plan.sizes[replica_set("a", 4)["metadata"]["name"]] <= 3


def test_recreate_ends_the_old_before_it_starts_the_new() -> None:
    wanted = deployment("b", strategy={"type": "Recreate"})
    old = replica_set("a", 4)
    plan = rollout.plan(wanted, [old])

    assert plan.create is not None
    assert plan.create["spec"]["replicas"] == 0
    assert plan.sizes == {old["metadata"]["name"]: 0}
    gone, new = replica_set("a", 0), replica_set("b", 0, revision=2)
    assert rollout.plan(wanted, [gone, new]).sizes == {new["metadata"]["name"]: 4}


def test_going_back_to_an_old_template_reuses_its_replica_set_with_a_new_revision() -> None:
    first, second = replica_set("a", 0, revision=1), replica_set("b", 4, revision=2)
    plan = rollout.plan(deployment("a"), [first, second])

    assert plan.create is None
    assert plan.revisions == {first["metadata"]["name"]: "3"}


def test_a_paused_deployment_changes_no_template_but_scales() -> None:
    assert rollout.plan(deployment("b", paused=True), [replica_set("a", 4)]).create is None


def test_retired_replica_sets_beyond_the_history_are_deleted() -> None:
    retired = [replica_set(f"v{n}", 0, revision=n) for n in range(1, 5)]
    plan = rollout.plan(deployment("now", revisionHistoryLimit=2), [*retired, replica_set("now", 4, revision=9)])

    assert plan.delete == [item["metadata"]["name"] for item in retired[:2]]


@pytest.mark.parametrize(
    ("strategy", "replicas", "limits"),
    [
        ({}, 4, (1, 1)),
        ({}, 10, (3, 2)),
        ({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}, 4, (0, 1)),
        ({"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}, 3, (2, 0)),
    ],
)
def test_surge_and_unavailability(strategy: JsonObject, replicas: int, limits: tuple[int, int]) -> None:
    assert rollout.limits(deployment("a", replicas=replicas, strategy=strategy)) == limits


def test_the_status_tells_rollout_status_when_it_is_over() -> None:
    done, _ = progress.status(deployment("a"), [replica_set("a", 4)], 0.0)
    underway, _ = progress.status(deployment("a"), [replica_set("a", 4, available=1)], 0.0)

    assert (done["updatedReplicas"], done["availableReplicas"], done["unavailableReplicas"]) == (4, 4, 0)
    assert [c["reason"] for c in done["conditions"]] == ["MinimumReplicasAvailable", "NewReplicaSetAvailable"]
    assert [c["reason"] for c in underway["conditions"]] == ["MinimumReplicasUnavailable", "ReplicaSetUpdated"]


def test_conditions_keep_their_times_while_nothing_changes() -> None:
    wanted = deployment("a")
    wanted["status"], _ = progress.status(wanted, [replica_set("a", 4)], 0.0)

    assert progress.status(wanted, [replica_set("a", 4)], 99.0) == (wanted["status"], None)


def test_a_rollout_that_stands_still_exceeds_its_deadline_and_one_that_moves_does_not() -> None:
    wanted = deployment("a", progressDeadlineSeconds=60)
    wanted["status"], _ = progress.status(wanted, [replica_set("a", 4, available=1)], 0.0)
    _, again = progress.status(wanted, [replica_set("a", 4, available=1)], 20.0)
    stuck, _ = progress.status(wanted, [replica_set("a", 4, available=1)], 60.0)
    moving, _ = progress.status(wanted, [replica_set("a", 4, available=2)], 60.0)

    assert again == 40.0
    assert stuck["conditions"][1]["reason"] == "ProgressDeadlineExceeded"
    assert moving["conditions"][1]["reason"] == "ReplicaSetUpdated"
    assert moving["conditions"][1]["lastUpdateTime"] == "1970-01-01T00:01:00Z"
