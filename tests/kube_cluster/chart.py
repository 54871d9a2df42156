"""The Helm chart on a test cluster: all of it but Deployments and DaemonSets, whose daemons run here as processes.

They act as the chart's accounts, with no more rights than its roles give them.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import yaml
from tools.chart import NAMESPACE, rendered

from tests.kubectl import binaries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address

LEFT_OUT = ("Deployment", "DaemonSet")
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
ACCOUNTS = ("volcano-scheduler", "volcano-controllers", "volcano-admission")


def install(address: Address, webhooks: str) -> None:
    """Apply the chart, with its webhooks at the URL `webhooks`, and write a kubeconfig for each account."""
    documents = [document for document in parts() if document["kind"] not in LEFT_OUT]
    for document in documents:
        for webhook in document.get("webhooks", ()):
            webhook["clientConfig"] = {"url": webhooks + webhook["clientConfig"]["service"]["path"]}
    apply(address.kubeconfig, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *documents])
    write_kubeconfigs(address, documents)


def install_accounts(address: Address, *values: str) -> None:
    """Only who the daemons are and what they may do, and a kubeconfig for each account."""
    documents = [document for document in parts(*values) if document["kind"] in RIGHTS]
    apply(address.kubeconfig, documents)
    write_kubeconfigs(address, documents)


def write_kubeconfigs(address: Address, documents: Sequence[dict[str, Any]]) -> None:
    """For each account among the documents, what it connects with."""
    for document in documents:
        if document["kind"] == "ServiceAccount":
            account = document["metadata"]["name"]
            write_kubeconfig(address, account, token(address, account))


def kubeconfig_of(address: Address, account: str) -> Path:
    """What `account` connects with; the administrator's kubeconfig where the chart is not installed."""
    own = _path(address, account)
    return own if own.exists() else address.kubeconfig


def token(address: Address, account: str, namespace: str = NAMESPACE) -> str:
    command = [str(binaries.installed()), f"--kubeconfig={address.kubeconfig}", "-n", namespace]
    words = ["create", "token", account, "--duration=12h"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=300, check=True)
    return done.stdout.strip()


def write_kubeconfig(address: Address, account: str, token: str) -> None:
    config = yaml.safe_load(address.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    _path(address, account).write_text(yaml.safe_dump(config))


def parts(*values: str) -> list[dict[str, Any]]:
    """The documents of the chart with these values, CustomResourceDefinitions and roles first."""
    return [
        document
        for document in yaml.load_all(rendered(*values), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        if document
    ]


def admission() -> str:
    """The flag by which the chart tells its webhooks what to judge; they have no rights for more."""
    deployments = [document for document in parts() if document["kind"] == "Deployment"]
    containers = [container for each in deployments for container in each["spec"]["template"]["spec"]["containers"]]
    arguments = [argument for container in containers for argument in container.get("args", ())]
    return next(argument for argument in arguments if argument.startswith("--enabled-admission="))


def apply(kubeconfig: Path, documents: Sequence[dict[str, Any]], *flags: str) -> str:
    """Server-side apply by kubectl; what it says."""
    command = [str(binaries.installed()), f"--kubeconfig={kubeconfig}", "apply", "--server-side", *flags, "-f", "-"]
    text = yaml.safe_dump_all(documents)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _path(address: Address, account: str) -> Path:
    return address.kubeconfig.with_name(f"{account}.kubeconfig")
