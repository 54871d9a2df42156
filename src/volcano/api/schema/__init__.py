"""Structural schemas as Kubernetes understands them: prune, default and validate JSON documents.

`compile` turns a schema into closures once; errors.py words what they find, strict.py lists what should not be there.
"""

from __future__ import annotations

from volcano.api.schema.compiler import Compiled as Compiled, Resolver as Resolver, compile as compile  # noqa: A004
from volcano.api.schema.errors import (
    FieldError as FieldError,
    SchemaError as SchemaError,
    invalid_message as invalid_message,
)
from volcano.api.schema.strict import duplicate_fields as duplicate_fields, strict_message as strict_message
from volcano.api.schema.structural import structural_errors as structural_errors
