"""Tells the API server about the webhooks: one configuration per path, with the authorities it shall trust.

Configurations that exist, such as those of a Helm release, only get their caBundle replaced.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from volcano.api import keys
from volcano.api.admission import (
    MatchCondition,
    MutatingWebhookConfiguration,
    RuleWithOperations,
    ServiceReference,
    ValidatingWebhookConfiguration,
    Webhook,
    WebhookClientConfig,
)
from volcano.api.meta import JsonObject, LabelSelector, LabelSelectorRequirement, ObjectMeta, ObjectReference
from volcano.api.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from volcano.kube.client import Client, PatchKind
from volcano.kube.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from volcano.webhooks.rules import Rule
from volcano.webhooks.rules.pods import JUDGED_ANNOTATIONS

log = logging.getLogger(__name__)

PREFIX: Final = "volcano-admission-service"
NAMESPACE: Final = "volcano-system"
VERSIONS: Final = {
    "": "v1",
    "batch.volcano.sh": "v1alpha1",
    "flow.volcano.sh": "v1alpha1",
    "scheduling.volcano.sh": "v1beta1",
    "topology.volcano.sh": "v1alpha1",
}
TIMEOUT_SECONDS: Final = 10
WAIT_SECONDS: Final = 300
POLL_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server finds the webhooks: at a URL, or behind a Service of a namespace."""

    url: str = ""
    namespace: str = ""
    service: str = ""

    def client_config(self, path: str, bundle: str) -> WebhookClientConfig:
        if self.url:
            return WebhookClientConfig(url=self.url.rstrip("/") + path, ca_bundle=bundle)
        service = ServiceReference(namespace=self.namespace, name=self.service, path=path, port=443)
        return WebhookClientConfig(service=service, ca_bundle=bundle)

    def reference(self) -> ObjectReference:
        """The Service that events of the webhooks are about, also where they are not behind it."""
        return ObjectReference(
            kind="Service",
            api_version="v1",
            namespace=self.namespace or NAMESPACE,
            name=self.service or PREFIX,
        )

    def is_of(self, client: JsonObject) -> bool:
        """Whether a clientConfig leads to us, or at least to no Service of somebody else."""
        service = client.get("service")
        return (
            self.url != "" or not service or (service["namespace"], service["name"]) == (self.namespace, self.service)
        )

    def hosts(self) -> list[str]:
        """The names a certificate must be for."""
        if self.url:
            return [urlsplit(self.url).hostname or ""]
        name, namespace = self.service, self.namespace
        return [f"{name}.{namespace}.svc", f"{name}.{namespace}", name, f"{name}.{namespace}.svc.cluster.local"]


Configuration: TypeAlias = MutatingWebhookConfiguration | ValidatingWebhookConfiguration


class OfAnother(ApiError):
    """A configuration that belongs to another installation: whoever trusts it must go on trusting that one."""


class Registrar:
    """Keeps the configurations of `rules` in step with the authorities that are served."""

    def __init__(
        self,
        client: Client,
        rules: Sequence[Rule],
        endpoint: Endpoint,
        scheduler_names: tuple[str, ...],
        controllers: str = "",
        *,
        create: bool,
    ) -> None:
        self._client = client
        self._rules = rules
        self._endpoint = endpoint
        self._scheduler_names = scheduler_names
        self._controllers = controllers
        self._create = create

    async def register(self, authorities: bytes) -> None:
        """Make every configuration trust `authorities`; without `create`, wait for those that do not exist yet."""
        bundle = base64.b64encode(authorities).decode()
        await asyncio.gather(*(self._register(rule, bundle) for rule in self._rules))

    async def _register(self, rule: Rule, bundle: str) -> None:
        resource = MUTATING_WEBHOOKS if is_mutating(rule) else VALIDATING_WEBHOOKS
        name = configuration_name(rule)
        for _ in range(int(WAIT_SECONDS / POLL_SECONDS)):
            try:
                await self._trust(resource.untyped, name, bundle)
                return
            except (Conflict, Invalid):
                log.debug("%s changed meanwhile, trying again", name)
            except NotFound:
                if self._create and await self._made(rule, bundle):
                    return
            await asyncio.sleep(POLL_SECONDS)
        raise NotFound(
            f"webhook configuration {name} did not appear within {WAIT_SECONDS} s: install the chart's, "
            "or start vc-webhook-manager with --register-webhooks=true",
        )

    async def _trust(self, resource: Resource[JsonObject], name: str, bundle: str) -> None:
        found = await self._client.get(resource, name)
        webhooks = found.get("webhooks") or []
        for hook in webhooks:
            if not self._endpoint.is_of(hook.get("clientConfig") or {}):
                service = hook["clientConfig"]["service"]
                raise OfAnother(
                    f"webhook configuration {name} leads to service {service['namespace']}/{service['name']}: another "
                    f"installation has it, and {self._endpoint.namespace}/{self._endpoint.service} is never asked: "
                    "remove one of the two"
                )
        wrong = [
            index for index, hook in enumerate(webhooks) if (hook.get("clientConfig") or {}).get("caBundle") != bundle
        ]
        if not wrong:
            return
        version = found["metadata"]["resourceVersion"]
        patch: list[JsonObject] = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
        patch += [{"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle} for index in wrong]
        await self._client.patch(resource, name, patch, kind=PatchKind.JSON)
        log.info("%s trusts the certificate that is served now", name)

    async def _made(self, rule: Rule, bundle: str) -> bool:
        """Create the configuration of `rule`; False when another replica was faster."""
        configuration = configuration_of(rule, self._endpoint, bundle, self._scheduler_names, self._controllers)
        resource: Resource[Any] = MUTATING_WEBHOOKS if is_mutating(rule) else VALIDATING_WEBHOOKS
        try:
            await self._client.create(resource, configuration)
        except AlreadyExists:
            return False
        except Invalid as refusal:
            if not _is_about_conditions(refusal):
                raise
            return await self._made_without_conditions(resource, configuration, rule)
        log.info("registered %s", configuration.metadata.name)
        return True

    async def _made_without_conditions(self, resource: Resource[Any], configuration: Configuration, rule: Rule) -> bool:
        """For a server that evaluates none: it asks about every pod, and must not wait for us with those of others."""
        for webhook in configuration.webhooks:
            webhook.match_conditions = []
            if rule.resource == "pods":
                webhook.failure_policy = "Ignore"
        try:
            await self._client.create(resource, configuration)
        except AlreadyExists:
            return False
        log.info("registered %s, without conditions", configuration.metadata.name)
        return True


def _is_about_conditions(refusal: Invalid) -> bool:
    causes = refusal.details.causes if refusal.details is not None else []
    return bool(causes) and all(cause.field.endswith(".matchConditions") for cause in causes)


def is_mutating(rule: Rule) -> bool:
    return rule.path.endswith("/mutate")


def configuration_name(rule: Rule) -> str:
    return PREFIX + rule.path.replace("/", "-")


def configuration_of(
    rule: Rule, endpoint: Endpoint, bundle: str, scheduler_names: tuple[str, ...], controllers: str = ""
) -> Configuration:
    """What tells the API server when to call `rule`; `controllers` is the user that makes the podgroups of jobs."""
    version = VERSIONS[rule.group]
    singular, verb = rule.resource.removesuffix("s"), rule.path.rpartition("/")[2]
    webhook = Webhook(
        name=f"{verb}{singular}.volcano.sh",
        client_config=endpoint.client_config(rule.path, bundle),
        rules=[
            RuleWithOperations(
                operations=sorted(rule.operations),
                api_groups=[rule.group],
                api_versions=[version],
                resources=[rule.resource],
                scope="*",
            )
        ],
        failure_policy="Fail",
        match_policy="Equivalent",
        side_effects="NoneOnDryRun",
        timeout_seconds=TIMEOUT_SECONDS,
        admission_review_versions=["v1"],
    )
    if rule.resource == "pods":
        _spare_other_pods(webhook, rule, endpoint, scheduler_names)
    if rule.path == "/podgroups/validate" and controllers:
        webhook.match_conditions = [
            MatchCondition(name="made-by-somebody-else", expression=_is_not_of_job(controllers))
        ]
    metadata = ObjectMeta(name=configuration_name(rule))
    if is_mutating(rule):
        webhook.reinvocation_policy = "Never"
        return MutatingWebhookConfiguration(metadata=metadata, webhooks=[webhook])
    return ValidatingWebhookConfiguration(metadata=metadata, webhooks=[webhook])


def _is_not_of_job(controllers: str) -> str:
    """What the job controller makes is right, and it heeds itself whether the queue is open."""
    owner = "owner.kind == 'Job' && owner.apiVersion.startsWith('batch.volcano.sh/')"
    owned = f"has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, {owner})"
    return f"!(request.userInfo.username == '{controllers}' && {owned})"


def _spare_other_pods(webhook: Webhook, rule: Rule, endpoint: Endpoint, scheduler_names: tuple[str, ...]) -> None:
    """Pods that are none of our business must start while we are down: they are not even asked about."""
    own = [namespace for namespace in (endpoint.namespace, "kube-system") if namespace]
    webhook.namespace_selector = LabelSelector(
        match_expressions=[LabelSelectorRequirement(key=keys.NAMESPACE_NAME, operator="NotIn", values=own)]
    )
    if is_mutating(rule):
        webhook.failure_policy = "Ignore"
        return
    names = ", ".join(f"'{name}'" for name in scheduler_names)
    marks = " || ".join(f"'{key}' in object.metadata.annotations" for key in JUDGED_ANNOTATIONS)
    webhook.match_conditions = [
        MatchCondition(name="scheduled-by-volcano", expression=f"object.spec.?schedulerName.orValue('') in [{names}]"),
        MatchCondition(name="has-something-to-judge", expression=f"has(object.metadata.annotations) && ({marks})"),
    ]
