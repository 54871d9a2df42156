"""Volumes and claims, and the classes behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api import keys
from volcano.local.apiserver.wire.printers.columns import UNSET, age_of, name_of, printer

if TYPE_CHECKING:
    from datetime import datetime

    from volcano.api.meta import JsonObject

_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def _claim(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    bound = bool(spec.get("volumeName"))
    return [
        name_of(item),
        "Terminating" if item.get("metadata", {}).get("deletionTimestamp") else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        _storage_class(item, spec),
        status.get("currentVolumeAttributesClassName") or UNSET,
        age_of(item, now),
        spec.get("volumeMode") or UNSET,
    ]


def _volume(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    claim = spec.get("claimRef")
    return [
        name_of(item),
        (spec.get("capacity") or {}).get("storage", ""),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if item.get("metadata", {}).get("deletionTimestamp") else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _storage_class(item, spec),
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age_of(item, now),
        spec.get("volumeMode") or UNSET,
    ]


def access_modes(modes: Any) -> str:
    present = set(modes or ())
    return ",".join(short for mode, short in _MODES.items() if mode in present)


def _storage_class(item: JsonObject, spec: JsonObject) -> str:
    annotations = item.get("metadata", {}).get("annotations") or {}
    return str(annotations.get(_OLD_CLASS) or spec.get("storageClassName") or "")


def _class(item: JsonObject, now: datetime) -> list[Any]:
    default = (item.get("metadata", {}).get("annotations") or {}).get(keys.DEFAULT_STORAGE_CLASS) == "true"
    return [
        f"{name_of(item)} (default)" if default else name_of(item),
        item.get("provisioner", ""),
        item.get("reclaimPolicy") or "Delete",
        item.get("volumeBindingMode") or "Immediate",
        bool(item.get("allowVolumeExpansion", False)),
        age_of(item, now),
    ]


PERSISTENT_VOLUME_CLAIMS = printer(
    _claim, "Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age", "VolumeMode"
)
PERSISTENT_VOLUMES = printer(
    _volume,
    "Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age",
    "VolumeMode",
)
STORAGE_CLASSES = printer(_class, "Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age")
