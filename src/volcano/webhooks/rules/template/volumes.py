"""Volumes of a pod template: each has a name of its own, one source, and what that source needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from volcano.webhooks.rules import names
from volcano.webhooks.rules.documents import mapping, text
from volcano.webhooks.rules.fields import duplicate, forbidden, invalid, required

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.webhooks.rules.model import Cause

# What a source must name to be usable.
REQUIRED_FIELD: Final = {
    "configMap": "name",
    "csi": "driver",
    "hostPath": "path",
    "persistentVolumeClaim": "claimName",
    "secret": "secretName",
}


def errors(volumes: Sequence[JsonObject], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        yield from _source_errors(volume, where)
        name = text(volume, "name")
        if not name:
            yield required(f"{where}.name")
            continue
        if name in seen:
            yield duplicate(f"{where}.name", name)
        seen.add(name)
        for error in names.dns_label(name):
            yield invalid(f"{where}.name", name, error)


def _source_errors(volume: JsonObject, where: str) -> Iterator[Cause]:
    sources = [key for key, value in volume.items() if key != "name" and value is not None]
    for extra in sources[1:]:
        yield forbidden(f"{where}.{extra}", "may not specify more than 1 volume type", f"keep {sources[0]} or {extra}")
    for source in sources[:1]:
        field = REQUIRED_FIELD.get(source)
        if field and not text(mapping(volume, source), field):
            yield required(f"{where}.{source}.{field}")
