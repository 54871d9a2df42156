"""What is special about each kind when it is written: defaults, fields the server owns, validation.

`Strategy` is what all kinds have in common; `strategy_of` picks. Pods and namespaces have rooms of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver.admission import conditions
from volcano.local.apiserver.status import cause, required
from volcano.local.apiserver.strategies import events, metadata

if TYPE_CHECKING:
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.faults import Cause


class Strategy:
    """The behaviour of an ordinary kind."""

    graceful = False
    """Deleted objects may stay for a while to end in order."""
    tells_grace = True
    """Objects that wait for their end say how long they were given."""
    counts_deletion = True
    """Being marked for deletion is a new generation."""

    def __init__(self, resource: ResourceInfo) -> None:
        self.resource = resource

    def inward(self, document: JsonObject) -> JsonObject:
        """From the form that clients of this API version write to the stored one."""
        return document

    def outward(self, document: JsonObject) -> JsonObject:
        """From the stored form to the one that clients of this API version know."""
        return document

    def default(self, document: JsonObject) -> None:
        """Fill in what the client left out."""

    def prepare_create(self, document: JsonObject) -> None:
        """Set what only the server sets, drop what only the status endpoint takes."""
        if self.resource.has_status:
            document.pop("status", None)
        if self.resource.generation:
            document["metadata"]["generation"] = 1

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        """Keep what this endpoint does not write, count changes of the wanted state."""
        if self.resource.has_status:
            _copy_section(new, old, "status")
        if self.resource.generation and self.wanted_state_changed(new, old):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def prepare_status_update(self, new: JsonObject, old: JsonObject) -> None:
        """Everything but the status stays."""
        if self.resource.custom:
            managers = new["metadata"].get("managedFields")
            new["metadata"] = {**old["metadata"], **({"managedFields": managers} if managers else {})}
        for section in set(new) | set(old):
            if section not in ("metadata", "status"):
                _copy_section(new, old, section)

    def validate(self, document: JsonObject) -> list[Cause]:
        return metadata.check(self.resource.qualified, document, custom=self.resource.custom)

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return metadata.check(self.resource.qualified, new, custom=self.resource.custom)

    def grace_seconds(self, document: JsonObject, asked: int | None) -> int:
        """How long a deleted object stays to end in order."""
        return 0

    def mark_deleted(self, document: JsonObject) -> None:
        """The object is about to stay for a while with a deletionTimestamp."""

    def holds(self, document: JsonObject) -> bool:
        """Something still has to be done before the deleted object may go."""
        return bool(document["metadata"].get("finalizers"))

    def wanted_state_changed(self, new: JsonObject, old: JsonObject) -> bool:
        if not self.resource.custom:
            return bool(new.get("spec") != old.get("spec"))
        sections = (set(new) | set(old)) - {"metadata", "status"}
        return any(new.get(section) != old.get(section) for section in sections)


def _copy_section(new: JsonObject, old: JsonObject, section: str) -> None:
    if section in old:
        new[section] = old[section]
    else:
        new.pop(section, None)


class NamespaceStrategy(Strategy):
    """Namespaces end in two steps: emptied by a controller, then finalized."""

    tells_grace = False

    def default(self, document: JsonObject) -> None:
        name = document["metadata"].get("name") or ""
        document["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["spec"] = {"finalizers": ["kubernetes"]}
        document["status"] = {"phase": "Active"}

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        _copy_section(new, old, "spec")

    def mark_deleted(self, document: JsonObject) -> None:
        document.setdefault("status", {})["phase"] = "Terminating"

    def holds(self, document: JsonObject) -> bool:
        return super().holds(document) or bool((document.get("spec") or {}).get("finalizers"))


class ConfigStrategy(Strategy):
    """ConfigMaps: keys are file names, and what is called immutable stays."""

    sections: tuple[str, ...] = ("data", "binaryData")
    whole = "[]"
    encoded = False

    def validate(self, document: JsonObject) -> list[Cause]:
        texts = (text for section in self.sections for text in (document.get(section) or {}).values())
        causes = super().validate(document)
        if sum(map(len, texts)) > _LARGEST * (4 / 3 if self.encoded else 1):
            text = f"Too long: may not be more than {_LARGEST} bytes"
            causes.append(cause(self.whole, text, "FieldValueTooLong"))
        return causes + [
            cause(f"{section}[{key}]", f'Invalid value: "{key}": {_KEY_RULE}')
            for section in self.sections
            for key in document.get(section) or ()
            if not _KEY.fullmatch(key)
        ]

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        causes = super().validate_update(new, old)
        if old.get("immutable"):
            changed = [] if new.get("immutable") else ["immutable"]
            changed += [section for section in self.sections if new.get(section) != old.get(section)]
            causes += [cause(section, _FROZEN, "FieldValueForbidden") for section in changed]
        return causes or self.validate(new)


class SecretStrategy(ConfigStrategy):
    """stringData is data that the server encodes."""

    sections = ("data",)
    whole = "data"
    encoded = True

    def default(self, document: JsonObject) -> None:
        document.setdefault("type", "Opaque")
        texts = document.pop("stringData", None)
        if texts:
            import base64

            data = document["data"] = dict(document.get("data") or {})
            data.update({key: base64.b64encode(str(value).encode()).decode() for key, value in texts.items()})

    def validate(self, document: JsonObject) -> list[Cause]:
        data = document.get("data") or {}
        missing = [key for key in _SECRET_KEYS.get(str(document.get("type")), ()) if key not in data]
        return super().validate(document) + [required(f"data[{key}]") for key in missing]

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        if new.get("type") != old.get("type"):
            return [cause("type", f'Invalid value: "{new.get("type")}": field is immutable')]
        return super().validate_update(new, old)


_LARGEST = 1024 * 1024
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_FROZEN = "Forbidden: field is immutable when `immutable` is set"
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


class LimitRangeStrategy(Strategy):
    """Bounds of containers imply their defaults."""

    def default(self, document: JsonObject) -> None:
        """default from max, defaultRequest from default, then from min."""
        for item in (document.get("spec") or {}).get("limits") or ():
            if item.get("type") != "Container":
                continue
            defaults = {**(item.get("max") or {}), **(item.get("default") or {})}
            requests = {**(item.get("min") or {}), **defaults, **(item.get("defaultRequest") or {})}
            if defaults:
                item["default"] = defaults
            if requests:
                item["defaultRequest"] = requests


class WebhookConfigurationStrategy(Strategy):
    """Registrations of admission webhooks."""

    def default(self, document: JsonObject) -> None:
        for webhook in document.get("webhooks") or ():
            webhook.setdefault("failurePolicy", "Fail")
            webhook.setdefault("matchPolicy", "Equivalent")
            webhook.setdefault("namespaceSelector", {})
            webhook.setdefault("objectSelector", {})
            webhook.setdefault("timeoutSeconds", 10)
            if self.resource.kind.startswith("Mutating"):
                webhook.setdefault("reinvocationPolicy", "Never")
            for rule in webhook.get("rules") or ():
                rule.setdefault("scope", "*")
            if service := (webhook.get("clientConfig") or {}).get("service"):
                service.setdefault("port", 443)

    def validate(self, document: JsonObject) -> list[Cause]:
        causes = super().validate(document)
        for index, webhook in enumerate(document.get("webhooks") or ()):
            field = f"webhooks[{index}]"
            client = webhook.get("clientConfig") or {}
            if bool(client.get("url")) == bool(client.get("service")):
                causes.append(required(f"{field}.clientConfig", "exactly one of url or service is required"))
            if webhook.get("sideEffects") not in ("None", "NoneOnDryRun"):
                text = f'Unsupported value: "{webhook.get("sideEffects")}": supported values: "None", "NoneOnDryRun"'
                causes.append(cause(f"{field}.sideEffects", text, "FieldValueNotSupported"))
            causes += conditions.faults(f"{field}.matchConditions", webhook.get("matchConditions") or ())
            if "v1" not in (webhook.get("admissionReviewVersions") or ()):
                text = "Invalid value: must include at least one of v1"
                causes.append(cause(f"{field}.admissionReviewVersions", text))
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return super().validate_update(new, old) or self.validate(new)

    def wanted_state_changed(self, new: JsonObject, old: JsonObject) -> bool:
        return bool(new.get("webhooks") != old.get("webhooks"))


class NewEventStrategy(Strategy):
    """events.k8s.io/v1, stored as core/v1."""

    def inward(self, document: JsonObject) -> JsonObject:
        return events.to_core(document)

    def outward(self, document: JsonObject) -> JsonObject:
        return events.from_core(document)


class VersionedStrategy(Strategy):
    """Kinds of users with several versions: kept in one of them, shown in the one that was asked for."""

    def inward(self, document: JsonObject) -> JsonObject:
        return document | {"apiVersion": self.resource.stored_as}

    def outward(self, document: JsonObject) -> JsonObject:
        return document | {"apiVersion": self.resource.api_version}


_SPECIAL: dict[str, type[Strategy]] = {
    "namespaces": NamespaceStrategy,
    "configmaps": ConfigStrategy,
    "secrets": SecretStrategy,
    "limitranges": LimitRangeStrategy,
    "events.events.k8s.io": NewEventStrategy,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": WebhookConfigurationStrategy,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": WebhookConfigurationStrategy,
}


def strategy_of(resource: ResourceInfo) -> Strategy:
    if resource.qualified == "pods":
        from volcano.local.apiserver.strategies.pods import PodStrategy

        return PodStrategy(resource)
    if resource.qualified == "customresourcedefinitions.apiextensions.k8s.io":
        from volcano.local.apiserver.catalog.definitions import DefinitionStrategy

        return DefinitionStrategy(resource)
    if resource.several_versions:
        return VersionedStrategy(resource)
    from volcano.local.apiserver.access.rbac.strategies import rbac_strategy
    from volcano.local.apiserver.strategies.small_kinds import small_strategy
    from volcano.local.apiserver.strategies.workloads import workload_strategy

    special = workload_strategy(resource) or rbac_strategy(resource) or small_strategy(resource)
    return special or _SPECIAL.get(resource.qualified, Strategy)(resource)
