"""The job of one step of a flow: the template's specification with the step's patch, and where it comes from.

Pure, on documents. Neighbours: patches.py merges, machine.py says which steps start.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from volcano.api import keys, resources
from volcano.api.meta import JsonObject
from volcano.controllers.job.volumes import shortened
from volcano.controllers.jobflow.patches import patched
from volcano.controllers.owners import JOB_API_VERSION, JOB_KIND, reference

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.meta import ObjectMeta

LABEL_LENGTH: Final = 63
KIND: Final = resources.JOB_FLOWS.kind


def job_name(flow: str, step: str) -> str:
    return f"{flow}-{step}"


def label_of(namespace: str, name: str) -> str:
    """How labels name a flow or a template; annotations have it in full."""
    return shortened(f"{namespace}.{name}", LABEL_LENGTH)


def belongs(job: Job, flow: ObjectMeta) -> bool:
    """Whether `job` was made for this very flow, not for an earlier one of its name."""
    if job.metadata.labels.get(keys.CREATED_BY_JOB_FLOW) != label_of(flow.namespace, flow.name):
        return False
    return any(owner.kind == KIND and owner.uid == flow.uid for owner in job.metadata.owner_references)


def job_for(flow: ObjectMeta, step: JsonObject, template: JsonObject) -> JsonObject:
    """The job of `step` (an entry of `spec.flows`), made from the JobTemplate of its name."""
    name, namespace = step["name"], flow.namespace
    spec = copy.deepcopy(template.get("spec") or {})
    if patch := (step.get("patch") or {}).get("jobSpec"):
        spec = patched(spec, patch)
    return {
        "apiVersion": JOB_API_VERSION,
        "kind": JOB_KIND,
        "metadata": {
            "name": job_name(flow.name, name),
            "namespace": namespace,
            "labels": {
                keys.CREATED_BY_JOB_TEMPLATE: label_of(namespace, name),
                keys.CREATED_BY_JOB_FLOW: label_of(namespace, flow.name),
            },
            "annotations": {
                keys.CREATED_BY_JOB_TEMPLATE: f"{namespace}.{name}",
                keys.CREATED_BY_JOB_FLOW: f"{namespace}.{flow.name}",
            },
            "ownerReferences": [reference(resources.JOB_FLOWS.api_version, KIND, flow.name, flow.uid)],
        },
        "spec": spec,
    }
