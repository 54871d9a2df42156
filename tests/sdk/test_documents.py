"""Documents seen through our types lose nothing of what these do not know."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from volcano.api.batch import Job
from volcano.sdk.documents import Typed, plain

DOCUMENT: dict[str, Any] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "a", "managedFields": [{"manager": "x"}], "labels": {"a": "b"}},
    "spec": {
        "minAvailable": 1,
        "futureField": {"x": 1},
        "tasks": [
            {"name": "w", "replicas": 1, "futureTask": 2, "template": {"spec": {"futurePod": 3}}},
            {"name": "v", "replicas": 2, "futureTask": 4},
        ],
        "policies": [{"event": "PodFailed", "action": "RestartJob", "futurePolicy": 5}],
    },
    "futureTop": 6,
}


def typed() -> Typed[Job]:
    return Typed(Job, DOCUMENT)


def test_a_round_trip_changes_nothing() -> None:
    assert typed().document() == DOCUMENT


def test_changes_arrive_and_unknown_fields_stay() -> None:
    job = typed()
    job.value.spec.queue = "ml"
    job.value.spec.tasks[1].replicas = 7
    job.value.metadata.labels = {}
    document = job.document()
    assert document["spec"]["queue"] == "ml"
    assert document["spec"]["tasks"][1] == {"name": "v", "replicas": 7, "futureTask": 4}
    assert document["spec"]["tasks"][0] == DOCUMENT["spec"]["tasks"][0]
    assert "labels" not in document["metadata"]
    assert (document["futureTop"], document["spec"]["futureField"]) == (6, {"x": 1})
    assert DOCUMENT["spec"]["tasks"][1]["replicas"] == 2


def test_items_of_lists_are_known_by_name_when_they_move_or_go() -> None:
    job = typed()
    job.value.spec.tasks.reverse()
    assert [task["futureTask"] for task in job.document()["spec"]["tasks"]] == [4, 2]
    del job.value.spec.tasks[0]
    assert [task["futureTask"] for task in job.document()["spec"]["tasks"]] == [2]


unknown = st.dictionaries(st.text(min_size=1).map(lambda text: f"x{text}"), st.integers())


@given(unknown, unknown, st.integers(0, 9))
def test_whatever_is_unknown_survives_an_edit(top: dict[str, int], deep: dict[str, int], replicas: int) -> None:
    document = {"metadata": {"name": "a"}, "spec": {"tasks": [{"name": "t", "replicas": 99, **deep}]}, **top}
    job = Typed(Job, document)
    job.value.spec.tasks[0].replicas = replicas
    task = job.document()["spec"]["tasks"][0]
    assert task.pop("replicas", 0) == replicas
    assert task == {"name": "t", **deep}
    assert top.items() <= job.document().items()


@pytest.mark.parametrize("value", [42, None, object()])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="is no object of the API"):
        plain(value)


def test_changes_are_made_upon_what_others_have_written() -> None:
    job = typed()
    job.value.spec.queue = "ml"
    document = job.document(upon={**DOCUMENT, "status": {"state": {"phase": "Running"}}})
    assert (document["spec"]["queue"], document["status"]["state"]["phase"]) == ("ml", "Running")
