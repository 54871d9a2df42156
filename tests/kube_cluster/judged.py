"""Recorded admissions asked of a server with policies: does it refuse what the rules refuse, and nothing else?

The verdict of the rules is that of both steps, mutate and validate, as a cluster with webhooks has them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.corpus.loader import cases
from tests.corpus.test_webhooks import request_of, settings_of, world_of
from volcano.api import quantity, resources
from volcano.kube.errors import ApiError, Forbidden, Invalid
from volcano.webhooks.rules import RULES, AdmissionRequest, Settings, decide

if TYPE_CHECKING:
    from volcano.api.resources import Resource
    from volcano.kube.client import Client
    from volcano.webhooks.rules import World

JsonObject = dict[str, Any]

KINDS: Final = {
    resource.plural: resource
    for resource in (
        resources.JOBS,
        resources.QUEUES,
        resources.PODGROUPS,
        resources.PODS,
        resources.HYPERNODES,
        resources.JOB_FLOWS,
        resources.CRON_JOBS,
    )
}
NAMESPACE: Final = "kube-public"
"""Where they are asked: no resource group takes the pods there to a scheduler of its own, whose pods nobody judges."""
NOT_COVERED: Final = {
    "other objects": ("job queue", "queue:", "can only submit", "submit job to", "parent", "descendants'", "ancestor"),
    "the tree of queues": ("allowed to be in the sub path", "child queues", "maximum allowed depth", "use itself as"),
    "cycles": ("directed acyclic graph", "is not DAG"),
    "pod templates": ("spec.task[", "cpu request isn't an integer"),
    "names of pods to come": ("create pod with name",),
    "what a task says of its pods' lives": ("invalid policy", "duplicate event", "duplicate exitCode", "exit"),
    "time zones and cron expressions": ("cron expression", "imeZone"),
    "the status of what is created, which the server drops": ("queue state must be in",),
    "patterns that an expression cannot compile": ("regexMatch pattern",),
}
"""What an expression that sees one object cannot tell, and words of the messages that speak of it."""


@dataclass(frozen=True)
class Question:
    """One recorded admission."""

    id: str
    kind: Resource[Any]
    request: AdmissionRequest
    world: World
    settings: Settings

    def defaults(self) -> JsonObject:
        """The object with what the rules fill in."""
        rule = next(one for one in RULES if one.path == f"/{self.request.resource}/mutate")
        answer = decide(rule, self.request, self.world, self.settings)
        return (answer.object if answer.object is not None else self.request.object) or {}

    def refusal(self) -> str:
        """What the rules say against the object; "" when nothing."""
        request = self.request
        for step in ("mutate", "validate"):
            rule = next((one for one in RULES if one.path == f"/{request.resource}/{step}"), None)
            if rule is None or request.operation not in rule.operations:
                continue
            answer = decide(rule, request, self.world, self.settings)
            if not answer.allowed:
                return answer.message or "refused"
        return ""


def questions(*areas: str) -> list[Question]:
    """Every recorded creation of an object whose settings are the usual ones."""
    found = []
    for area in areas:
        for identifier, record in cases("webhooks", area):
            kind, settings = KINDS.get(record["resource"]), settings_of(record)
            usual = settings.scheduler_names == ("volcano",)
            if kind is not None and usual and record["operation"] == "CREATE" and record["object"]:
                found.append(Question(identifier, kind, request_of(record), world_of(record), settings))
    return found


def is_covered(message: str) -> bool:
    return not any(word in message for words in NOT_COVERED.values() for word in words)


async def answered(client: Client, question: Question) -> tuple[str, bool]:
    """What the server says against the object, and whether a policy does."""
    try:
        await stored(client, question)
    except (Forbidden, Invalid) as error:
        return error.message, "AdmissionPolicy" in error.message
    except ApiError as error:
        return error.message, False
    return "", False


async def stored(client: Client, question: Question) -> JsonObject:
    """The object as the server would keep it."""
    document = copy.deepcopy(question.request.object) or {}
    meta = document.setdefault("metadata", {})
    for field in ("namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"):
        meta.pop(field, None)
    namespace = NAMESPACE if question.kind.namespaced else None
    return await client.create(question.kind.untyped, document, namespace, dry_run=True)


def lacking(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Where `found` does not say what `wanted` says; more it may say: the server has defaults of its own."""
    if isinstance(wanted, dict):
        have = found if isinstance(found, dict) else {}
        return [text for key, value in wanted.items() for text in lacking(value, have.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [text for index, value in enumerate(wanted) for text in lacking(value, found[index], f"{path}[{index}]")]
    return (
        []
        if wanted == found or (not wanted and not found) or same_amount(wanted, found)
        else [f"{path}: {found!r} instead of {wanted!r}"]
    )


def same_amount(one: Any, other: Any) -> bool:
    """Whether both are quantities, such as 0.5 and 500m, and equal: whoever writes a list anew writes them his way."""
    try:
        return quantity.parse(one) == quantity.parse(other)
    except (ValueError, TypeError, AttributeError):
        return False
