"""ObjectMeta as the server keeps it: names, generated names, labels, what may change and what may not."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import cause, required

if TYPE_CHECKING:
    from volcano.local.apiserver.faults import Cause

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_BASE = 58

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_KEY_RULE = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
    "(e.g. 'example.com/MyName')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_LABEL_NAMES = frozenset({"namespaces", "services"})
_PATH_NAMES = frozenset(
    f"{plural}.rbac.authorization.k8s.io" for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
)


def generated_name(base: str) -> str:
    """`base` and five characters that spell no words."""
    return base[:_GENERATED_BASE] + "".join(random.choices(_SUFFIX_ALPHABET, k=5))


def missing_name(meta: JsonObject) -> list[Cause]:
    """What keeps an object from being addressed at all."""
    given = [meta.get(field) for field in ("name", "generateName")]
    if not any(given):
        return [required("metadata.name", "name or generateName is required")]
    return [] if all(value is None or isinstance(value, str) for value in given) else _type_causes(meta)


def check(qualified: str, document: JsonObject, *, custom: bool = False) -> list[Cause]:
    """Everything wrong with an object's metadata. Kinds of users (`custom`) may call finalizers as they like."""
    metadata = document["metadata"]
    causes = _type_causes(metadata)
    if causes:
        return causes
    causes = missing_name(metadata) or name_causes(qualified, metadata["name"])
    if labels := metadata.get("labels"):
        causes += label_causes(labels, "metadata.labels")
    if annotations := metadata.get("annotations"):
        causes += _annotation_causes(annotations)
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        causes += _finalizer_causes(finalizer, index, custom=custom)
    if owners := metadata.get("ownerReferences"):
        causes += _owner_causes(owners)
    return causes


def _finalizer_causes(finalizer: str, index: int, *, custom: bool) -> list[Cause]:
    causes = key_causes(finalizer, "metadata.finalizers")
    if not custom and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        causes.append(_invalid(f"metadata.finalizers[{index}]", finalizer, why))
    return causes


def _owner_causes(owners: list[JsonObject]) -> list[Cause]:
    causes = [
        _invalid(f"metadata.ownerReferences.{field}", "", f"{what}must not be empty")
        for owner in owners
        for field, what in (("apiVersion", "version "), ("kind", ""), ("name", ""), ("uid", ""))
        if not owner.get(field)
    ]
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        shown = msgspec.json.encode(owners).decode()
        why = (
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controllers[0]} and {controllers[1]}"
        )
        causes.append(cause("metadata.ownerReferences", f"Invalid value: {shown}: {why}"))
    return causes


def name_causes(qualified: str, name: str) -> list[Cause]:
    if qualified in _PATH_NAMES:
        bad = name in (".", "..") or "/" in name or "%" in name
        return [_invalid("metadata.name", name, "may not be '.' or '..' or contain '/' or '%'")] if bad else []
    pattern, rule, limit = SUBDOMAIN, _SUBDOMAIN_RULE, 253
    if qualified in _LABEL_NAMES:
        pattern, rule, limit = LABEL, LABEL_RULE, 63
    causes = []
    if len(name) > limit:
        causes.append(_invalid("metadata.name", name, f"must be no more than {limit} characters"))
    if not pattern.fullmatch(name):
        causes.append(_invalid("metadata.name", name, rule))
    return causes


def label_causes(labels: JsonObject, field: str) -> list[Cause]:
    causes = []
    for key, value in labels.items():
        causes += key_causes(key, field)
        if value and (len(value) > 63 or not _QUALIFIED.fullmatch(value)):
            rule = "must be no more than 63 bytes" if len(value) > 63 else _VALUE_RULE
            causes.append(_invalid(field, value, rule))
    return causes


def immutable_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    """Metadata that a client tried to change and may not."""
    causes = _late_finalizers(new, old) if old.get("deletionTimestamp") else []
    return causes + [
        _invalid(f"metadata.{field}", str(new.get(field, "")), "field is immutable")
        for field in ("name", "namespace", "uid", "creationTimestamp")
        if new.get(field) != old.get(field)
    ]


def _late_finalizers(new: JsonObject, old: JsonObject) -> list[Cause]:
    added = [name for name in new.get("finalizers") or () if name not in (old.get("finalizers") or ())]
    if not added:
        return []
    names = ", ".join(f'"{name}"' for name in added)
    text = (
        "Forbidden: no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{names}}}"
    )
    return [cause("metadata.finalizers", text, "FieldValueForbidden")]


def drop_system_fields(meta: JsonObject) -> None:
    """A new object starts without what only the server sets."""
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"):
        meta.pop(field, None)


def restore_system_fields(new: JsonObject, old: JsonObject) -> None:
    """What only the server sets stays as it was, whatever the client sent."""
    for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "uid"):
        if field in old:
            new[field] = old[field]
        else:
            new.pop(field, None)
    new.pop("selfLink", None)


def _type_causes(metadata: JsonObject) -> list[Cause]:
    causes = []
    for field in ("name", "generateName", "namespace"):
        value = metadata.get(field)
        if value is not None and not isinstance(value, str):
            causes.append(_invalid(f"metadata.{field}", repr(value), "must be a string"))
    for field in ("labels", "annotations"):
        value = metadata.get(field)
        if value is not None and not _is_text_map(value):
            causes.append(_invalid(f"metadata.{field}", repr(value)[:200], "must be a map of strings to strings"))
    owners = metadata.get("ownerReferences")
    if owners is not None and not (isinstance(owners, list) and all(isinstance(owner, dict) for owner in owners)):
        causes.append(_invalid("metadata.ownerReferences", repr(owners)[:200], "must be a list of objects"))
    finalizers = metadata.get("finalizers")
    if finalizers is not None and not (isinstance(finalizers, list) and all(isinstance(x, str) for x in finalizers)):
        causes.append(_invalid("metadata.finalizers", repr(finalizers)[:200], "must be a list of strings"))
    return causes


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _annotation_causes(annotations: JsonObject) -> list[Cause]:
    causes = []
    size = 0
    for key, value in annotations.items():
        size += len(key) + len(value)
        causes += key_causes(key.lower(), "metadata.annotations")
    if size > 256 * 1024:
        causes.append(cause("metadata.annotations", "Too long: may not be more than 262144 bytes", "FieldValueTooLong"))
    return causes


def key_causes(key: str, field: str) -> list[Cause]:
    prefix, slash, name = key.rpartition("/")
    causes = []
    if slash and "/" in prefix:
        return [_invalid(field, key, _KEY_RULE)]
    if slash and not (prefix and len(prefix) <= 253 and SUBDOMAIN.fullmatch(prefix)):
        causes.append(_invalid(field, key, "prefix part " + (_SUBDOMAIN_RULE if prefix else "must be non-empty")))
    if not name:
        causes.append(_invalid(field, key, "name part must be non-empty"))
    elif len(name) > 63:
        causes.append(_invalid(field, key, "name part must be no more than 63 bytes"))
    elif not _QUALIFIED.fullmatch(name):
        causes.append(_invalid(field, key, _QUALIFIED_RULE))
    return causes


def _invalid(field: str, value: str, why: str) -> Cause:
    return cause(field, f'Invalid value: "{value}": {why}')
