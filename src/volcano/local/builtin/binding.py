"""How a persistent volume claim gets its volume: an existing one that fits, or a new folder of the node. Pure.

Neighbours: `claims` performs the step; the node keeps folders for volumes of `DRIVER`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from volcano.api import keys, quantity
from volcano.api.meta import JsonObject

DRIVER = "folders.local.volcano.sh"
_BOUND = "pv.kubernetes.io/bind-completed"


@dataclass(frozen=True)
class Binding:
    """The volume to create, if it does not exist yet, and what to write on the claim and its status."""

    create: JsonObject | None
    volume: str
    claim: JsonObject
    status: JsonObject


def needs_volume(claim: JsonObject) -> bool:
    return "deletionTimestamp" not in claim["metadata"] and (claim.get("status") or {}).get("phase") != "Bound"


def bind(claim: JsonObject, volumes: Iterable[JsonObject], provisioner: str | None) -> Binding | None:
    """The step that binds `claim`; None while it has to wait for somebody else.

    `provisioner` is that of the claim's storage class, None when there is no such class.
    """
    spec = claim["spec"]
    named = spec.get("volumeName")
    candidates = sorted(volumes, key=lambda volume: quantity.units(_capacity(volume)))
    for volume in candidates:
        if (named and volume["metadata"]["name"] == named) or (not named and fits(claim, volume)):
            return _binding(volume, None)
    if named or not _is_provisioned_here(spec.get("storageClassName"), provisioner):
        return None
    volume = new_volume(claim)
    return _binding(volume, volume)


def _is_provisioned_here(storage_class: str | None, provisioner: str | None) -> bool:
    """An empty class asks for existing volumes only; a class without provisioner, or a foreign one, is not ours."""
    if storage_class == "":
        return False
    return provisioner is None or provisioner == DRIVER


def fits(claim: JsonObject, volume: JsonObject) -> bool:
    """Whether a free `volume` may serve `claim`."""
    spec, wanted = volume["spec"], claim["spec"]
    owner = spec.get("claimRef")
    if owner:
        metadata = claim["metadata"]
        return (owner.get("namespace"), owner.get("name")) == (metadata["namespace"], metadata["name"]) and owner.get(
            "uid", metadata["uid"]
        ) == metadata["uid"]
    labels = volume["metadata"].get("labels") or {}
    selector = (wanted.get("selector") or {}).get("matchLabels") or {}
    return (
        (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and set(wanted.get("accessModes") or []) <= set(spec.get("accessModes") or [])
        and quantity.parse(_request(claim)) <= quantity.parse(_capacity(volume))
        and all(labels.get(key) == value for key, value in selector.items())
    )


def new_volume(claim: JsonObject) -> JsonObject:
    """A volume made for `claim`: a folder that the pod's node provides."""
    metadata, spec = claim["metadata"], claim["spec"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": f"pvc-{metadata['uid']}",
            "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER},
        },
        "spec": {
            "capacity": {"storage": _request(claim)},
            "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": spec.get("storageClassName") or "",
            "volumeMode": spec.get("volumeMode") or "Filesystem",
            "csi": {"driver": DRIVER, "volumeHandle": metadata["uid"]},
            "claimRef": claim_reference(claim),
        },
    }


def claim_reference(claim: JsonObject) -> JsonObject:
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def is_abandoned(volume: JsonObject, claim: JsonObject | None) -> bool:
    """Whether a volume made here has outlived its claim."""
    spec = volume["spec"]
    if (spec.get("csi") or {}).get("driver") != DRIVER or spec.get("persistentVolumeReclaimPolicy") != "Delete":
        return False
    return claim is None or claim["metadata"]["uid"] != (spec.get("claimRef") or {}).get("uid")


def _binding(volume: JsonObject, create: JsonObject | None) -> Binding:
    name = volume["metadata"]["name"]
    return Binding(
        create=create,
        volume=name,
        claim={"metadata": {"annotations": {_BOUND: "yes"}}, "spec": {"volumeName": name}},
        status={
            "phase": "Bound",
            "capacity": {"storage": _capacity(volume)},
            "accessModes": volume["spec"].get("accessModes") or [],
        },
    )


def _request(claim: JsonObject) -> str:
    requests = (claim["spec"].get("resources") or {}).get("requests") or {}
    return str(requests.get("storage", "0"))


def _capacity(volume: JsonObject) -> str:
    return str((volume["spec"].get("capacity") or {}).get("storage", "0"))


def default_class(classes: Iterable[JsonObject]) -> JsonObject | None:
    """The storage class of claims that name none."""
    return next(
        (c for c in classes if (c["metadata"].get("annotations") or {}).get(keys.DEFAULT_STORAGE_CLASS) == "true"), None
    )
