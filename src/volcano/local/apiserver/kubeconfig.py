"""The administrator's kubeconfig: everything inline, mode 0600."""

from __future__ import annotations

import base64
import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from volcano.local.apiserver.certificates import Pki


def write(path: Path, pki: Pki, server: str, name: str = "volcano-local") -> None:
    """Write the kubeconfig of the administrator of `server` to `path`, whole or not at all.

    As JSON, which every reader of kubeconfigs takes for the YAML that it is, and our commands read sooner.
    """
    admin = {
        "client-certificate-data": _inline(pki.certificate("admin")),
        "client-key-data": _inline(pki.key("admin")),
    }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": _inline(pki.certificate("ca"))},
            }
        ],
        "users": [{"name": f"{name}-admin", "user": admin}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": f"{name}-admin", "namespace": "default"}},
        ],
        "current-context": name,
        "preferences": {},
    }
    text = json.dumps(document, indent=2) + "\n"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
