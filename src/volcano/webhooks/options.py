"""The flags of vc-webhook-manager, with the names and defaults of Volcano's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from volcano.api import duration
from volcano.webhooks.registration import Endpoint
from volcano.webhooks.rules import RULES, Rule, Settings

DEFAULT_ADMISSION: Final = (
    "/jobs/mutate,/jobs/validate,/podgroups/mutate,/pods/validate,/pods/mutate,/queues/mutate,/queues/validate"
)
GATES: Final = {"SchedulingGatesQueueAdmission": False, "PodLevelResources": True}


class OptionsError(ValueError):
    """A flag with a value that makes no sense."""


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
    admission_conf: Path | None = None
    certificate_files: tuple[Path, Path, Path] | None = None
    register: bool = True
    kubeconfig: str | None = None
    master: str | None = None
    verbosity: int = 0


def parse(argv: Sequence[str] | None = None) -> Options:
    flags = _parser().parse_args([_long(word) for word in argv] if argv is not None else None)
    gates = {**GATES, **_gates(flags.feature_gates)}
    settings = Settings(
        scheduler_names=tuple(flags.scheduler_name or ["volcano"]),
        max_queue_depth=flags.max_queue_depth,
        check_allocated_pods_on_queue_delete=flags.enable_queue_allocated_pods_check,
        protect_root_queue=flags.enable_root_queue_protection,
        queue_admission_gates=gates["SchedulingGatesQueueAdmission"],
        pod_level_resources=gates["PodLevelResources"],
    )
    if not (flags.webhook_url or (flags.webhook_namespace and flags.webhook_service_name)):
        raise OptionsError(
            "failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty: "
            "give --webhook-url, or --webhook-namespace and --webhook-service-name"
        )
    host, port = _listen(flags.listen_address, flags.port)
    return Options(
        rules=_rules(flags.enabled_admission),
        settings=settings,
        endpoint=Endpoint(flags.webhook_url, flags.webhook_namespace, flags.webhook_service_name),
        host=host,
        port=port,
        health_address=flags.healthz_address if flags.enable_healthz else None,
        graceful_seconds=_seconds("--graceful-shutdown-time", flags.graceful_shutdown_time),
        admission_conf=Path(flags.admission_conf) if flags.admission_conf else None,
        certificate_files=_certificate_files(flags),
        register=flags.register_webhooks,
        kubeconfig=flags.kubeconfig or None,
        master=flags.master or None,
        verbosity=flags.v,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vc-webhook-manager", description="Volcano's admission webhooks.")
    add = parser.add_argument
    add("--master", default="", help="address of the API server; overrides the kubeconfig's")
    add("--kubeconfig", default="", help="kubeconfig file; without it the usual places, then the pod's account")
    add("--kube-api-qps", type=float, default=50.0, help="accepted; a healthy server is not throttled")
    add("--kube-api-burst", type=int, default=100, help="accepted; a healthy server is not throttled")
    add("--tls-cert-file", default="", help="serving certificate; without the three files one is issued and renewed")
    add("--tls-private-key-file", default="", help="key of the serving certificate")
    add("--ca-cert-file", default="", help="authorities that the API server shall trust")
    add("--listen-address", default="", help="host, or host:port, to serve on")
    add("--port", type=int, default=8443, help="port to serve on; 0 for any free one")
    add("--webhook-namespace", default="", help="namespace of the Service in front of the webhooks")
    add("--webhook-service-name", default="", help="the Service in front of the webhooks")
    add("--webhook-url", default="", help="URL of the webhooks when they are not behind a Service")
    add("--register-webhooks", **_boolean(True), help="create the webhook configurations that do not exist")
    add("--enabled-admission", default=DEFAULT_ADMISSION, help="comma-separated paths to serve")
    add("--scheduler-name", action="append", help="scheduler whose pods are judged; may be repeated")
    add("--admission-conf", default="", help="resource-group file; pods are mutated only with one")
    add("--enable-healthz", **_boolean(True), help="serve /healthz, /readyz and /metrics")
    add("--healthz-address", default=":11251", help="where to serve them")
    add("--graceful-shutdown-time", default="30s", help="how long requests in flight may take at the end")
    add("--enable-queue-allocated-pods-check", **_boolean(False), help="keep queues with allocated pods")
    add("--max-queue-depth", type=int, default=5, help="levels of queues below root")
    add("--enable-root-queue-protection", **_boolean(True), help="refuse limits on queue root")
    add("--feature-gates", default="", help=f"name=true|false pairs; known: {', '.join(GATES)}")
    add("--log-flush-frequency", default="5s", help="accepted; logs are never held back")
    add("--logtostderr", **_boolean(True), help="accepted; logs go to standard error")
    add("-v", type=int, default=0, help="log level; 4 and more shows every decision")
    return parser


def _boolean(default: bool) -> dict[str, Any]:
    """`--flag`, `--flag=true` and `--flag=false`, as Go's flags are given."""
    return {"nargs": "?", "const": True, "default": default, "type": _truth, "metavar": "true|false"}


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _long(word: str) -> str:
    """`-flag` as `--flag`: Go's flag package takes both."""
    return f"-{word}" if word.startswith("-") and not word.startswith(("--", "-v", "-h")) and len(word) > 2 else word


def _rules(enabled: str) -> tuple[Rule, ...]:
    known = {rule.path: rule for rule in RULES}
    paths = [path.strip() for path in enabled.split(",") if path.strip()]
    for path in paths:
        if path not in known:
            raise OptionsError(
                f"enabled admission {path} not found on the admission registered map: there are {', '.join(known)}"
            )
    return tuple(known[path] for path in dict.fromkeys(paths))


def _gates(text: str) -> dict[str, bool]:
    """Gates of other programs, such as the API server's, are accepted and ignored."""
    found = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or value.lower() not in ("true", "false"):
            raise OptionsError(f"--feature-gates: {pair!r} is not of the form Name=true or Name=false")
        if name in GATES:
            found[name] = value.lower() == "true"
    return found


def _listen(address: str, port: int) -> tuple[str, int]:
    host, colon, own_port = address.rpartition(":")
    if colon and own_port.isdigit() and not host.endswith(":"):
        address, port = host, int(own_port)
    if not 0 <= port <= 65535:
        raise OptionsError(f"--port {port}: the port should be in the range of 1 and 65535 (or 0 for any)")
    return address.strip("[]") or "0.0.0.0", port


def _seconds(flag: str, text: str) -> float:
    try:
        return duration.parse_seconds(text)
    except duration.DurationError as error:
        raise OptionsError(f"{flag}: {error}") from error


def _certificate_files(flags: argparse.Namespace) -> tuple[Path, Path, Path] | None:
    given = (flags.tls_cert_file, flags.tls_private_key_file, flags.ca_cert_file)
    if not any(given):
        return None
    if not all(given):
        raise OptionsError("--tls-cert-file, --tls-private-key-file and --ca-cert-file go together: give all or none")
    certificate, key, authorities = map(Path, given)
    return certificate, key, authorities
