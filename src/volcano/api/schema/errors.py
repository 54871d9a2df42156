"""Field errors worded like Kubernetes', with paths that are put together only when something is wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Step: TypeAlias = str | int


class SchemaError(ValueError):
    """The schema itself cannot be used."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with one field: `{path}: {body}` is the sentence, `reason` the machine's word for it."""

    path: str
    reason: str
    body: str

    def __str__(self) -> str:
        return f"{self.path}: {self.body}" if self.path else self.body


class Problem:
    """A field error on its way up: every level it passes adds one step to its path."""

    __slots__ = ("body", "reason", "steps")

    def __init__(self, reason: str, body: str, *steps: Step) -> None:
        self.reason = reason
        self.body = body
        self.steps: list[Step] = list(steps)

    def finish(self) -> FieldError:
        path = path_of(self.steps)
        return FieldError(path, self.reason, self.body.replace("\0", path or "<root>"))


Problems: TypeAlias = list[Problem] | None


def path_of(steps: Sequence[Step]) -> str:
    """`spec.tasks[0].name` from steps noted from the inside out."""
    path = ""
    for step in reversed(steps):
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    return path


def under(step: Step, found: list[Problem], into: Problems) -> list[Problem]:
    """`found` one level further up, together with what was found `into`."""
    for problem in found:
        problem.steps.append(step)
    if into is None:
        return found
    into.extend(found)
    return into


def invalid(value: Any, rest: str) -> Problem:
    """`rest` may contain NUL where the path goes."""
    return Problem("FieldValueInvalid", f"Invalid value: {shown(value)}: {rest}")


def wrong_type(value: Any, expected: str) -> Problem:
    name = type_name(value)
    return Problem("FieldValueTypeInvalid", f'Invalid value: "{name}": \0 in body must be of type {expected}: "{name}"')


def wrong_format(value: str, expected: str) -> Problem:
    quoted = shown(value)
    return Problem("FieldValueInvalid", f"Invalid value: {quoted}: \0 in body must be of type {expected}: {quoted}")


def required(name: str) -> Problem:
    return Problem("FieldValueRequired", "Required value", name)


def unsupported(value: Any, allowed: Iterable[Any]) -> Problem:
    choices = ", ".join(shown(choice) for choice in allowed)
    return Problem("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}")


def duplicate(value: Any, index: int) -> Problem:
    return Problem("FieldValueDuplicate", f"Duplicate value: {shown(value)}", index)


def too_long(limit: int) -> Problem:
    return Problem("FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def too_many(count: int, limit: int) -> Problem:
    return Problem("FieldValueTooMany", f"Too many: {count}: must have at most {limit} items")


def shown(value: Any) -> str:
    """A value the way field errors print it."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def invalid_message(kind: str, name: str, errors: Sequence[FieldError]) -> str:
    """The sentence of a 422 answer about object `name` of `kind` (`Job.batch.volcano.sh`)."""
    subject = f'{kind} "{name}" is invalid: '
    if len(errors) == 1:
        return subject + str(errors[0])
    return f"{subject}[{', '.join(str(error) for error in errors)}]"
