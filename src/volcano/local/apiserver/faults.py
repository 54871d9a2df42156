"""The errors of the API server's pure parts: a Kubernetes Status in the making.

Raised by patch, strategic, apply, selectors and protobuf; status.py renders them for the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Cause = dict[str, str]
"""One entry of `details.causes`: reason, message and (where there is one) field."""


class PatchError(Exception):
    """A request that cannot be carried out as it is written."""

    def __init__(self, status: int, reason: str, message: str, causes: Sequence[Cause] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.causes: list[Cause] = list(causes)


class BadRequest(PatchError):
    """The request's text cannot be read: 400."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


class Unprocessable(PatchError):
    """The request can be read and makes no sense for this object: 422."""

    def __init__(self, message: str, causes: Sequence[Cause] = ()) -> None:
        super().__init__(422, "Invalid", message, causes)


class DecodeError(BadRequest):
    """A request body that is not what its media type promises."""


class SelectorError(BadRequest):
    """A label or field selector that cannot be parsed, or names an unsupported field."""


class ApplyConflict(PatchError):
    """Server-side apply met fields that other managers own: 409, one cause per field."""

    def __init__(self, message: str, causes: Sequence[Cause]) -> None:
        super().__init__(409, "Conflict", message, causes)
