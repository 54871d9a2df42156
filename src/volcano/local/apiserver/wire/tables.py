"""Tables: how `kubectl get` and its watch receive objects when they ask for columns instead of documents.

Neighbours: printers/ decides the cells; the HTTP layer negotiates `as=Table` and `includeObject`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.faults import BadRequest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from volcano.api.meta import JsonObject
    from volcano.local.apiserver.wire.printers import Printer

__all__ = ["INCLUDE_OBJECT", "partial_metadata", "render_table"]

INCLUDE_OBJECT = ("Metadata", "None", "Object")
_META_GROUP = "meta.k8s.io"


def render_table(
    printer: Printer,
    documents: Iterable[JsonObject],
    include_object: str,
    now: datetime,
    *,
    version: str = "v1",
    metadata: JsonObject | None = None,
    with_columns: bool = True,
) -> JsonObject:
    """A Table of `documents`; `metadata` is the list's own, `with_columns=False` serves later events of a watch."""
    if include_object not in INCLUDE_OBJECT:
        raise BadRequest(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include_object}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    rows = [_row(printer, document, include_object, now, version) for document in documents]
    return {
        "kind": "Table",
        "apiVersion": f"{_META_GROUP}/{version}",
        "metadata": metadata or {},
        "columnDefinitions": [column.definition for column in printer.columns] if with_columns else [],
        "rows": rows,
    }


def partial_metadata(document: JsonObject, version: str = "v1") -> JsonObject:
    """`document` reduced to its metadata, as PartialObjectMetadata."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{_META_GROUP}/{version}",
        "metadata": document.get("metadata") or {},
    }


def _row(printer: Printer, document: JsonObject, include_object: str, now: datetime, version: str) -> JsonObject:
    row: dict[str, Any] = {"cells": printer.cells(document, now)}
    if printer.conditions and (conditions := printer.conditions(document)):
        row["conditions"] = conditions
    if include_object == "None":
        row["object"] = None
    elif include_object == "Object":
        row["object"] = document
    elif include_object == "Metadata":
        row["object"] = partial_metadata(document, version)
    return row
