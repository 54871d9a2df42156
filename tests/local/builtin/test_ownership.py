"""Who goes when an owner goes."""

from __future__ import annotations

from volcano.api.meta import OwnerReference
from volcano.local.builtin.ownership import Existence, Item, Ownership, Verdict


def owner(uid: str, *, blocks: bool = False) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Thing", name=uid, uid=uid, block_owner_deletion=blocks)


def thing(
    uid: str, *owners: OwnerReference, namespace: str = "a", deleting: bool = False, finalizers: tuple[str, ...] = ()
) -> Item:
    return Item("things.", namespace, uid, uid, owners, deleting, finalizers)


def graph(*items: Item) -> Ownership:
    result = Ownership()
    for item in items:
        result.put(item)
    return result


def verdict(ownership: Ownership, item: Item, *, others: Existence = Existence.ABSENT) -> Verdict:
    return ownership.judge(item, lambda _owner: others)[0]


def test_an_object_stays_while_an_owner_lives() -> None:
    child = thing("child", owner("parent"))
    ownership = graph(child, thing("parent"))

    assert not ownership.is_suspect(child)
    assert verdict(ownership, child) is Verdict.KEEP


def test_an_object_whose_owners_are_all_gone_is_collected() -> None:
    child = thing("child", owner("gone"))
    ownership = graph(child)

    assert ownership.is_suspect(child)
    assert verdict(ownership, child) is Verdict.COLLECT


def test_an_owner_nobody_has_seen_is_asked_for() -> None:
    child = thing("child", owner("unseen"))

    assert verdict(graph(child), child, others=Existence.UNKNOWN) is Verdict.ASK
    assert verdict(graph(child), child, others=Existence.PRESENT) is Verdict.KEEP


def test_with_one_owner_left_only_the_reference_goes() -> None:
    child = thing("child", owner("parent"), owner("gone"))
    ownership = graph(child, thing("parent"))

    assert ownership.judge(child, lambda _owner: Existence.ABSENT) == (Verdict.DROP_REFERENCES, [owner("gone")])


def test_foreground_deletion_reaches_down_and_waits_for_those_that_block() -> None:
    parent = thing("parent", deleting=True, finalizers=("foregroundDeletion",))
    child, leaf = thing("child", owner("parent", blocks=True)), thing("leaf", owner("child"))
    ownership = graph(parent, child, leaf, thing("other", owner("parent")))

    assert verdict(ownership, child) is Verdict.COLLECT_FOREGROUND
    assert verdict(ownership, ownership.items["other"]) is Verdict.COLLECT
    assert [item.uid for item in ownership.blockers("parent")] == ["child"]
    ownership.remove("child")
    assert ownership.blockers("parent") == []


def test_owners_in_another_namespace_do_not_count() -> None:
    child = thing("child", owner("parent"))

    assert verdict(graph(child, thing("parent", namespace="b")), child) is Verdict.COLLECT
    assert verdict(graph(child, thing("parent", namespace="")), child) is Verdict.KEEP


def test_what_is_being_deleted_already_is_left_alone() -> None:
    child = thing("child", owner("gone"), deleting=True)

    assert verdict(graph(child), child) is Verdict.KEEP


def test_the_graph_forgets_completely() -> None:
    ownership = graph(thing("child", owner("parent")), thing("parent"))
    ownership.put(thing("child"))
    assert ownership.dependents("parent") == []
    ownership.remove("child")
    ownership.remove("parent")

    assert ownership.items == {}
    assert ownership.__dict__["_dependents"] == {}
