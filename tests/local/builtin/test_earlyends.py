"""Pods that fail as soon as they are made are not replaced as fast as the machine can."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.local.builtin.test_controllers import World, in_world
from tests.waiting import until
from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import DAEMON_SETS, PODS, REPLICA_SETS, STATEFUL_SETS
from volcano.local.builtin import earlyends, ordinals, placing
from volcano.local.builtin.views import ConditionView, LabelledMeta, PodSpecView, PodStatusView, PodView

MADE = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def failed(name: str, *, made: int = 0, ended: int = 1, phase: str = "Failed", going: bool = False) -> PodView:
    """A pod made and ended so many seconds after midnight."""
    meta = LabelledMeta(name=name, namespace="n", uid=name, creation_timestamp=f"2026-01-01T00:00:{made:02}Z")
    meta.deletion_timestamp = "2026-01-01T00:00:59Z" if going else None
    end = ConditionView(type="Ready", status="False", last_transition_time=f"2026-01-01T00:00:{ended:02}Z")
    return PodView(metadata=meta, spec=PodSpecView(node_name="a"), status=PodStatusView(phase=phase, conditions=[end]))


def test_a_pod_has_ended_early_when_it_failed_by_itself_in_its_first_seconds() -> None:
    assert earlyends.ended_early(failed("a"))
    assert not earlyends.ended_early(failed("a", ended=10))
    assert not earlyends.ended_early(failed("a", phase="Succeeded"))
    assert not earlyends.ended_early(failed("a", going=True))
    assert not earlyends.ended_early(PodView(status=PodStatusView(phase="Failed")))


def test_the_wait_doubles_when_all_replicas_have_failed_again() -> None:
    pods = [failed(f"p{number}") for number in range(5)]
    assert earlyends.seconds_to_next([], 2, MADE) == 0.0
    assert earlyends.seconds_to_next(pods[:2], 2, MADE + 3) == 7.0
    assert earlyends.seconds_to_next(pods[:3], 2, MADE + 3) == 17.0
    assert earlyends.seconds_to_next(pods, 2, MADE + 3) == 37.0
    assert earlyends.seconds_to_next(pods, 0, MADE) == 160.0
    assert earlyends.seconds_to_next(pods * 9, 1, MADE) == earlyends.LONGEST_SECONDS
    assert earlyends.seconds_to_next(pods, 2, MADE + 40) == 0.0
    assert earlyends.seconds_to_next(pods, 2, MADE - 1000) == 40.0


def test_sets_leave_such_a_pod_for_a_while_but_not_one_of_an_old_template() -> None:
    assert earlyends.spared([failed("d-0"), failed("late", ended=30)], (), MADE + 4) == {"d-0": 6.0}
    assert earlyends.spared([failed("d-0")], {"d-0"}, MADE + 4) == {}
    assert earlyends.spared([failed("d-0")], (), MADE + 10) == {}

    owner: JsonObject = {"metadata": {"name": "d", "namespace": "n"}, "spec": {"template": {"spec": {}}}}
    nodes: list[JsonObject] = [{"metadata": {"name": "a"}}]
    placed = placing.plan(owner, nodes, [failed("d-0")], (), {"d-0"})
    assert (placed.create, placed.delete) == ([], [])
    numbered = ordinals.plan(owner, [failed("d-0")], (), {"d-0"})
    assert (numbered.create, numbered.delete) == ([], [])


@pytest.mark.parametrize("resource", [REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS], ids=lambda item: item.plural)
def test_a_pod_that_cannot_run_is_not_made_again_and_again(resource: Resource[Any]) -> None:
    async def story(place: World) -> None:
        ends = {keys.SIMULATE_DURATION: "0s", keys.SIMULATE_EXIT_CODE: "1"}
        template = {
            "metadata": {"labels": {"app": "web"}, "annotations": ends},
            "spec": {
                "containers": [{"name": "c", "image": "nginx"}],
                "nodeSelector": {"kubernetes.io/hostname": "sim-000"},
            },
        }
        began = time.monotonic()
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
        await place.create(resource, "web", spec)
        made: set[str] = set()

        async def has_failed() -> bool:
            pods = (await place.client.list(PODS.untyped, "default")).items
            made.update(pod["metadata"]["uid"] for pod in pods)
            return any((pod.get("status") or {}).get("phase") == "Failed" for pod in pods)

        await until(has_failed)
        for _ in range(10):
            await asyncio.sleep(0.05)
            await has_failed()
        assert len(made) <= 1 + (time.monotonic() - began) / 9

    in_world(story)
