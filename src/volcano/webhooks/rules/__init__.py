"""The admission rules, one file per kind: pure functions of a request, the world and the settings.

`mutate` and `validate` are the two admission phases; `review` runs both. Served by `webhooks.server` over
HTTPS, by the local API server in process, and by `vcctl validate` on files.
"""

from __future__ import annotations

from volcano.webhooks.rules.model import (
    ALLOWED,
    AdmissionRequest,
    AdmissionResponse,
    Cause,
    ResourceGroup,
    Rule,
    Settings,
    World,
)
from volcano.webhooks.rules.table import MUTATING, RULES, VALIDATING, decide, mutate, review, validate

__all__ = [
    "ALLOWED",
    "MUTATING",
    "RULES",
    "VALIDATING",
    "AdmissionRequest",
    "AdmissionResponse",
    "Cause",
    "ResourceGroup",
    "Rule",
    "Settings",
    "World",
    "decide",
    "mutate",
    "review",
    "validate",
]
