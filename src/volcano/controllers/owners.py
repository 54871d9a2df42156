"""Owner references of what controllers create."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject

if TYPE_CHECKING:
    from volcano.api.batch import Job

JOB_API_VERSION = "batch.volcano.sh/v1alpha1"
JOB_KIND = "Job"


def controller_reference(job: Job) -> JsonObject:
    return reference(JOB_API_VERSION, JOB_KIND, job.metadata.name, job.metadata.uid)


def reference(api_version: str, kind: str, name: str, uid: str) -> JsonObject:
    """A reference that makes the owner the controller and keeps it until this object is gone."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
