"""The job that a cronjob starts, as a document: all that users wrote into the template, and where it comes from.

Pure. Used by controller.py.
"""

from __future__ import annotations

import copy
import datetime
from typing import TYPE_CHECKING

from volcano.api import cron, keys
from volcano.api.meta import JsonObject
from volcano.controllers.cronjob.machine import KIND, job_name
from volcano.controllers.owners import JOB_API_VERSION, JOB_KIND, reference

if TYPE_CHECKING:
    from volcano.api.batch import CronJob


def job_for(cronjob: CronJob, document: JsonObject, scheduled: datetime.datetime) -> JsonObject:
    """The job for the time `scheduled`; `document` is the cronjob as the server keeps it."""
    template = document["spec"].get("jobTemplate") or {}
    metadata = template.get("metadata") or {}
    annotations = {
        **(metadata.get("annotations") or {}),
        keys.CRONJOB_SCHEDULED_TIMESTAMP: _stamp(cronjob, scheduled),
    }
    meta: JsonObject = {
        "name": job_name(cronjob, scheduled),
        "annotations": annotations,
        "ownerReferences": [reference(JOB_API_VERSION, KIND, cronjob.metadata.name, cronjob.metadata.uid)],
    }
    if labels := metadata.get("labels"):
        meta["labels"] = dict(labels)
    if cronjob.metadata.namespace:
        meta["namespace"] = cronjob.metadata.namespace
    spec = copy.deepcopy(template.get("spec") or {})
    return {"apiVersion": JOB_API_VERSION, "kind": JOB_KIND, "metadata": meta, "spec": spec}


def _stamp(cronjob: CronJob, scheduled: datetime.datetime) -> str:
    """RFC 3339 in the cronjob's zone, UTC unless it names one."""
    try:
        zone = cron.zone_of(cronjob.spec.time_zone or "")
    except cron.ScheduleError:
        zone = datetime.UTC
    return scheduled.astimezone(zone).isoformat(timespec="seconds").replace("+00:00", "Z")
