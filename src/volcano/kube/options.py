"""The parameters of requests: selectors, delete options, query values. Used by `client`."""

from __future__ import annotations

import msgspec

from volcano.api.meta import JsonObject

Query = list[tuple[str, str]]


def selectors(label_selector: str | None, field_selector: str | None) -> Query:
    query = []
    if label_selector:
        query.append(("labelSelector", label_selector))
    if field_selector:
        query.append(("fieldSelector", field_selector))
    return query


def query_value(value: object) -> str:
    return "true" if value is True else str(value)


def delete_options(
    grace_seconds: int | None,
    propagation: str | None,
    uid: str | None,
    resource_version: str | None,
    *,
    dry_run: bool = False,
) -> bytes | None:
    """The body of a delete request, or None when every option has its default."""
    options: JsonObject = {}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if propagation is not None:
        options["propagationPolicy"] = propagation
    preconditions = {
        key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value is not None
    }
    if preconditions:
        options["preconditions"] = preconditions
    if dry_run:
        options["dryRun"] = ["All"]
    if not options:
        return None
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
