"""svc: pods of a job reach each other by name, and nobody else reaches them.

Keeps a ConfigMap with the hosts of every task, a headless Service and (unless disabled) a NetworkPolicy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.job.plan import Attachment, Reference
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import hosts
from volcano.controllers.job.plugins.interface import JobPlugin
from volcano.controllers.job.pods import task_name
from volcano.controllers.owners import controller_reference

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.controllers.job.pods import Draft

MOUNT_PATH = "/etc/volcano"


class Svc(JobPlugin):
    name = "svc"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments, ("publish-not-ready-addresses", "disable-network-policy", "inject-hosts-env"))
        self.publish_not_ready_addresses = flags.get("publish-not-ready-addresses", False)
        self.disable_network_policy = flags.get("disable-network-policy", False)
        self.inject_hosts_env = flags.get("inject-hosts-env", True)

    def attachments(self, job: Job) -> Sequence[Attachment]:
        kept = [self._config_map(job), Attachment(self._service(job))]
        if not self.disable_network_policy:
            kept.append(Attachment(_network_policy(job)))
        return kept

    def refreshed(self, job: Job) -> Sequence[Attachment]:
        return [self._config_map(job)]

    def leftovers(self, job: Job) -> Sequence[Reference]:
        gone = [Reference("ConfigMap", _config_name(job)), Reference("Service", job.metadata.name)]
        if not self.disable_network_policy:
            gone.append(Reference("NetworkPolicy", job.metadata.name))
        return gone

    def shape(self, draft: Draft) -> None:
        spec, job = draft.spec, draft.job
        spec["hostname"] = spec.get("hostname") or draft.name
        spec["subdomain"] = spec.get("subdomain") or job.metadata.name
        if self.inject_hosts_env:
            variables = [_from_config(job, name) for task in job.spec.tasks for name in _variables(task_name(task))]
            draft.add_env(draft.all_containers, *variables)
        draft.add_volume({"name": _config_name(job), "configMap": {"name": _config_name(job)}})
        draft.add_mount(draft.all_containers, {"name": _config_name(job), "mountPath": MOUNT_PATH})

    def _config_map(self, job: Job) -> Attachment:
        data: dict[str, str] = {}
        for task in job.spec.tasks:
            names = hosts(job, task)
            hosts_key, count_key = _variables(task_name(task))
            data[f"{task_name(task).replace('-', '_')}.host"] = "\n".join(names)
            data[hosts_key] = ",".join(names)
            data[count_key] = str(len(names))
        manifest = _manifest(job, "v1", "ConfigMap", _config_name(job)) | {"data": data}
        return Attachment(manifest, tracked=("data",))

    def _service(self, job: Job) -> JsonObject:
        spec: JsonObject = {"clusterIP": "None", "selector": _pods_of(job)}
        if self.publish_not_ready_addresses:
            spec["publishNotReadyAddresses"] = True
        return _manifest(job, "v1", "Service", job.metadata.name) | {"spec": spec}


def _network_policy(job: Job) -> JsonObject:
    pods = {"matchLabels": _pods_of(job)}
    spec = {
        "podSelector": pods,
        "ingress": [{"from": [{"podSelector": pods}]}],
        "policyTypes": ["Ingress"],
    }
    return _manifest(job, "networking.k8s.io/v1", "NetworkPolicy", job.metadata.name) | {"spec": spec}


def _manifest(job: Job, api_version: str, kind: str, name: str) -> JsonObject:
    meta = {"name": name, "namespace": job.metadata.namespace, "ownerReferences": [controller_reference(job)]}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta}


def _pods_of(job: Job) -> dict[str, str]:
    return {keys.JOB_NAME: job.metadata.name, keys.JOB_NAMESPACE: job.metadata.namespace}


def _config_name(job: Job) -> str:
    return f"{job.metadata.name}-svc"


def _variables(task: str) -> tuple[str, str]:
    stem = f"VC_{task.upper().replace('-', '_')}"
    return f"{stem}_HOSTS", f"{stem}_NUM"


def _from_config(job: Job, key: str) -> JsonObject:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": _config_name(job), "key": key}}}
