"""What an API server refuses, as exceptions: one class per reason that callers tell apart.

Made from `Status` answers by `error_from`; raised by `client.Client`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from volcano.api.meta import Status, StatusCause, StatusDetails


class ApiError(Exception):
    """The API server refused a request."""

    status = 500
    reason = "Unknown"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str | None = None,
        details: StatusDetails | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = self.status if status is None else status
        self.reason = reason or self.reason
        self.details = details or StatusDetails()
        self.retry_after = retry_after
        self.warnings: Sequence[str] = ()
        """What the server remarked with its refusal; our admission says there what to do."""

    @property
    def causes(self) -> list[StatusCause]:
        return self.details.causes

    def explained(self) -> str:
        """The server's message, then an indented line per cause that adds a field or a hint."""
        more = [cause for cause in self.causes if cause.message and cause.message not in self.message]
        return "\n".join([self.message, *(f"  {': '.join(filter(None, (one.field, one.message)))}" for one in more)])


class BadRequest(ApiError):
    status, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    status, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    status, reason = 403, "Forbidden"

    @property
    def lacks_right(self) -> bool:
        """Whether the caller's account may not make this request; else admission or a quota refused the object."""
        of_account = 'User "' in self.message and '" cannot ' in self.message
        return of_account or "cannot set blockOwnerDeletion" in self.message


class NotFound(ApiError):
    status, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    status, reason = 405, "MethodNotAllowed"


class Conflict(ApiError):
    """The object has changed since it was read, or a precondition does not hold."""

    status, reason = 409, "Conflict"


class AlreadyExists(ApiError):
    status, reason = 409, "AlreadyExists"


class Gone(ApiError):
    """The resource version or continue token is too old: list again."""

    status, reason = 410, "Expired"


class TooLarge(ApiError):
    status, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    status, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """The object breaks a rule; `causes` names the fields."""

    status, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    status, reason = 429, "TooManyRequests"


class InternalError(ApiError):
    status, reason = 500, "InternalError"


class ServiceUnavailable(ApiError):
    status, reason = 503, "ServiceUnavailable"


class Timeout(ApiError):
    """The server could not finish in time; whether the request took effect is unknown."""

    status, reason = 504, "Timeout"


CLASSES: tuple[type[ApiError], ...] = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    AlreadyExists,
    Conflict,
    Gone,
    TooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServiceUnavailable,
    Timeout,
)
BY_REASON: Mapping[str, type[ApiError]] = {
    **{cls.reason: cls for cls in CLASSES},
    "Gone": Gone,
    "ServerTimeout": Timeout,
}
BY_STATUS: Mapping[int, type[ApiError]] = {cls.status: cls for cls in CLASSES}


def error_from(code: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """The exception for an HTTP answer of 400 or above."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, RecursionError):
        status = Status(message=body[:500].decode("utf-8", "replace").strip())
    return error_from_status(status, code, headers)


def error_from_status(status: Status, code: int = 0, headers: Mapping[str, str] | None = None) -> ApiError:
    """The exception for a `Status` object, as found in an answer or in a watch event of type ERROR."""
    code = code or status.code or 500
    cls = BY_REASON.get(status.reason) or BY_STATUS.get(code) or ApiError
    retry_after = parse_retry_after((headers or {}).get("retry-after"))
    if retry_after is None and status.details is not None and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    message = status.message or f"the server answered {code} without a message"
    return cls(message, status=code, reason=status.reason or None, details=status.details, retry_after=retry_after)


def parse_retry_after(value: str | None) -> float | None:
    """Seconds to wait according to a Retry-After header; dates are treated as absent."""
    if value is None or not value.strip().isdigit():
        return None
    return float(value)
