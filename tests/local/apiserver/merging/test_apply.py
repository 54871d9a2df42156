from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from volcano.local.apiserver.faults import ApplyConflict, PatchError
from volcano.local.apiserver.merging import fieldsets
from volcano.local.apiserver.merging.apply import apply_patch
from volcano.local.apiserver.merging.managers import MOST_UPDATERS, ManagerKey, Managers
from volcano.local.apiserver.merging.ordering import zipped
from volcano.local.apiserver.merging.ownership import created, keep_account, key_of
from volcano.local.apiserver.merging.shapes import Shape, Shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def configuration(metadata: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", **(metadata or {})}, "spec": spec}


class World:
    """One object and the people who write it."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.live: dict[str, Any] | None = None

    def apply(self, manager: str, *, force: bool = False, **spec: Any) -> dict[str, Any]:
        return self.apply_whole(manager, configuration(**spec), force=force)

    def apply_whole(self, manager: str, wanted: dict[str, Any], *, force: bool = False) -> dict[str, Any]:
        before = copy.deepcopy(self.live)
        result = apply_patch(self.live, wanted, manager, self.shape, force=force, now=NOW)
        assert self.live == before
        self.live = result
        return result["spec"]

    def update(self, manager: str, **spec: Any) -> None:
        assert self.live is not None
        new = {**self.live, "metadata": dict(self.live["metadata"]), "spec": {**self.live["spec"], **spec}}
        self.live = self.written(new, manager)

    def written(self, new: dict[str, Any], manager: str, now: str = LATER) -> dict[str, Any]:
        """`new` as it is after an ordinary write."""
        assert self.live is not None
        keep_account(self.live, new, key_of(manager, "v1", ""), self.shape, now, ("status",))
        return new

    def owners(self) -> dict[str, list[str]]:
        assert self.live is not None
        entries = self.live["metadata"].get("managedFields", [])
        return {f"{e['manager']}/{e['operation']}": list(fieldsets.paths(e["fieldsV1"])) for e in entries}


@pytest.fixture
def world(thing: Shape) -> World:
    return World(thing)


def test_applying_creates_the_object_and_notes_its_owner(world: World) -> None:
    world.apply("me", replicas=3, containers=[{"name": "a", "ports": [{"containerPort": 80}]}])

    item = '.spec.containers[name="a"]'
    port = item + '.ports[containerPort=80,protocol="TCP"]'
    assert world.owners() == {"me/Apply": [".spec.replicas", item, item + ".name", port, port + ".containerPort"]}
    assert world.live is not None
    assert world.live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"]['k:{"name":"a"}'] == {
        ".": {},
        "f:name": {},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
    }


def test_applying_the_same_again_changes_nothing(world: World) -> None:
    world.apply("me", replicas=3)
    before = world.live
    world.apply("me", replicas=3)
    assert world.live == before


def test_fields_that_are_no_longer_applied_go_away(world: World) -> None:
    world.apply("me", replicas=3, paused=True, strategy={"type": "x"}, containers=[{"name": "a"}, {"name": "b"}])
    assert world.apply("me", replicas=3, containers=[{"name": "b"}]) == {"replicas": 3, "containers": [{"name": "b"}]}


def test_a_field_with_two_owners_stays_until_both_let_go(world: World) -> None:
    world.apply("me", replicas=3)
    world.apply("you", replicas=3, paused=True)
    assert world.apply("me") == {"replicas": 3, "paused": True}
    assert world.apply("you", paused=True) == {"paused": True}


def test_changing_what_another_manager_applied_is_a_conflict(world: World) -> None:
    world.apply("you", replicas=3)
    with pytest.raises(ApplyConflict) as conflict:
        world.apply("me", replicas=4)
    assert conflict.value.status == 409
    assert conflict.value.message == 'Apply failed with 1 conflict: conflict with "you": .spec.replicas'
    assert conflict.value.causes == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "you"', "field": ".spec.replicas"}
    ]


def test_several_conflicts_are_listed_by_manager(world: World) -> None:
    world.apply("you", replicas=3, paused=False)
    world.update("kubectl-edit", size=1)
    with pytest.raises(ApplyConflict) as conflict:
        world.apply("me", replicas=4, paused=True, size=2)
    assert conflict.value.message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "kubectl-edit" using v1:\n- .spec.size\n'
        'conflicts with "you":\n- .spec.paused\n- .spec.replicas'
    )
    assert len(conflict.value.causes) == 3


def test_force_takes_the_field_over(world: World) -> None:
    world.apply("you", replicas=3, paused=True)
    assert world.apply("me", force=True, replicas=4) == {"replicas": 4, "paused": True}
    assert world.owners() == {"me/Apply": [".spec.replicas"], "you/Apply": [".spec.paused"]}


def test_an_update_takes_the_fields_that_it_changes(world: World) -> None:
    world.apply("me", replicas=3, containers=[{"name": "a", "image": "1"}])
    world.update("autoscaler", replicas=5)
    assert world.owners()["autoscaler/Update"] == [".spec.replicas"]
    assert ".spec.replicas" not in world.owners()["me/Apply"]


def test_an_update_that_removes_a_field_leaves_no_owner(world: World) -> None:
    world.apply("me", containers=[{"name": "a", "image": "1"}, {"name": "b"}])
    world.update("editor", containers=[{"name": "b"}])
    assert world.owners() == {"me/Apply": ['.spec.containers[name="b"]', '.spec.containers[name="b"].name']}


def test_an_object_that_nobody_kept_account_of_carries_no_ownership(world: World) -> None:
    world.live = configuration(replicas=1)
    world.update("me", replicas=2)
    assert world.owners() == {}


def test_whoever_makes_an_object_owns_what_was_not_there(thing: Shape) -> None:
    new = configuration(
        {"labels": {"a": "b"}}, replicas=1, containers=[{"name": "a"}], selector={"x": "y"}, strategy={}
    )
    entries = created(new, {"spec": {"containers": None}}, key_of("me", "v1", ""), thing, NOW, ("status",))

    assert entries == [
        {
            "manager": "me",
            "operation": "Update",
            "apiVersion": "v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {
                    "f:replicas": {},
                    "f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}}},
                    "f:selector": {},
                    "f:strategy": {},
                },
            },
        }
    ]


def test_a_write_takes_what_it_changes_and_moves_its_time(world: World) -> None:
    world.apply("me", replicas=1, paused=True)
    world.update("you", replicas=2, extra=1)
    assert world.owners() == {"me/Apply": [".spec.paused"], "you/Update": [".spec.replicas", ".spec.extra"]}

    assert world.live is not None
    new = {**world.live, "metadata": dict(world.live["metadata"]), "spec": {"replicas": 3, "extra": 1}}
    world.live = world.written(new, "you", "2026-01-02T00:00:00Z")
    assert world.owners() == {"you/Update": [".spec.extra", ".spec.replicas"]}
    assert world.live["metadata"]["managedFields"][0]["time"] == "2026-01-02T00:00:00Z"


def test_the_oldest_of_many_updaters_become_one(world: World) -> None:
    world.apply("me", replicas=0)
    for number in range(MOST_UPDATERS + 2):
        assert world.live is not None
        new = {
            **world.live,
            "spec": {**world.live["spec"], f"field{number}": 1},
            "metadata": {**world.live["metadata"]},
        }
        world.live = world.written(new, f"m{number:02}", f"2026-01-01T00:00:{number:02}Z")

    owners = world.owners()
    assert len(owners) == MOST_UPDATERS + 1
    assert sorted(owners["ancient-changes/Update"]) == [".spec.field0", ".spec.field1", ".spec.field2"]


def test_items_that_a_list_repeats_stay_until_somebody_applies_them(world: World) -> None:
    twice = [{"name": "a", "image": "1"}, {"name": "b"}, {"name": "a", "image": "2"}]
    world.live = configuration(containers=twice)
    merged = world.apply("me", containers=[{"name": "b", "image": "3"}])
    assert [item["name"] for item in merged["containers"]] == ["a", "b", "a"]
    assert world.apply("you", containers=[{"name": "a", "image": "4"}], force=True)["containers"] == [
        {"name": "a", "image": "4"},
        {"name": "b", "image": "3"},
    ]


@pytest.mark.parametrize(
    ("current", "wanted", "result"),
    [
        ("abc", "", "abc"),
        ("", "ab", "ab"),
        ("ab", "c", "abc"),
        ("ab", "cb", "acb"),
        ("ab", "ca", "cab"),
        ("abc", "cba", "cba"),
        ("abcd", "db", "acdb"),
        ("aba", "b", "aba"),
        ("aba", "a", "ab"),
    ],
)
def test_applied_items_come_in_the_writers_order(current: str, wanted: str, result: str) -> None:
    assert "".join(item for item, _ in zipped(current, wanted)) == result


def test_the_first_apply_meets_the_owner_of_everything_before(world: World) -> None:
    world.live = configuration(replicas=1, paused=True)
    with pytest.raises(ApplyConflict, match='conflict with "before-first-apply" using v1'):
        world.apply("me", replicas=2)
    world.apply("me", replicas=1)
    assert world.owners() == {
        "me/Apply": [".spec.replicas"],
        "before-first-apply/Update": [".spec", ".spec.replicas", ".spec.paused"],
    }


def test_kubectl_takes_over_from_its_own_client_side_apply(world: World) -> None:
    recorded = configuration(replicas=1, paused=True)
    key = "kubectl.kubernetes.io/last-applied-configuration"
    world.live = {**recorded, "metadata": {"name": "t", "annotations": {key: json.dumps(recorded)}}}
    world.live["spec"]["defaulted"] = "yes"

    assert world.apply("kubectl", replicas=2) == {"replicas": 2, "paused": True, "defaulted": "yes"}

    renewed = json.loads(world.live["metadata"]["annotations"][key])
    assert renewed["spec"] == {"replicas": 2}


def test_managed_fields_can_be_reset_and_are_kept_from_careless_writers(world: World) -> None:
    world.apply("me", replicas=3)
    assert world.live is not None
    before = world.live["metadata"]["managedFields"]
    assert world.written(configuration(replicas=3), "x")["metadata"]["managedFields"] == before
    assert "managedFields" not in world.written(configuration({"managedFields": [{}]}, replicas=3), "x")["metadata"]


def test_atomic_values_have_one_owner(world: World) -> None:
    world.apply("me", selector={"matchLabels": {"a": "1"}}, tolerations=[{"key": "a"}])
    assert world.owners() == {"me/Apply": [".spec.selector", ".spec.tolerations"]}
    with pytest.raises(ApplyConflict, match=r"\.spec\.selector"):
        world.apply("you", selector={"matchLabels": {"b": "1"}})


def test_sets_grow_by_every_manager(world: World) -> None:
    world.apply_whole("me", configuration({"finalizers": ["a"]}))
    world.apply_whole("you", configuration({"finalizers": ["b"]}))
    assert world.live is not None
    assert world.live["metadata"]["finalizers"] == ["a", "b"]
    assert '.metadata.finalizers[="b"]' in world.owners()["you/Apply"]
    world.apply_whole("me", configuration())
    assert world.live["metadata"]["finalizers"] == ["b"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (configuration({"managedFields": [{"manager": "x"}]}), "managedFields must be nil"),
        (
            configuration(containers=[{"name": "a"}, {"name": "a"}]),
            '.spec.containers: duplicate entries for key [name="a"]',
        ),
        (configuration(containers=[{"image": "a"}]), 'omits key field "name"'),
    ],
)
def test_a_configuration_that_cannot_be_owned_is_refused(wanted: dict[str, Any], message: str, world: World) -> None:
    with pytest.raises(PatchError) as refusal:
        world.apply_whole("me", wanted)
    assert message in refusal.value.message


def test_a_custom_resource_merges_by_its_own_schema() -> None:
    tasks = {"type": "array", "items": {}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    shape = Shapes({}).root({"properties": {"spec": {"properties": {"tasks": tasks}}}})
    world = World(shape)
    world.apply("me", tasks=[{"name": "a", "replicas": 1}])
    assert world.apply("you", tasks=[{"name": "b"}])["tasks"] == [{"name": "a", "replicas": 1}, {"name": "b"}]


VALUES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', "."]),
    st.deferred(lambda: VALUES | st.just({})),
    max_size=3,
)


def _clean(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: {} if key == "." else _node(node) for key, node in fields.items() if key != "."}


def _node(node: dict[str, Any]) -> dict[str, Any]:
    below = _clean(node)
    return {".": {}, **below} if below and "." in node else below


@given(VALUES, VALUES)
def test_field_sets_are_sets(left: dict[str, Any], right: dict[str, Any]) -> None:
    left, right = _clean(left), _clean(right)
    a, b = set(fieldsets.paths(left)), set(fieldsets.paths(right))
    assert set(fieldsets.paths(fieldsets.union(left, right))) == a | b
    assert set(fieldsets.paths(fieldsets.intersection(left, right))) == a & b
    assert set(fieldsets.paths(fieldsets.difference(left, right))) == a - b


SPECS = st.fixed_dictionaries(
    {"size": st.just(1)},  # an empty object would be a field of its own
    optional={
        "replicas": st.integers(1, 2),
        "tolerations": st.lists(st.just({"key": "a"}), max_size=2),
        "strategy": st.dictionaries(st.sampled_from("ab"), st.integers(1, 2), min_size=1),
        "containers": st.lists(st.sampled_from("abc"), unique=True, min_size=1).map(
            lambda names: [{"name": name} for name in names]
        ),
    },
)


@given(st.lists(st.tuples(st.sampled_from(["me", "you"]), SPECS), min_size=1, max_size=6))
def test_after_an_apply_the_object_says_what_the_manager_asked_for(thing: Shape, steps: list[tuple[str, Any]]) -> None:
    world = World(thing)
    for manager, spec in steps:
        world.apply(manager, force=True, **spec)
        assert world.live is not None
        wanted = fieldsets.fields_of({"spec": spec}, thing)
        held = fieldsets.fields_of({"spec": world.live.get("spec", {})}, thing)
        assert fieldsets.difference(wanted, held) == {}
        owned = Managers.of(world.live["metadata"].get("managedFields"))
        assert owned.empty or fieldsets.difference(owned.fields_of_others(ManagerKey("", "", "", "")), held) == {}
