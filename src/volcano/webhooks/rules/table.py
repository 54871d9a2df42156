"""Every admission path once, and the three ways to run them: mutate, validate, review.

The rules themselves are in the file of their kind; adapters call only the functions here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from volcano.webhooks.rules import cronjobs, hypernodes, job_defaults, jobflows, jobs, podgroups, pods, queues
from volcano.webhooks.rules.decode import MalformedObject
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Rule, Settings, World, denied

BATCH: Final = "batch.volcano.sh"
SCHEDULING: Final = "scheduling.volcano.sh"
FLOW: Final = "flow.volcano.sh"
TOPOLOGY: Final = "topology.volcano.sh"
CREATE: Final = frozenset({"CREATE"})
WRITE: Final = CREATE | {"UPDATE"}
CHANGE: Final = WRITE | {"DELETE"}

RULES: Final = (
    Rule("/jobs/mutate", BATCH, "jobs", WRITE, job_defaults.mutate),
    Rule("/jobs/validate", BATCH, "jobs", WRITE, jobs.validate),
    Rule("/podgroups/mutate", SCHEDULING, "podgroups", CREATE, podgroups.mutate),
    Rule("/podgroups/validate", SCHEDULING, "podgroups", CREATE, podgroups.validate),
    Rule("/pods/mutate", "", "pods", CREATE, pods.mutate),
    Rule("/pods/validate", "", "pods", CREATE, pods.validate),
    Rule("/queues/mutate", SCHEDULING, "queues", CREATE, queues.mutate),
    Rule("/queues/validate", SCHEDULING, "queues", CHANGE, queues.validate),
    Rule("/jobflows/validate", FLOW, "jobflows", WRITE, jobflows.validate),
    Rule("/hypernodes/validate", TOPOLOGY, "hypernodes", WRITE, hypernodes.validate),
    Rule("/cronjobs/validate", BATCH, "cronjobs", WRITE, cronjobs.validate),
)


def _by_resource(phase: str) -> Mapping[tuple[str, str], Rule]:
    return {(rule.group, rule.resource): rule for rule in RULES if rule.path.endswith(phase)}


MUTATING: Final = _by_resource("/mutate")
VALIDATING: Final = _by_resource("/validate")


def decide(rule: Rule, request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    """The answer of one rule, whatever the verb; an object that is not of its kind is refused."""
    try:
        return rule.admit(request, world, settings)
    except MalformedObject as malformed:
        return denied(str(malformed), [malformed.cause])


def mutate(request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    """Defaults for the object in `request`: a JSON Patch and the patched object, or nothing to change."""
    rule = MUTATING.get((request.group, request.resource))
    if rule is None or request.operation not in rule.operations or request.subresource:
        return ALLOWED
    return decide(rule, request, world, settings)


def validate(request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    """Whether the (already mutated) object in `request` may be stored."""
    rule = VALIDATING.get((request.group, request.resource))
    if rule is None or request.operation not in rule.operations or request.subresource:
        return ALLOWED
    return decide(rule, request, world, settings)


def review(request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    """Both phases at once: mutate, then validate the outcome."""
    mutated = mutate(request, world, settings)
    if not mutated.allowed:
        return mutated
    if mutated.object is not None:
        request = msgspec.structs.replace(request, object=mutated.object)
    verdict = validate(request, world, settings)
    if not verdict.allowed or not mutated.patch:
        return verdict
    return msgspec.structs.replace(mutated, warnings=(*mutated.warnings, *verdict.warnings))
