"""The flags of vc-webhook-manager, with the names and defaults of Volcano's; what they mean is an `Options`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from volcano.kube import flags
from volcano.kube.flags import ConnectionFlags, flag
from volcano.webhooks.identity import SECRET_NAME
from volcano.webhooks.registration import Endpoint
from volcano.webhooks.rules import RULES, Rule, Settings

DEFAULT_ADMISSION: Final = (
    "/jobs/mutate,/jobs/validate,/podgroups/mutate,/pods/validate,/pods/mutate,/queues/mutate,/queues/validate"
)


class OptionsError(ValueError):
    """Flags that make no sense, alone or together."""


@dataclass
class Flags(ConnectionFlags):
    """The command line of vc-webhook-manager as it is typed; `Options` is what it means."""

    tls_cert_file: str = flag("", "serving certificate; without these three files one is issued and renewed")
    tls_private_key_file: str = flag("", "key of the serving certificate")
    ca_cert_file: str = flag("", "authorities that the API server shall trust")
    client_ca_file: str = flag("", "whoever asks the webhooks must show a certificate of these authorities")
    listen_address: str = flag("", "host, or host:port, to serve on")
    port: int = flag(8443, "port to serve on; 0 is any free one")
    webhook_namespace: str = flag("", "namespace of the Service in front of the webhooks")
    webhook_service_name: str = flag("", "the Service in front of the webhooks")
    webhook_secret_name: str = flag(SECRET_NAME, "Secret of that namespace with the certificate that replicas share")
    webhook_url: str = flag("", "URL of the webhooks when they are not behind a Service")
    register_webhooks: bool = flag(True, "create the webhook configurations that do not exist")
    enabled_admission: str = flag(DEFAULT_ADMISSION, "comma-separated paths to serve")
    controllers_user: str = flag("", "who makes the podgroups of jobs: registered webhooks are not asked about these")
    scheduler_name: list[str] = flag(  # noqa: RUF009 - makes a dataclass field
        ["volcano"], "judge pods with this schedulerName; may be repeated", repeat="array"
    )
    admission_conf: str = flag("", "path of the resource-group file; pods are mutated only with one")
    enable_healthz: bool = flag(True, "serve /healthz, /readyz and /metrics")
    healthz_address: str = flag(":11251", "address of /healthz, /readyz and /metrics")
    shutdown_delay_duration: float = flag(
        0.0, "how long to go on answering, unready, when told to stop: until others are asked", seconds=True
    )
    graceful_shutdown_time: float = flag(30.0, "how long requests in flight may take at the end", seconds=True)
    enable_queue_allocated_pods_check: bool = flag(False, "do not let queues with allocated pods be deleted")
    max_queue_depth: int = flag(5, "levels of queues below root")
    enable_root_queue_protection: bool = flag(True, "do not let queue root be limited")
    feature_gates: dict[str, bool] = flag({}, "Gate=true,Other=false")  # noqa: RUF009 - makes a dataclass field
    version: bool = flag(False, "print the version and exit")
    verbosity: int = 0

    def settings(self) -> Settings:
        return Settings(
            scheduler_names=tuple(self.scheduler_name),
            max_queue_depth=self.max_queue_depth,
            check_allocated_pods_on_queue_delete=self.enable_queue_allocated_pods_check,
            protect_root_queue=self.enable_root_queue_protection,
            queue_admission_gates=self.feature_gates.get("SchedulingGatesQueueAdmission", False),
            pod_level_resources=self.feature_gates.get("PodLevelResources", True),
        )


@dataclass(frozen=True, slots=True)
class Options:
    """What the process was asked to do. `settings` lacks the resource groups: they come from `admission_conf`."""

    rules: tuple[Rule, ...]
    settings: Settings
    endpoint: Endpoint
    host: str
    port: int
    health_address: str | None
    graceful_seconds: float
    delay_seconds: float = 0.0
    admission_conf: Path | None = None
    secret_name: str = SECRET_NAME
    certificate_files: tuple[Path, Path, Path] | None = None
    client_authority: Path | None = None
    controllers: str = ""
    register: bool = True
    kubeconfig: str | None = None
    master: str | None = None
    verbosity: int = 0
    version: bool = False


def parse(arguments: Sequence[str]) -> Options:
    given = flags.parse(Flags, arguments, "vc-webhook-manager")
    has_service = given.webhook_namespace and given.webhook_service_name
    if not (given.webhook_url or has_service or given.version):
        raise OptionsError(
            "failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty: "
            "give --webhook-url, or --webhook-namespace and --webhook-service-name"
        )
    host, port = _listen(given.listen_address, given.port)
    return Options(
        rules=_rules(given.enabled_admission),
        settings=given.settings(),
        endpoint=Endpoint(given.webhook_url, given.webhook_namespace, given.webhook_service_name),
        host=host,
        port=port,
        health_address=given.healthz_address if given.enable_healthz else None,
        graceful_seconds=given.graceful_shutdown_time,
        delay_seconds=given.shutdown_delay_duration,
        admission_conf=Path(given.admission_conf) if given.admission_conf else None,
        secret_name=given.webhook_secret_name,
        certificate_files=_certificate_files(given),
        client_authority=Path(given.client_ca_file) if given.client_ca_file else None,
        controllers=_user(given.controllers_user),
        register=given.register_webhooks,
        kubeconfig=given.kubeconfig or None,
        master=given.master or None,
        verbosity=given.verbosity,
        version=given.version,
    )


def _rules(enabled: str) -> tuple[Rule, ...]:
    known = {rule.path: rule for rule in RULES}
    paths = [path.strip() for path in enabled.split(",") if path.strip()]
    for path in paths:
        if path not in known:
            raise OptionsError(
                f"enabled admission {path} not found on the admission registered map: there are {', '.join(known)}"
            )
    return tuple(known[path] for path in dict.fromkeys(paths))


def _user(name: str) -> str:
    if not all(character.isalnum() or character in ":.@_-/" for character in name):
        raise OptionsError(f"--controllers-user {name}: give a user name such as system:serviceaccount:NAMESPACE:NAME")
    return name


def _listen(address: str, port: int) -> tuple[str, int]:
    host, colon, own_port = address.rpartition(":")
    if colon and own_port.isdigit() and not host.endswith(":"):
        address, port = host, int(own_port)
    if not 0 <= port <= 65535:
        raise OptionsError(f"--port {port}: the port should be in the range of 1 and 65535 (or 0 for any)")
    return address.strip("[]") or "0.0.0.0", port


def _certificate_files(given: Flags) -> tuple[Path, Path, Path] | None:
    files = (given.tls_cert_file, given.tls_private_key_file, given.ca_cert_file)
    if not any(files):
        return None
    if not all(files):
        raise OptionsError("--tls-cert-file, --tls-private-key-file and --ca-cert-file go together: give all or none")
    certificate, key, authorities = map(Path, files)
    return certificate, key, authorities
