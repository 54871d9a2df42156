"""Errors about one field, in the words of the Kubernetes API: what clients and people know.

Rules return them as `Cause`s; `aggregate` makes the one message of a refusal.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from volcano.webhooks.rules import documents
from volcano.webhooks.rules.model import Cause

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject


def invalid(path: str, value: Any, detail: str, hint: str = "") -> Cause:
    return Cause(path, f"Invalid value: {json.dumps(value, ensure_ascii=False)}: {detail}", hint)


def required(path: str, detail: str = "", hint: str = "") -> Cause:
    return Cause(path, f"Required value: {detail}" if detail else "Required value", hint)


def duplicate(path: str, value: Any) -> Cause:
    return Cause(path, f"Duplicate value: {json.dumps(value, ensure_ascii=False)}", "remove or rename one of the two")


def not_found(path: str, value: Any, hint: str = "") -> Cause:
    return Cause(path, f"Not found: {json.dumps(value, ensure_ascii=False)}", hint)


def forbidden(path: str, detail: str, hint: str = "") -> Cause:
    return Cause(path, f"Forbidden: {detail}", hint)


def unsupported(path: str, value: Any, allowed: Iterable[str]) -> Cause:
    values = ", ".join(json.dumps(choice) for choice in sorted(allowed))
    return Cause(path, f"Unsupported value: {json.dumps(value)}: supported values: {values}")


def choice(document: JsonObject, field: str, allowed: Collection[str], path: str) -> Iterator[Cause]:
    """A field of the object at `path` that, if it is set, must be one of a few words."""
    value = documents.text(document, field)
    if value and value not in allowed:
        yield unsupported(f"{path}.{field}", value, allowed)


def text(cause: Cause) -> str:
    return f"{cause.field}: {cause.message}" if cause.field else cause.message


def aggregate(causes: Iterable[Cause]) -> str:
    """One message for all: as it is when single, bracketed when several; repeated ones once."""
    texts = list(dict.fromkeys(map(text, causes)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
