"""How to reach a cluster: the resolved connection settings, and where they are looked for.

`kubeconfig` reads kubeconfig files, `credentials` renews tokens; `transport` connects with the result, and `renewal`
tells it when the files have changed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext, SSLError

from volcano.http.following import stamps_of
from volcano.http.tls import Pem, client_context
from volcano.kube.credentials import FileToken, TokenSource
from volcano.kube.renewal import Origin

__all__ = ["ClusterConfig", "ConfigError", "TokenSource", "in_cluster", "load"]

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """The settings for reaching a cluster are missing or wrong; the message names the file and the field."""


@dataclass(slots=True)
class ClusterConfig:
    """A server and how to authenticate to it. `server` is an http(s) URL or `unix:///path/to/socket`.

    `source` says where the settings come from, for error messages; `origin` says it of those that can be read again.
    `certificate` is the client's that `ssl` shows.
    """

    server: str
    ssl: SSLContext | None = None
    server_name: str | None = None
    token: TokenSource | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    namespace: str = "default"
    proxy_url: str | None = None
    compression: bool = True
    source: str = ""
    certificate: Pem | None = None
    origin: Origin | None = None


def load(
    kubeconfig: str | None = None,
    context: str | None = None,
    master: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterConfig:
    """The settings of the named kubeconfig; else of $KUBECONFIG, of ~/.kube/config, of the pod this process runs in.

    `context` chooses among the kubeconfig's contexts; `master` replaces the server's address.
    """
    from volcano.kube.kubeconfig import load_files

    if kubeconfig:
        return load_files([Path(kubeconfig).expanduser()], context, master, must_exist=True)
    listed = [Path(part).expanduser() for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    paths = listed or [Path(environment.get("HOME", "~"), ".kube", "config").expanduser()]
    if any(path.exists() for path in paths):
        return load_files(paths, context, master)
    if context:
        raise ConfigError(f"context {context!r}: no kubeconfig exists at {' or '.join(map(str, paths))}")
    if "KUBERNETES_SERVICE_HOST" in environment and (service_account / "token").exists():
        return in_cluster(environment, service_account, master)
    if master:
        return ClusterConfig(master, client_context() if master.startswith("https:") else None, source="--master")
    raise ConfigError(
        f"no cluster is configured: there is no kubeconfig at {' or '.join(map(str, paths))}, and this is not a pod: "
        "set KUBECONFIG or --kubeconfig, or start a local cluster with `vcctl local up`"
    )


def in_cluster(
    environment: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT, master: str | None = None
) -> ClusterConfig:
    """The settings a pod finds in its environment and its mounted service account; `master` replaces the address."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise ConfigError("KUBERNETES_SERVICE_HOST is not set: this process does not run in a pod")
    authority = service_account / "ca.crt"
    stamps = stamps_of([authority])
    try:
        ssl_context = client_context(authority=authority)
    except (OSError, SSLError) as error:
        raise ConfigError(f"{authority}: cannot read the cluster's certificate authority: {error}") from error
    namespace_file = service_account / "namespace"
    return ClusterConfig(
        server=master or (f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"),
        ssl=ssl_context,
        token=FileToken(service_account / "token"),
        namespace=namespace_file.read_text().strip() if namespace_file.exists() else "default",
        source=f"the service account at {service_account}",
        origin=Origin((authority,), stamps, lambda: in_cluster(environment, service_account, master)),
    )
