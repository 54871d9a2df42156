"""The admission rules against recorded answers: same verdict, same message, same patch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests.corpus.loader import Record, cases, parameters
from tests.corpus.webhook_deviations import deviation_of
from volcano.api.batch import Job, TaskSpec
from volcano.api.scheduling import Queue
from volcano.webhooks.rules import (
    RULES,
    AdmissionRequest,
    Cause,
    ResourceGroup,
    Settings,
    World,
    decide,
    queue_hierarchy,
)
from volcano.webhooks.rules.graphs import topological_order
from volcano.webhooks.rules.job_tasks import numa_findings
from volcano.webhooks.rules.worlds import ListedWorld

ADMISSION = [case for area in ("*-validate", "*-mutate", "*-derived") for case in cases("webhooks", area)]
UNITS = cases("webhooks", "*-unit")


HIERARCHY_CHECKS: dict[str, Callable[[Queue, World, Settings], Iterator[Cause]]] = {
    "validateQueueDepth": queue_hierarchy.place_problems,
    "validateChildAgainstAncestor": lambda queue, world, _: queue_hierarchy.ancestor_problems(queue, world),
    "validateChildrenConstraints": lambda queue, world, _: queue_hierarchy.descendant_problems(queue, world),
}


@pytest.mark.parametrize("record", parameters(ADMISSION))
def test_admission(record: Record, request: pytest.FixtureRequest) -> None:
    if deviation := deviation_of(record):
        request.applymarker(pytest.mark.xfail(reason=deviation.reason))
    rule = next(rule for rule in RULES if rule.path == f"/{record['resource']}/{record['kind']}")

    answer = decide(rule, request_of(record), world_of(record), settings_of(record))

    expected = record["response"]
    assert comparable(answer.message) == comparable(expected["message"])
    assert answer.allowed == expected["allowed"]
    assert shape(list(answer.patch)) == shape(expected["patch"] or [])


@pytest.mark.parametrize("record", parameters(UNITS))
def test_unit(record: Record) -> None:
    arguments, results = record["args"], record["results"]
    match record["function"]:
        case "validateTaskTopoPolicy":
            task = msgspec.convert(arguments["task"], TaskSpec)
            found = [finding.text for finding in numa_findings(task, arguments["index"])]
            assert "".join(found[:1]) == results["r0"]
        case "topoSort":
            job = msgspec.convert(arguments["job"], Job)
            order = topological_order(
                {task.name: task.depends_on.name if task.depends_on else [] for task in job.spec.tasks}
            )
            assert (order is not None) == results["r1"]
            assert order is None or order == results["r0"]
        case "IsDAG":
            assert (topological_order(arguments["graph"]) is not None) == results["r0"]
        case "LoadVertexs":
            edges = arguments["data"]
            assert results["r1"] is None
            assert {name: set(targets) for name, targets in edges.items()} == {
                name: set(targets) for name, targets in results["r0"].items()
            }
        case function:
            pytest.fail(f"no test calls {function}")


def hierarchy_cases() -> list[tuple[str, Record]]:
    """Calls of the helpers; without those whose recorded inputs are equal and whose answers are not."""
    found = [case for case in ADMISSION if (case[1].get("inner") or {}).get("function") in HIERARCHY_CHECKS]
    answers: dict[bytes, set[bytes]] = {}
    for _, record in found:
        answers.setdefault(inputs_of(record), set()).add(msgspec.json.encode(record["inner"]))
    return [case for case in found if len(answers[inputs_of(case[1])]) == 1]


def inputs_of(record: Record) -> bytes:
    return msgspec.json.encode([record["object"], record["existing"], record["inner"]["function"]])


@pytest.mark.parametrize("record", parameters(hierarchy_cases()))
def test_place_in_the_queue_hierarchy(record: Record) -> None:
    """The check that the recorded helper makes, also where the whole webhook stopped before it."""
    queue = msgspec.convert(record["object"], Queue)
    check = HIERARCHY_CHECKS[record["inner"]["function"]]

    messages = [cause.message for cause in check(queue, world_of(record), settings_of(record))]

    expected = record["inner"]["result"]["r0"]
    assert messages[:1] == ([expected["error"]] if expected else [])


def request_of(record: Record) -> AdmissionRequest:
    given = record.get("request") or {}
    document = record["object"]
    deleted = record["operation"] == "DELETE"
    name = given.get("name") or ((document or record["oldObject"] or {}).get("metadata") or {}).get("name", "")
    return AdmissionRequest(
        operation=record["operation"],
        resource=record["resource"],
        name=name,
        namespace=((document or {}).get("metadata") or {}).get("namespace", ""),
        object=None if deleted else document,
        old_object=record["oldObject"] or (document if deleted else None),
    )


def world_of(record: Record) -> ListedWorld:
    existing = record["existing"]
    queues = [msgspec.convert(queue, Queue) for queue in existing["queues"]]
    listed = existing.get("queuesInParentIndex")
    indexed = None if listed is None else [msgspec.convert(queue, Queue) for queue in listed]
    annotations = {
        namespace["metadata"]["name"]: namespace["metadata"].get("annotations", {})
        for namespace in existing.get("namespaces", [])
    }
    world = ListedWorld(queues, annotations)
    if indexed is not None:
        world.child_queues = ListedWorld(indexed).child_queues  # type: ignore[method-assign]
    return world


def settings_of(record: Record) -> Settings:
    config = record["config"]
    gates = config.get("featureGates") or {}
    groups = config.get("resourceGroups")
    return Settings(
        scheduler_names=tuple(config.get("schedulerNames") or ["volcano"]),
        max_queue_depth=config.get("maxQueueDepth", 5),
        check_allocated_pods_on_queue_delete=config.get("enableQueueAllocatedPodsCheck", False),
        protect_root_queue=config.get("enableRootQueueProtection", True),
        resource_groups=None if groups is None else tuple(msgspec.convert(group, ResourceGroup) for group in groups),
        queue_admission_gates=gates.get("SchedulingGatesQueueAdmission", False),
        pod_level_resources=gates.get("PodLevelResources", True),
    )


def comparable(message: str) -> str:
    """The accepted values of policies in one order: upstream lists them in that of a hash table."""
    return re.sub(r"are \[([^\]]*)\]", lambda found: f"are {sorted(found[1].split())}", message)


def shape(value: Any) -> Any:
    """A patch without the empty values that Go's encoder leaves out of what it wrote."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if inner not in (None, 0, "", []) or key == "value"}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return value
