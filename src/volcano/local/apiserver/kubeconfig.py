"""The administrator's kubeconfig: everything inline, mode 0600."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from volcano.local.apiserver.certificates import Pki

_TEMPLATE = """\
apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {name}-admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {name}-admin
    namespace: default
current-context: {name}
preferences: {{}}
"""


def write(path: Path, pki: Pki, server: str, name: str = "volcano-local") -> None:
    """Write the kubeconfig of the administrator of `server` to `path`, whole or not at all."""
    text = _TEMPLATE.format(
        name=name,
        server=server,
        authority=_inline(pki.certificate("ca")),
        certificate=_inline(pki.certificate("admin")),
        key=_inline(pki.key("admin")),
    )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
