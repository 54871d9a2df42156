"""Whether bad objects are stopped at the door: webhooks that are registered, reachable and trusted."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterator
from typing import Final

from volcano.api.meta import JsonObject
from volcano.doctor.findings import Facts, Finding, error, name_of, warning

PREFIX: Final = "volcano-admission-service"
SOON: Final = datetime.timedelta(days=30)
SEE_LOG: Final = "see the log of vc-webhook-manager: it makes, renews and registers its certificate"


def check(facts: Facts) -> Iterator[Finding]:
    if not facts.refusal:
        yield error(
            "admission",
            "let an impossible job in (a dry run with minAvailable above the number of replicas)",
            "install vc-webhook-manager, or the policies of `vcctl policies`",
        )
    elif "failed calling webhook" in facts.refusal:
        yield error(
            "admission", f"cannot be asked: {facts.refusal}", "see that vc-webhook-manager runs and can be reached"
        )
    for configuration in _ours(facts):
        for webhook in configuration.get("webhooks") or ():
            yield from _judged(facts, f"webhook {configuration['metadata']['name']}", webhook)
    for secret in facts.of("secrets"):
        certificate = (secret.get("data") or {}).get("tls.crt", "")
        yield from _expiry(facts, f"certificate in secret {name_of(secret)}", certificate)


def _ours(facts: Facts) -> Iterator[JsonObject]:
    for plural in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        for configuration in facts.of(plural):
            if configuration["metadata"]["name"].startswith(PREFIX):
                yield configuration


def _judged(facts: Facts, subject: str, webhook: JsonObject) -> Iterator[Finding]:
    client = webhook.get("clientConfig") or {}
    bundle = client.get("caBundle") or ""
    if not bundle:
        yield error(subject, "trusts no certificate yet", SEE_LOG)
    else:
        yield from _expiry(facts, f"authority of {subject}", bundle)
    service = client.get("service")
    if not service or "endpointslices" in facts.unseen:
        return
    wanted = f"{service['namespace']}/{service['name']}"
    ready = [
        endpoint
        for slice_ in facts.of("endpointslices")
        if slice_["metadata"]["namespace"] == service["namespace"]
        and (slice_["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == service["name"]
        for endpoint in slice_.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
    ]
    if not ready:
        yield error(subject, f"has no ready pod behind service {wanted}", "see why vc-webhook-manager is not ready")


def _expiry(facts: Facts, subject: str, encoded: str) -> Iterator[Finding]:
    from cryptography import x509  # slow to load, and not every cluster has certificates to look at

    try:
        certificates = x509.load_pem_x509_certificates(base64.b64decode(encoded, validate=True))
    except ValueError:
        yield error(subject, "is not a certificate in PEM", SEE_LOG)
        return
    ends = certificates[0].not_valid_after_utc
    if ends <= facts.now:
        yield error(subject, f"ended on {ends:%Y-%m-%d}", SEE_LOG)
    elif ends - facts.now < SOON:
        yield warning(subject, f"ends on {ends:%Y-%m-%d}", SEE_LOG)
