"""Kubeconfig files: read, merged like kubectl does, and resolved to a `config.ClusterConfig`.

Errors name the file and the field, and what to do about it.
"""

from __future__ import annotations

import base64
import binascii
import re
import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from volcano.api.meta import without_nulls
from volcano.http.following import Stamps, stamps_of
from volcano.http.tls import Pem, client_context
from volcano.kube.config import ClusterConfig, ConfigError
from volcano.kube.credentials import FileToken, StaticToken, TokenSource
from volcano.kube.renewal import Origin

if TYPE_CHECKING:
    from volcano.kube.exec_plugin import ExecPlugin

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class Part(msgspec.Struct, rename="kebab"):
    """Base of the parts of a kubeconfig, whose fields are written with hyphens."""


class Cluster(Part):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False


class EnvVar(msgspec.Struct):
    name: str
    value: str = ""


class Exec(msgspec.Struct, rename="camel"):
    command: str = ""
    args: list[str] | None = None
    env: list[EnvVar] | None = None
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class User(Part):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    act_as: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None
    auth_provider: dict[str, Any] | None = None
    exec: Exec | None = None


class Context(Part):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(Part):
    name: str
    cluster: Cluster


class NamedUser(Part):
    name: str
    user: User = msgspec.field(default_factory=User)


class NamedContext(Part):
    name: str
    context: Context


class KubeConfig(Part):
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
    current_context: str = ""


Named = TypeVar("Named", NamedCluster, NamedUser, NamedContext)


def load_files(
    paths: Sequence[Path], context: str | None = None, master: str | None = None, *, must_exist: bool = False
) -> ClusterConfig:
    """The connection of a context found in these files. Of entries with the same name the first one counts."""
    before = stamps_of(paths)
    files = [(path, read(path)) for path in paths if must_exist or path.exists()]
    shown = ", ".join(str(path) for path, _ in files)
    wanted = context or next((file.current_context for _, file in files if file.current_context), "")
    if not wanted:
        known = [entry.name for _, file in files for entry in file.contexts or ()]
        raise ConfigError(
            f"{shown}: current-context is not set: choose one with `kubectl config use-context NAME` "
            f"(known contexts: {', '.join(known) or 'none'})"
        )
    field = "context" if context else "current-context"
    path, entry = find([(path, file.contexts) for path, file in files], wanted, f"{shown}: {field}", "context")
    place = f"{path}: contexts[{wanted!r}]"
    cluster_path, cluster = find(
        [(path, file.clusters) for path, file in files], entry.context.cluster, f"{place}.cluster", "cluster"
    )
    users = [(path, file.users) for path, file in files]
    user_path, user = (
        find(users, entry.context.user, f"{place}.user", "user") if entry.context.user else (path, NamedUser(""))
    )
    resolver = Resolver(cluster_path, cluster, user_path, user)
    config = resolver.resolve(master)
    config.namespace = entry.context.namespace or "default"
    config.source = f"context {wanted!r} of {path}"
    # Whoever chooses another context meanwhile means the next command, not one that runs.
    config.origin = Origin(
        (*paths, *resolver.read_files),
        (*before, *resolver.stamps),
        lambda: load_files(paths, wanted, master, must_exist=must_exist),
    )
    return config


def read(path: Path) -> KubeConfig:
    try:
        document = parse(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the kubeconfig: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: the kubeconfig is not valid YAML: {error}") from error
    if document is None:
        return KubeConfig()
    try:
        return msgspec.convert(without_nulls(document), KubeConfig)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ConfigError(f"{path}: not a kubeconfig: {error}") from error


def parse(text: str) -> Any:
    """The document of a YAML text. JSON is YAML, too, and read without a parser that takes long to load."""
    if text.startswith("{"):
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text)
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except yaml.MarkedYAMLError as error:
        raise ValueError(_without_contents(error.problem or "", error.problem_mark)) from None
    except yaml.YAMLError:
        raise ValueError("a character that YAML does not allow") from None


def _without_contents(problem: str, mark: Any) -> str:
    """What a YAML parser complains of, and where, without what stands there: it may be a password."""
    told = re.sub(r"'.*'|\".*\"", "…", problem, flags=re.DOTALL)
    return f"{told} (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else told


def find(files: Sequence[tuple[Path, list[Named] | None]], name: str, place: str, what: str) -> tuple[Path, Named]:
    known = []
    for path, entries in files:
        for entry in entries or ():
            if entry.name == name:
                return path, entry
            known.append(entry.name)
    raise ConfigError(f"{place}: there is no {what} named {name!r} (known: {', '.join(known) or 'none'})")


class Resolver:
    """Turns one cluster entry and one user entry into connection settings."""

    def __init__(self, cluster_path: Path, cluster: NamedCluster, user_path: Path, user: NamedUser) -> None:
        self.cluster = cluster.cluster
        self.user = user.user
        self.cluster_folder = cluster_path.parent
        self.user_folder = user_path.parent
        self.cluster_place = f"{cluster_path}: clusters[{cluster.name!r}]"
        self.user_place = f"{user_path}: users[{user.name!r}]"
        self.read_files: list[Path] = []
        self.stamps: Stamps = ()
        """Of the files, right before they were read."""

    def resolve(self, master: str | None) -> ClusterConfig:
        server = master or self.cluster.server
        if not server:
            raise ConfigError(f"{self.cluster_place}.server is not set")
        if "://" not in server:
            server = f"http://{server}"
        secure = server.startswith("https:")
        certificate = self.pem("user", "client-certificate") if secure else None
        context = self.context(certificate) if secure else None
        return ClusterConfig(
            server=server,
            ssl=context,
            server_name=self.cluster.tls_server_name or None,
            # as in kubectl, credentials are never sent over a connection that anyone can read
            token=self.token(context) if secure or server.startswith("unix:") else None,
            headers=self.headers() if secure or server.startswith("unix:") else [],
            proxy_url=self.cluster.proxy_url or None,
            compression=not self.cluster.disable_compression,
            certificate=certificate,
        )

    def context(self, certificate: Pem | None) -> ssl.SSLContext:
        """TLS settings that show this certificate of the client's."""
        authority = self.pem("cluster", "certificate-authority")
        key = self.pem("user", "client-key")
        if (certificate is None) != (key is None):
            missing = "client-key" if key is None else "client-certificate"
            raise ConfigError(f"{self.user_place}.{missing} is not set, but its counterpart is")
        try:
            return client_context(
                authority=authority, certificate=certificate, key=key, verify=not self.cluster.insecure_skip_tls_verify
            )
        except (OSError, ssl.SSLError, UnicodeDecodeError) as error:
            where = f"{self.cluster_place}.certificate-authority"
            if certificate is not None:
                where += f" or {self.user_place}.client-certificate"
            raise ConfigError(f"{where}: not usable PEM: {error}") from error

    def pem(self, owner: str, field: str) -> Pem | None:
        """A PEM given inline (which wins) or as a file relative to the kubeconfig."""
        entry: Cluster | User = self.cluster if owner == "cluster" else self.user
        place = self.cluster_place if owner == "cluster" else self.user_place
        folder = self.cluster_folder if owner == "cluster" else self.user_folder
        attribute = field.replace("-", "_")
        inline = getattr(entry, f"{attribute}_data")
        if inline:
            try:
                return base64.b64decode(inline, validate=False)
            except binascii.Error as error:
                raise ConfigError(f"{place}.{field}-data is not base64: {error}") from error
        name: str = getattr(entry, attribute)
        if not name:
            return None
        path = folder / name
        if not path.is_file():
            raise ConfigError(
                f"{place}.{field}: the file {path} does not exist: the kubeconfig is stale, fetch it again"
            )
        if path not in self.read_files:
            self.read_files.append(path)
            self.stamps += stamps_of([path])
        return path

    def token(self, context: ssl.SSLContext | None) -> TokenSource | None:
        user = self.user
        if user.exec is not None:
            return self.plugin(user.exec, context)
        if user.token_file:
            return FileToken(self.user_folder / user.token_file)
        if user.token:
            return StaticToken(user.token)
        if user.auth_provider is not None:
            raise ConfigError(
                f"{self.user_place}.auth-provider: Kubernetes clients dropped auth providers in 1.26: use exec instead"
            )
        return None

    def plugin(self, plugin: Exec, context: ssl.SSLContext | None) -> ExecPlugin:
        from volcano.kube.exec_plugin import ExecPlugin

        place = f"{self.user_place}.exec"
        if not plugin.command:
            raise ConfigError(f"{place}.command is not set")
        if plugin.api_version not in EXEC_VERSIONS:
            raise ConfigError(
                f"{place}.apiVersion is {plugin.api_version!r}: use one of {', '.join(EXEC_VERSIONS)} "
                "(renew the kubeconfig with a current version of your provider's tool)"
            )
        cluster = self.cluster
        info = {
            "server": cluster.server,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": cluster.certificate_authority_data,
            "proxy-url": cluster.proxy_url,
        }
        return ExecPlugin(
            plugin.command,
            plugin.args or [],
            plugin.api_version,
            env={variable.name: variable.value for variable in plugin.env or ()},
            folder=self.user_folder,
            interactive_mode=plugin.interactive_mode,
            cluster_info={key: value for key, value in info.items() if value} if plugin.provide_cluster_info else None,
            install_hint=plugin.install_hint,
            ssl=context,
            source=place,
        )

    def headers(self) -> list[tuple[str, str]]:
        """Basic credentials and impersonation."""
        user = self.user
        headers = []
        if user.username and not (user.token or user.token_file or user.exec):
            basic = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
            headers.append(("authorization", f"Basic {basic}"))
        if user.act_as:
            headers.append(("impersonate-user", user.act_as))
        if user.as_uid:
            headers.append(("impersonate-uid", user.as_uid))
        headers += [("impersonate-group", group) for group in user.as_groups or ()]
        for key, values in (user.as_user_extra or {}).items():
            headers += [(f"impersonate-extra-{key.lower()}", value) for value in values]
        return headers
