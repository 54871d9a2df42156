"""ssh: pods of a job log into each other without a password, by a key pair of their own.

Keeps a Secret with the keys and a client configuration that names every pod; it follows the job's size.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.controllers.job.plan import Attachment, Reference
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import hostname, indices, subdomain
from volcano.controllers.job.plugins.interface import JobPlugin
from volcano.controllers.owners import controller_reference

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.controllers.job.pods import Draft

HOME = "/root/.ssh"
PRIVATE_KEY = "id_rsa"
PUBLIC_KEY = "id_rsa.pub"
AUTHORIZED_KEYS = "authorized_keys"
CONFIG = "config"
_DEFAULT_PORT = 22
_LARGEST_PORT = 65535
_DIRECTORY = ".ssh"
_OWNER_ONLY = 0o600
_READABLE = 0o644


class Ssh(JobPlugin):
    name = "ssh"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments)
        self.path = flags.get("ssh-key-file-path", HOME)
        self.private_key = flags.get("ssh-private-key", "")
        self.public_key = flags.get("ssh-public-key", "")
        self.port = valid_port(flags.get("ssh-port", _DEFAULT_PORT))

    def attachments(self, job: Job) -> Sequence[Attachment]:
        data = {CONFIG: _encoded(client_config(job, self.port))}
        own = bool(self.private_key)
        if own:
            data[PRIVATE_KEY] = _encoded(self.private_key)
            data[PUBLIC_KEY] = data[AUTHORIZED_KEYS] = _encoded(self.public_key)
        meta = {
            "name": _secret_name(job),
            "namespace": job.metadata.namespace,
            "ownerReferences": [controller_reference(job)],
        }
        manifest: JsonObject = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        return [Attachment(manifest, tracked=(f"data.{CONFIG}",), needs_key_pair=not own)]

    def refreshed(self, job: Job) -> Sequence[Attachment]:
        return self.attachments(job)

    def leftovers(self, job: Job) -> Sequence[Reference]:
        return [Reference("Secret", _secret_name(job))]

    def shape(self, draft: Draft) -> None:
        name = _secret_name(draft.job)
        items = [
            {"key": key, "path": f"{_DIRECTORY}/{key}"} for key in (PRIVATE_KEY, PUBLIC_KEY, AUTHORIZED_KEYS, CONFIG)
        ]
        mode = _OWNER_ONLY if self.path == HOME else _READABLE
        draft.add_volume({"name": name, "secret": {"secretName": name, "items": items, "defaultMode": mode}})
        draft.add_mount(draft.all_containers, {"name": name, "mountPath": self.path, "subPath": _DIRECTORY})


def client_config(job: Job, port: int) -> str:
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job.spec.tasks:
        for index in indices(task):
            name = hostname(job, task, index)
            lines += [f"Host {name}", f"  HostName {name}.{subdomain(job, task)}", f"  Port {port}"]
            if (task.template.get("spec") or {}).get("hostname"):
                break  # all pods of the task answer to the same name
    return "\n".join(lines) + "\n"


def valid_port(port: int) -> int:
    return port if 1 <= port <= _LARGEST_PORT else _DEFAULT_PORT


def _secret_name(job: Job) -> str:
    return f"{job.metadata.name}-ssh"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
