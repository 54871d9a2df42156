"""The differences that stay: rules over single differences, each with its reason. What no rule explains is a fault."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.compare import Difference


@dataclass(frozen=True)
class Rule:
    reason: str
    explains: Callable[[Difference], bool]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_GO = re.compile(
    r"json: cannot unmarshal|invalid character|unexpected end of JSON|unexpected EOF|illegal base64|strconv\.|"
    r"couldn't get version/kind|error converting YAML|yaml: |parsing time|quantities must match|unknown conversion|"
    r"is registered for version|StorageError|into Go value|error decoding patch|error unmarshaling|unmarshal "
)
_WHOLE_OBJECT = re.compile(r'(Invalid|Unsupported) value: \\?"?\[?\{|\n@@')


def _is_go_text(difference: Difference) -> bool:
    """A sentence of Go's decoders, and the details that ours has beyond it."""
    place = difference.place
    if place.startswith("body.details"):
        return difference.status_equal and bool(_GO.search(difference.message))
    return place.startswith("body.message") and bool(_GO.search(_text(difference.real)))


def _quotes_an_object(difference: Difference) -> bool:
    is_message = difference.place.endswith("message") or difference.place.startswith("body.details.causes")
    return is_message and bool(_WHOLE_OBJECT.search(str(difference.real)))


def _is_fault_of_the_real_server(difference: Difference) -> bool:
    return difference.real_status == 500 and 400 <= difference.our_status < 500


RULES = (
    Rule(
        "the sentences of Go's JSON, YAML and number decoders are not copied; ours name the field",
        _is_go_text,
    ),
    Rule(
        "messages that quote a whole object in Go's own notation are not copied",
        _quotes_an_object,
    ),
    Rule(
        "a bad request that the real server answers with 500 is refused as the client's fault",
        _is_fault_of_the_real_server,
    ),
    Rule(
        "descriptions of table columns are our own prose",
        lambda difference: ".columnDefinitions" in difference.place and difference.place.endswith(".description"),
    ),
)


def reason(difference: Difference) -> str:
    """Why this difference is there; "" when nothing explains it."""
    return next((rule.reason for rule in RULES if rule.explains(difference)), "")
