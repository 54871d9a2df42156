"""Pods with volume claims: which nodes they may take, which volumes they are promised, and what keeps them waiting."""

from __future__ import annotations

from typing import Any

import msgspec

from volcano.api.core import CsiNode, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from volcano.scheduler.framework.decisions import ClaimBinding
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

ZONE = "topology.kubernetes.io/zone"


def claim(name: str, *, size: str = "1Gi", volume: str = "", storage_class: str = "late") -> PersistentVolumeClaim:
    notes = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    manifest = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": notes},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "volumeName": volume,
            "resources": {"requests": {"storage": size}},
        },
    }
    return msgspec.convert(manifest, PersistentVolumeClaim)


def volume(name: str, *, size: str = "1Gi", on: str = "", zone: str = "", handle: str = "") -> PersistentVolume:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [on]}]}]
    manifest: dict[str, Any] = {
        "metadata": {"name": name, "labels": {ZONE: zone} if zone else {}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "capacity": {"storage": size},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}} if on else None,
            "csi": {"driver": "disk", "volumeHandle": handle} if handle else None,
        },
        "status": {"phase": "Available"},
    }
    return msgspec.convert(manifest, PersistentVolume)


def storage_class(
    name: str = "late", *, provisioner: str = "kubernetes.io/no-provisioner", **more: Any
) -> StorageClass:
    manifest = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        **more,
    }
    return msgspec.convert(manifest, StorageClass)


def with_claims(member: Pod, *claims: str) -> Pod:
    manifest = msgspec.to_builtins(member)
    manifest["spec"]["volumes"] = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return msgspec.convert(manifest, Pod)


def world_of(*members: Pod, minimum: int | None = None, **objects: Any) -> World:
    world = World(nodes=[node(f"n{i}", labels={ZONE: f"z{i}"}) for i in range(3)])
    for plural, found in objects.items():
        world.add(plural, *found)
    world.add_gang(gang("g", pods=members, min_available=minimum))
    return world


def member(number: int, *claims: str) -> Pod:
    return with_claims(pod(f"g-w-{number}", group="g", cpu=1), *claims)


def test_a_bound_claim_ties_its_pod_to_the_nodes_of_its_volume() -> None:
    world = world_of(
        member(0, "data"),
        persistentvolumeclaims=[claim("data", volume="disk")],
        persistentvolumes=[volume("disk", on="n1")],
        storageclasses=[storage_class()],
    )

    decisions = world.cycle()

    assert decisions.binds == {"default/g-w-0": "n1"}
    assert decisions.committed[0].claims == ()


def test_a_waiting_claim_gets_the_smallest_volume_that_suits() -> None:
    world = world_of(
        member(0, "data"),
        persistentvolumeclaims=[claim("data", size="2Gi")],
        persistentvolumes=[volume("small", on="n0"), volume("large", size="9Gi"), volume("right", size="3Gi", on="n2")],
        storageclasses=[storage_class()],
    )
    world.update("nodes", node("n0", unschedulable=True), node("n1", unschedulable=True))

    bind = world.cycle().committed[0]

    assert bind.node == "n2"
    assert bind.claims == (ClaimBinding("default/data", "right", "n2"),)


def test_two_pods_are_not_promised_one_volume() -> None:
    world = world_of(
        member(0, "a"),
        member(1, "b"),
        minimum=1,
        persistentvolumeclaims=[claim("a"), claim("b")],
        persistentvolumes=[volume("only")],
        storageclasses=[storage_class()],
    )

    decisions = world.cycle()

    assert set(decisions.binds) == {"default/g-w-0"}
    verdict = next(verdict for verdict in decisions.pods if verdict.name == "g-w-1")
    assert "3 node(s) didn't find available persistent volumes to bind" in verdict.message

    assert world.cycle().binds == {}, "the promise stands until the API server shows it"


def test_a_gang_that_fails_gives_its_volumes_back() -> None:
    world = world_of(
        member(0, "a"),
        member(1, "b"),
        persistentvolumeclaims=[claim("a"), claim("b")],
        persistentvolumes=[volume("only")],
        storageclasses=[storage_class()],
    )
    assert world.cycle().binds == {}
    world.add("persistentvolumes", volume("another"))

    decisions = world.cycle()

    settled = [claim for bind in decisions.committed for claim in bind.claims if isinstance(claim, ClaimBinding)]
    assert {claim.volume for claim in settled} == {"only", "another"}


def test_a_claim_without_a_volume_is_made_for_the_node_where_its_class_may() -> None:
    zones = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]
    world = world_of(
        member(0, "data"),
        persistentvolumeclaims=[claim("data")],
        storageclasses=[storage_class(provisioner="disk", allowedTopologies=zones)],
    )

    bind = world.cycle().committed[0]

    assert (bind.node, bind.claims) == ("n1", (ClaimBinding("default/data", "", "n1"),))


def test_missing_and_immediate_claims_are_named() -> None:
    early = msgspec.structs.replace(storage_class("early"), volume_binding_mode="Immediate")
    for claims, text in (
        ([], 'persistentvolumeclaim "data" not found'),
        ([claim("data", storage_class="early")], "PersistentVolume had no name"),
    ):
        world = world_of(member(0, "data"), persistentvolumeclaims=claims, storageclasses=[early])
        assert text in world.cycle().pods[0].message


def test_a_volume_in_a_zone_takes_its_pod_there() -> None:
    world = world_of(
        member(0, "data"),
        persistentvolumeclaims=[claim("data", volume="disk")],
        persistentvolumes=[volume("disk", zone="z2")],
        storageclasses=[storage_class()],
    )

    assert world.cycle().binds == {"default/g-w-0": "n2"}


def test_a_node_attaches_only_so_many_volumes() -> None:
    limit = {"drivers": [{"name": "disk", "nodeID": "x", "allocatable": {"count": 1}}]}
    world = world_of(
        *(member(i, f"c{i}") for i in range(4)),
        minimum=1,
        persistentvolumeclaims=[claim(f"c{i}", volume=f"v{i}") for i in range(4)],
        persistentvolumes=[volume(f"v{i}", handle=f"h{i}") for i in range(4)],
        storageclasses=[storage_class()],
        csinodes=[msgspec.convert({"metadata": {"name": f"n{i}"}, "spec": limit}, CsiNode) for i in range(3)],
    )

    decisions = world.cycle()

    assert sorted(decisions.binds.values()) == ["n0", "n1", "n2"]
    assert "3 node(s) exceed max volume count" in decisions.pods[0].message
