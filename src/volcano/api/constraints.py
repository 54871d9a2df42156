"""What a field's CRD schema says beyond its type; written as `Annotated[int, Schema(minimum=0, doc="...")]`.

Decoding ignores it on purpose: admission must be able to see a bad value to refuse it. Read by crds.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

DNS_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
QUALIFIED_NAME: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
REASON_NAME: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """Constraints and documentation of one field; `items` and `values` are those of list items and map values."""

    doc: str = ""
    required: bool = False
    default: Any = None
    enum: tuple[str, ...] = ()
    pattern: str = ""
    format: str = ""
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    definition: str = ""
    items: Schema | None = None
    values: Schema | None = None
    rules: tuple[tuple[str, str], ...] = ()
    merge_key: str = ""


INT32: Final = Schema(format="int32")
COUNT: Final = Schema(format="int32", minimum=0)
