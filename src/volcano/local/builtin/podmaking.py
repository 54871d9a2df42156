"""Pods from a workload's template: owner, labels, names. Pure.

Neighbours: `replicasets` and `batchjobs` create what this returns.
"""

from __future__ import annotations

import copy

from volcano.api.meta import JsonObject


def owner_reference(owner: JsonObject, api_version: str, kind: str) -> JsonObject:
    """A controller reference to `owner`."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(owner: JsonObject, api_version: str, kind: str, template: JsonObject) -> JsonObject:
    """A pod for `owner`; the server completes its name."""
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": owner["metadata"]["name"] + "-",
            "namespace": owner["metadata"]["namespace"],
            "labels": dict(metadata.get("labels") or {}),
            "annotations": dict(metadata.get("annotations") or {}),
            "finalizers": list(metadata.get("finalizers") or []),
            "ownerReferences": [owner_reference(owner, api_version, kind)],
        },
        "spec": copy.deepcopy(template.get("spec") or {}),
    }
