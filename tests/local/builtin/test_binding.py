"""Claims and volumes."""

from __future__ import annotations

from typing import Any

from volcano.api.meta import JsonObject
from volcano.local.builtin.binding import DRIVER, bind, is_abandoned, needs_volume, new_volume


def claim(size: str = "1Gi", **spec: Any) -> JsonObject:
    resources = {"requests": {"storage": size}}
    return {
        "metadata": {"name": "data", "namespace": "default", "uid": "c1"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec},
        "status": {"phase": "Pending"},
    }


def volume(name: str, size: str, **spec: Any) -> JsonObject:
    return {
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec},
    }


def test_a_claim_without_a_class_gets_a_folder_of_its_own() -> None:
    step = bind(claim(), [], None)

    assert step is not None
    assert step.volume == "pvc-c1"
    assert step.create is not None
    assert step.create["spec"]["csi"] == {"driver": DRIVER, "volumeHandle": "c1"}
    assert step.claim["spec"] == {"volumeName": "pvc-c1"}
    assert step.status == {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}


def test_the_smallest_existing_volume_that_fits_is_taken() -> None:
    taken = volume("taken", "2Gi", claimRef={"namespace": "default", "name": "other", "uid": "c2"})
    step = bind(claim("2Gi"), [volume("small", "1Gi"), volume("big", "9Gi"), volume("right", "2Gi"), taken], None)

    assert step is not None
    assert (step.create, step.volume) == (None, "right")


def test_foreign_classes_and_empty_ones_are_left_to_others() -> None:
    assert bind(claim(storageClassName=""), [], None) is None
    assert bind(claim(storageClassName="fast"), [], "kubernetes.io/no-provisioner") is None
    assert bind(claim(storageClassName="unheard-of"), [], None) is not None


def test_a_named_volume_is_waited_for() -> None:
    wanted = claim(volumeName="pv")

    assert bind(wanted, [volume("other", "9Gi")], None) is None
    assert bind(wanted, [volume("pv", "9Gi")], None) is not None


def test_volumes_made_here_go_with_their_claims() -> None:
    made = new_volume(claim())

    assert not is_abandoned(made, claim())
    assert is_abandoned(made, None)
    assert not is_abandoned(volume("own", "1Gi"), None)


def test_bound_claims_and_those_being_deleted_need_nothing() -> None:
    assert needs_volume(claim())
    assert not needs_volume({**claim(), "status": {"phase": "Bound"}})
