"""Policies as data, and as the objects of admissionregistration.k8s.io."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from volcano.api.meta import JsonObject
from volcano.api.resources import Resource

GROUP: Final = "admissionregistration.k8s.io"
CREATE: Final = ("CREATE",)
WRITE: Final = ("CREATE", "UPDATE")
CHANGE: Final = ("CREATE", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Check:
    """What must be true of an object; `message` says what is wrong when it is not.

    `said` computes the message instead, where it names what the object says.
    """

    expression: str
    message: str
    said: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """What applies to writes of one resource."""

    name: str
    resource: Resource[Any]
    operations: Sequence[str]
    conditions: Sequence[tuple[str, str]] = ()
    """(name, expression): only for objects of which all are true"""
    variables: Sequence[tuple[str, str]] = ()
    """(name, expression), each readable in those below as `variables.name`"""

    def _spec(self) -> JsonObject:
        resource = self.resource
        rule = {
            "apiGroups": [resource.group],
            "apiVersions": [resource.version],
            "operations": list(self.operations),
            "resources": [resource.plural],
        }
        spec: JsonObject = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]}}
        if self.conditions:
            spec["matchConditions"] = [{"name": name, "expression": text} for name, text in self.conditions]
        if self.variables:
            spec["variables"] = [{"name": name, "expression": text} for name, text in self.variables]
        return spec


@dataclass(frozen=True, slots=True)
class Validation(Policy):
    checks: Sequence[Check] = field(default=())

    def document(self) -> JsonObject:
        spec = self._spec()
        spec["validations"] = [
            {
                "expression": check.expression,
                "message": check.message.strip(),
                **({"messageExpression": check.said} if check.said else {}),
                "reason": "Invalid",
            }
            for check in self.checks
        ]
        return _object("v1", "ValidatingAdmissionPolicy", self.name, spec)

    def binding(self) -> JsonObject:
        spec: JsonObject = {"policyName": self.name, "validationActions": ["Deny"]}
        return _object("v1", "ValidatingAdmissionPolicyBinding", f"{self.name}-binding", spec)


@dataclass(frozen=True, slots=True)
class Mutation(Policy):
    patches: Sequence[str] = field(default=())
    """Expressions that yield lists of JSONPatch operations, applied one after another."""

    def document(self) -> JsonObject:
        spec = self._spec()
        spec["reinvocationPolicy"] = "Never"
        spec["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}} for text in self.patches]
        return _object("v1beta1", "MutatingAdmissionPolicy", self.name, spec)

    def binding(self) -> JsonObject:
        name = self.name.removesuffix("-policy") + "-binding"
        return _object("v1beta1", "MutatingAdmissionPolicyBinding", name, {"policyName": self.name})


def quoted(text: str) -> str:
    """A text as a literal of the expression language."""
    return json.dumps(text)


def listed(texts: Iterable[str]) -> str:
    return f"[{', '.join(quoted(text) for text in texts)}]"


def _object(version: str, kind: str, name: str, spec: JsonObject) -> JsonObject:
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}
