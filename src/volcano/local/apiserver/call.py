"""One API request after routing: what it addresses, who asks, with which options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status

if TYPE_CHECKING:
    from volcano.http.message import Request
    from volcano.local.apiserver.catalog.registry import ResourceInfo


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated caller."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_master(self) -> bool:
        return "system:masters" in self.groups

    def document(self) -> JsonObject:
        """The userInfo of reviews."""
        found: JsonObject = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            found["uid"] = self.uid
        if self.extra:
            found["extra"] = {key: list(values) for key, values in self.extra}
        return found


@dataclass(slots=True)
class Call:
    """A routed request. `warnings` become Warning headers of the answer."""

    request: Request
    resource: ResourceInfo
    namespace: str | None
    name: str
    subresource: str
    user: User
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)

    def read_options(self) -> None:
        """The query parameters that every write understands."""
        for key, value in self.request.query:
            if key == "dryRun":
                if value != "All":
                    raise _invalid_option(self, "dryRun", value, ("All",))
                self.dry_run = True
            elif key == "fieldManager":
                self._check_manager(value)
                self.field_manager = value
            elif key == "fieldValidation" and value:
                if value not in ("Ignore", "Warn", "Strict"):
                    raise _invalid_option(self, "fieldValidation", value, ("", "Ignore", "Strict", "Warn"))
                self.field_validation = value

    def _check_manager(self, name: str) -> None:
        cause = None
        if len(name) > _MANAGER_LENGTH:
            text = f"Too long: may not be more than {_MANAGER_LENGTH} bytes"
            cause = status.cause("fieldManager", text, "FieldValueTooLong")
        elif not name.isprintable():
            at = next(index for index, letter in enumerate(name) if not letter.isprintable())
            text = f'Invalid value: "{name}": invalid character U+{ord(name[at]):04X} (at position {at})'
            cause = status.cause("fieldManager", text)
        if cause is not None:
            raise status.invalid_option(_OPTIONS.get(self.request.method, "ListOptions"), cause)

    def warning_headers(self) -> dict[str, str] | None:
        """What clients show their users beside the answer."""
        if not self.warnings:
            return None
        texts = (text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for text in self.warnings)
        return {"warning": ", ".join(f'299 - "{text}"' for text in dict.fromkeys(texts))}

    @property
    def manager(self) -> str:
        """The field manager: as given, else the program's name in User-Agent."""
        if self.field_manager:
            return self.field_manager
        return self.request.headers.get("user-agent", "unknown").partition("/")[0][:128] or "unknown"


_MANAGER_LENGTH = 128
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions", "DELETE": "DeleteOptions"}


def _invalid_option(call: Call, name: str, value: str, allowed: tuple[str, ...]) -> status.StatusError:
    choices = ", ".join(f'"{choice}"' for choice in allowed)
    given = f'["{value}"]' if name == "dryRun" else f'"{value}"'  # a list by its type, if not in the query
    cause = status.cause(name, f"Unsupported value: {given}: supported values: {choices}", "FieldValueNotSupported")
    return status.invalid_option(_OPTIONS.get(call.request.method, "ListOptions"), cause)
