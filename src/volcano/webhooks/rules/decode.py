"""From a raw document to its type, or a refusal that names the field of the wrong type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from volcano.api.meta import without_nulls
from volcano.webhooks.rules.model import Cause

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

T = TypeVar("T")

_AT: Final = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)


class MalformedObject(ValueError):
    """The document is not of its kind; `cause` says where."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(f"{cause.field}: {cause.message}" if cause.field else cause.message)
        self.cause = cause


def decoded(document: JsonObject | None, type_: type[T]) -> T:
    """`document` as its type; fields that are null count as absent, as in Kubernetes."""
    try:
        return msgspec.convert(document or {}, type_)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(without_nulls(document), type_)
    except msgspec.ValidationError as error:
        found = _AT.fullmatch(str(error))
        assert found is not None
        raise MalformedObject(Cause(found["path"] or "", f"Invalid value: {found['problem']}")) from error
