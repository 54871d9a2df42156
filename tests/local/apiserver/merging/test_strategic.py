from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from volcano.local.apiserver.faults import PatchError
from volcano.local.apiserver.merging.strategic import strategic_patch

if TYPE_CHECKING:
    from volcano.local.apiserver.merging.shapes import Shape


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        pytest.param(
            spec(containers=[{"name": "a", "image": "1"}, {"name": "b"}]),
            spec(containers=[{"name": "a", "image": "2"}]),
            spec(containers=[{"name": "a", "image": "2"}, {"name": "b"}]),
            id="items are found by their key",
        ),
        pytest.param(
            spec(containers=[{"name": "a"}]),
            spec(containers=[{"name": "b"}]),
            spec(containers=[{"name": "b"}, {"name": "a"}]),
            id="new items come first",
        ),
        pytest.param(
            spec(containers=[{"name": "a"}, {"name": "b"}]),
            spec(containers=[{"name": "a", "$patch": "delete"}]),
            spec(containers=[{"name": "b"}]),
            id="an item is deleted",
        ),
        pytest.param(
            spec(containers=[{"name": "a"}, {"name": "b"}]),
            spec(containers=[{"$patch": "replace"}, {"name": "c"}]),
            spec(containers=[{"name": "c"}]),
            id="a list is replaced",
        ),
        pytest.param(
            spec(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "web"}]}]),
            spec(containers=[{"name": "a", "ports": [{"containerPort": 80, "hostPort": 1}, {"containerPort": 81}]}]),
            spec(
                containers=[
                    {
                        "name": "a",
                        "ports": [{"containerPort": 80, "name": "web", "hostPort": 1}, {"containerPort": 81}],
                    }
                ]
            ),
            id="lists in lists have their own keys",
        ),
        pytest.param(
            spec(tolerations=[{"key": "a"}]),
            spec(tolerations=[{"key": "b"}]),
            spec(tolerations=[{"key": "b"}]),
            id="an atomic list is replaced",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}},
            {"metadata": {"finalizers": ["c", "b"]}},
            id="values are added and deleted",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b", "c"]}},
            {"metadata": {"$setElementOrder/finalizers": ["c", "a"]}},
            {"metadata": {"finalizers": ["b", "c", "a"]}},
            id="the order is set without any other change",
        ),
        pytest.param(
            spec(containers=[{"name": "a"}, {"name": "server-made"}, {"name": "b"}]),
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                    "containers": [{"name": "a", "image": "2"}],
                }
            },
            spec(containers=[{"name": "server-made"}, {"name": "b"}, {"name": "a", "image": "2"}]),
            id="items that the order does not name stay in place",
        ),
        pytest.param(
            spec(strategy={"type": "RollingUpdate", "rollingUpdate": {}}),
            spec(strategy={"$retainKeys": ["type"], "type": "Recreate"}),
            spec(strategy={"type": "Recreate"}),
            id="only retained keys stay",
        ),
        pytest.param(
            spec(strategy={"a": 1}), spec(strategy={"$patch": "replace", "b": 2}), spec(strategy={"b": 2}), id="replace"
        ),
        pytest.param(spec(strategy={"a": 1}), spec(strategy={"$patch": "delete"}), spec(strategy={}), id="delete"),
        pytest.param(
            spec(strategy={"a": 1}),
            spec(strategy={"$patch": "merge", "b": 2}),
            spec(strategy={"a": 1, "b": 2}),
            id="merge",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "1", "b": "2"}}},
            {"metadata": {"labels": {"a": None, "c": "3"}}},
            {"metadata": {"labels": {"b": "2", "c": "3"}}},
            id="null removes",
        ),
        pytest.param(
            {}, spec(strategy={"a": None, "$retainKeys": ["a"]}), spec(strategy={}), id="nothing to remove from"
        ),
    ],
)
def test_a_strategic_patch(document: Any, patch: Any, result: Any, thing: Shape) -> None:
    before = copy.deepcopy(document)
    assert strategic_patch(document, patch, thing) == result
    assert document == before


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ([], "is an object"),
        (spec(strategy={"$patch": "shuffle"}), "unknown patch type 'shuffle'"),
        (spec(containers=[{"image": "x"}]), "'containers' in the patch or the object has no 'name'"),
        (spec(strategy={"$retainKeys": ["a"], "b": 1}), "must name every field that the patch sets: b"),
        ({"spec": {"$setElementOrder/containers": {}}}, "must be a list"),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}, "must be a list"),
    ],
)
def test_a_strategic_patch_without_sense_is_refused(patch: Any, message: str, thing: Shape) -> None:
    with pytest.raises(PatchError) as refusal:
        strategic_patch(spec(containers=[{"name": "a"}], strategy={"type": "x"}), patch, thing)
    assert refusal.value.status == 400
    assert message in refusal.value.message
