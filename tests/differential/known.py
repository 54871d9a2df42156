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
    r"map\[|expected prefix \[|is registered for version|StorageError|into Go value|error decoding patch|"
    r"error unmarshaling|unmarshal "
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


def _repeats_causes(difference: Difference) -> bool:
    """The real server judges some objects twice and lists what it finds each time."""
    real, ours = difference.real, difference.ours
    if not difference.place.endswith("details.causes") or not (isinstance(real, list) and isinstance(ours, list)):
        return False
    return len(real) > len(ours) and all(item in ours for item in real) and all(item in real for item in ours)


def _is_fault_of_the_real_server(difference: Difference) -> bool:
    return difference.real_status == 500 and 400 <= difference.our_status < 500


def _says_more(difference: Difference) -> bool:
    """Our sentence goes on where Kubernetes' ends."""
    real, ours = difference.real, difference.ours
    return isinstance(real, str) and isinstance(ours, str) and len(real) > 10 and ours.startswith(real)


def _names_faults_in_another_order(difference: Difference) -> bool:
    """Several faults of one object; `difference` may be about the list or about one of them."""
    if difference.place.startswith("body.details.causes["):
        return difference.causes_are_the_same
    if difference.place != "body.message":
        return False
    words = [sorted(re.split(r"[\[\], \n]+", str(text))) for text in (difference.real, difference.ours)]
    return words[0] == words[1]


def _at(request: str, place: str) -> Callable[[Difference], bool]:
    """At places like `place`, in answers to requests like `request`."""
    return lambda difference: bool(re.search(request, difference.request) and re.match(place, difference.place))


RULES = (
    # What Kubernetes says in the words of its implementation.
    Rule("the sentences of Go's JSON, YAML and number decoders are not copied; ours name the field", _is_go_text),
    Rule("messages that quote a whole object in Go's own notation are not copied", _quotes_an_object),
    Rule("the order in which several faults are named is not kept", _names_faults_in_another_order),
    Rule("causes that the real server lists twice are listed once", _repeats_causes),
    Rule("our message is Kubernetes' and goes on to say what is possible", _says_more),
    Rule("media types that are not served are refused in words of our own", lambda d: d.real_status in (406, 415)),
    Rule(
        "selectors on fields that cannot be selected are refused in words of our own",
        _at("fieldSelector=data", r"body.message"),
    ),
    Rule(
        "a key with two slashes is refused for its prefix, without the whole grammar",
        _at("labelSelector=a/b/c", r"body.message"),
    ),
    Rule("a pod's topology keys are judged with fewer words", _at("pods$", r"body\.(message|details).*")),
    Rule("descriptions of table columns are our own prose", _at("", r".*columnDefinitions.*\.description$")),
    Rule(
        "where the real server only says that something is wrong with a JSON patch, ours says what",
        lambda d: d.place.startswith("body.details") and "rejected our request due to an error" in d.message,
    ),
    # What Kubernetes does and should not.
    Rule("a bad request that the real server answers with 500 is the client's fault", _is_fault_of_the_real_server),
    Rule(
        "the real server leaves out the time of a manager that has lost a field; ours keeps it",
        _at("", r".*managedFields\[\d+\]\.time$"),
    ),
    Rule("an empty list is [], where the real server sometimes says null", lambda d: d.real is None and d.ours == []),
    Rule(
        "a null in a map of strings is no entry, where the real server makes it an empty one",
        _at("apply-patch", r"body\.(data\.k|.*f:data\.f:k)$"),
    ),
    # What local mode does not do.
    Rule("requests for tokens note no manager", _at("/token$", r"body\.metadata\.managedFields")),
    Rule(
        "the rules of a caller come in another order",
        _at("selfsubjectrulesreviews", r"body\.status\.(nonR|r)esourceRules"),
    ),
    Rule(
        "objects that the server makes at its first start have no managers",
        _at("system-node-critical", r"body\.metadata\.managedFields"),
    ),
    Rule(
        "new nodes carry no taint until they are ready: they report ready as they register",
        _at("nodes", r"body\.spec\.taints"),
    ),
    Rule(
        "definitions are served, and gone, as soon as their request is answered",
        _at("customresourcedefinitions", r"body\.(status|kind)"),
    ),
    Rule(
        "a custom resource whose body names no kind gets that of its path",
        lambda d: "Object 'Kind' is missing" in d.message,
    ),
    Rule(
        "a scale of a custom resource without replicas says 0, where the real server fails", _at("widgets/a/scale", "")
    ),
    Rule(
        "what a schema requires is told before what the other fields of the object lack",
        _at("POST .*deployments$", r"body\.(message|details)"),
    ),
    Rule(
        "JSON schemas name an integer where it should be one, not also what cannot be one",
        _at("widgets", r"body\.(message|details)"),
    ),
    Rule(
        "a page that holds the last match names no next page, where the real server has one that is empty",
        _at("GET .*Selector", r"body\.metadata\.continue"),
    ),
    Rule("deleting a collection names no next page", _at("DELETE", r"body\.metadata\.continue")),
)


def reason(difference: Difference) -> str:
    """Why this difference is there; "" when nothing explains it."""
    return next((rule.reason for rule in RULES if rule.explains(difference)), "")
