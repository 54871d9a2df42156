"""The admission rules that the API server can apply by itself, as policies in its expression language.

For clusters that want no webhook. What needs other objects (queues, cycles) or a pod template stays with the webhooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.webhooks.policies.mutating import mutations
from volcano.webhooks.policies.validating import validations

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.webhooks.rules.model import Settings


def validating_policies(settings: Settings) -> list[JsonObject]:
    """ValidatingAdmissionPolicies with their bindings."""
    return [document for policy in validations(settings) for document in (policy.document(), policy.binding())]


def mutating_policies(settings: Settings) -> list[JsonObject]:
    """MutatingAdmissionPolicies with their bindings."""
    return [document for policy in mutations(settings) for document in (policy.document(), policy.binding())]
