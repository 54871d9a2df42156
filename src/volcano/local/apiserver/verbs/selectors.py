"""Label and field selectors: Kubernetes' grammar and errors, compiled to fast predicates.

Used by list, watch and deletecollection. A label selector matches labels, a field selector matches the object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.faults import SelectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Labels = Mapping[str, str]

__all__ = [
    "FieldRequirement",
    "FieldSelector",
    "LabelRequirement",
    "LabelSelector",
    "field_getter",
    "parse_field_selector",
    "parse_label_selector",
    "supported_fields",
]

_TOKEN = re.compile(r"\s*(?:(==|!=|[=!(),<>])|([^\s=!(),<>]+))")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_INTEGER = re.compile(r"[+-]?\d{1,19}")
_OPERATORS = {"=": "=", "==": "=", "!=": "!=", "in": "in", "notin": "notin", ">": "gt", "<": "lt"}
_OPERATORS_HINT = "in, notin, =, ==, !=, gt, lt"
_END = ""

_ANY_OBJECT = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS: dict[tuple[str, str], frozenset[str]] = {
    ("", "pods"): frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        }
    ),
    ("", "nodes"): frozenset({"spec.unschedulable"}),
    ("", "namespaces"): frozenset({"status.phase", "name"}),
    ("", "secrets"): frozenset({"type"}),
    ("", "services"): frozenset({"spec.clusterIP", "spec.type"}),
    ("", "replicationcontrollers"): frozenset({"status.replicas"}),
    ("", "events"): frozenset(
        {
            *("involvedObject." + name for name in ("kind", "namespace", "name", "uid", "apiVersion")),
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
    ("apps", "replicasets"): frozenset({"status.replicas"}),
    ("batch", "jobs"): frozenset({"status.successful"}),
    ("events.k8s.io", "events"): frozenset(
        {
            *("regarding." + name for name in ("kind", "namespace", "name", "uid", "apiVersion")),
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        }
    ),
}
_BOOLEAN_FIELDS = frozenset({"spec.unschedulable", "spec.hostNetwork"})
_NUMBER_FIELDS = frozenset({"status.replicas", "status.successful"})
_ALIASES = {"name": ("metadata", "name"), "status.successful": ("status", "succeeded")}


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    key: str
    operator: str  # "=", "!=", "in", "notin", "exists", "!", "gt", "lt"
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return "!" + self.key
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
        return f"{self.key}{ {'gt': '>', 'lt': '<'}.get(self.operator, self.operator) }{self.values[0]}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Everything in `requirements` must hold; none of them means everything matches."""

    requirements: tuple[LabelRequirement, ...]
    matches: Callable[[Labels], bool]

    @property
    def empty(self) -> bool:
        return not self.requirements

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    path: str
    equal: bool
    value: str

    def __str__(self) -> str:
        escaped = self.value.replace("\\", r"\\").replace(",", r"\,").replace("=", r"\=")
        return f"{self.path}{'=' if self.equal else '!='}{escaped}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """As LabelSelector, over fields of the object itself."""

    requirements: tuple[FieldRequirement, ...]
    matches: Callable[[Mapping[str, Any]], bool]

    @property
    def empty(self) -> bool:
        return not self.requirements

    def exact(self, path: str) -> str | None:
        """The value that `path` must have, if the selector pins it (`metadata.name=x`)."""
        return next((item.value for item in self.requirements if item.path == path and item.equal), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def supported_fields(group: str, plural: str, selectable: Collection[str] = ()) -> frozenset[str]:
    """The field labels that a resource can be selected by; `selectable` adds a CRD's selectableFields."""
    own = frozenset(path.removeprefix(".") for path in selectable)
    return _ANY_OBJECT | _FIELDS.get((group, plural), frozenset()) | own


def parse_label_selector(text: str | None) -> LabelSelector:
    """Parse `a=b,c in (d,e),!f`; raises SelectorError with Kubernetes' text."""
    requirements = tuple(_LabelParser(text or "").parse())
    return LabelSelector(requirements, _all([_label_predicate(item) for item in requirements]))


def parse_field_selector(text: str | None, supported: Collection[str] | None = None) -> FieldSelector:
    """Parse `metadata.name=a,status.phase!=Running`; fields outside `supported` are refused (None: all are fine)."""
    requirements = tuple(_field_requirement(text or "", part) for part in _split_terms(text or "") if part)
    for item in requirements:
        if supported is not None and item.path not in supported:
            known = ", ".join(sorted(supported))
            raise SelectorError(f"field label not supported: {item.path} (supported here: {known})")
    return FieldSelector(requirements, _all([_field_predicate(item) for item in requirements]))


def field_value(document: Mapping[str, Any], path: str) -> str:
    """The text that a field selector compares: absent is "", booleans and numbers by their JSON text."""
    return field_getter(path)(document)


class _LabelParser:
    def __init__(self, text: str) -> None:
        self._words: list[str] = [special or plain for special, plain in _TOKEN.findall(text)] + [_END]
        self._at = 0

    def parse(self) -> list[LabelRequirement]:
        requirements: list[LabelRequirement] = []
        word = self._peek()
        if word != _END and not self._is_key(word) and word != "!":
            raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
        while self._peek() != _END:
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error.message}") from None
            word = self._take()
            if word == _END:
                break
            if word != ",":
                raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
            after = self._peek()
            if after != "!" and not self._is_key(after):
                raise SelectorError(f"found '{after}', expected: identifier after ','")
        return requirements

    def _requirement(self) -> LabelRequirement:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if not self._is_key(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        _check_key(key)
        if negated or self._peek() in (_END, ","):
            return LabelRequirement(key, "!" if negated else "exists")
        word = self._take()
        operator = _OPERATORS.get(word)
        if operator is None:
            raise SelectorError(f"found '{word}', expected: {_OPERATORS_HINT}")
        values = self._value_set() if operator in ("in", "notin") else (self._exact_value(),)
        for value in values:
            _check_value(key, value)
        if operator in ("gt", "lt") and not _INTEGER.fullmatch(values[0]):
            raise SelectorError(
                f'values[0][{key}]: Invalid value: "{values[0]}": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )
        return LabelRequirement(key, operator, values)

    def _exact_value(self) -> str:
        word = self._peek()
        if word in (_END, ","):
            return ""
        if word in ("(", ")", "!", "=", "==", "!=", "<", ">"):
            raise SelectorError(f"found '{word}', expected: identifier")
        return self._take()

    def _value_set(self) -> tuple[str, ...]:
        if (word := self._take()) != "(":
            raise SelectorError(f"found '{word}' expected: '('")
        values: list[str] = []
        expect_value = True
        while (word := self._take()) != ")":
            if word == ",":
                if expect_value:
                    values.append("")
                expect_value = True
            elif expect_value and word not in (_END, "(", "!", "=", "==", "!=", "<", ">"):
                values.append(word)
                expect_value = False
            else:
                raise SelectorError(f"found '{word}', expected: ',' or ')'")
        if expect_value:
            values.append("")  # also between parentheses with nothing inside
        return tuple(dict.fromkeys(values))

    def _peek(self) -> str:
        return self._words[self._at]

    def _take(self) -> str:
        word = self._words[self._at]
        self._at = min(self._at + 1, len(self._words) - 1)
        return word

    @staticmethod
    def _is_key(word: str) -> bool:
        return word != _END and word[0] not in "=!(),<>"


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and not (0 < len(prefix) <= 253 and _PREFIX.fullmatch(prefix)):
        raise SelectorError(
            f'<nil>: Invalid value: "{key}": prefix part a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
        )
    if not _NAME.fullmatch(name):
        raise SelectorError(f'<nil>: Invalid value: "{key}": name part {_name_rule(name)}')


def _check_value(key: str, value: str) -> None:
    if value and not _NAME.fullmatch(value):
        rule = (
            _name_rule(value)
            if len(value) > 63
            else (
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character"
            )
        )
        raise SelectorError(f'values[0][{key}]: Invalid value: "{value}": {rule}')


def _name_rule(name: str) -> str:
    if not name:
        return "must be non-empty"
    if len(name) > 63:
        return "must be no more than 63 characters"
    return (
        "must consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )


def _label_predicate(item: LabelRequirement) -> Callable[[Labels], bool]:
    key, operator = item.key, item.operator
    if operator == "=":
        wanted = item.values[0]
        return lambda labels: labels.get(key) == wanted
    if operator == "!=":
        unwanted = item.values[0]
        return lambda labels: labels.get(key) != unwanted
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    values = frozenset(item.values)
    if operator == "in":
        return lambda labels: labels.get(key) in values
    if operator == "notin":
        return lambda labels: labels.get(key) not in values
    return _comparison(key, int(item.values[0]), above=operator == "gt")


def _comparison(key: str, bound: int, *, above: bool) -> Callable[[Labels], bool]:
    def compare(labels: Labels) -> bool:
        value = labels.get(key)
        if value is None or not _INTEGER.fullmatch(value):
            return False
        return int(value) > bound if above else int(value) < bound

    return compare


def _all(predicates: list[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    if not predicates:
        return lambda _: True
    if len(predicates) == 1:
        return predicates[0]
    return lambda item: all(predicate(item) for predicate in predicates)


def _split_terms(text: str) -> list[str]:
    return re.findall(r"(?:\\.|[^,\\]|\\$)+", text)


def _field_requirement(text: str, part: str) -> FieldRequirement:
    match = re.fullmatch(r"((?:\\.|[^=!\\])*)(!=|==|=)(.*)", part, re.DOTALL)
    if match is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldRequirement(match[1].strip(), match[2] != "!=", _unescape(text, match[3]))


def _unescape(text: str, value: str) -> str:
    if re.search(r"(?<!\\)(?:\\\\)*\\(?:[^\\,=]|$)", value):
        raise SelectorError(f"invalid selector: '{text}'; '\\' escapes only '\\', ',' and '=' in '{value}'")
    if re.search(r"(?<!\\)(?:\\\\)*=", value):
        raise SelectorError(f"invalid selector: '{text}'; '=' inside the value '{value}' must be written '\\='")
    return re.sub(r"\\(.)", r"\1", value)


def _field_predicate(item: FieldRequirement) -> Callable[[Mapping[str, Any]], bool]:
    get, value = field_getter(item.path), item.value
    if item.equal:
        return lambda document: get(document) == value
    return lambda document: get(document) != value


def field_getter(path: str) -> Callable[[Mapping[str, Any]], str]:
    """A function that reads the text of one field, as `field_value` does, for use on many objects."""
    if path == "source":
        return _event_source
    keys = _ALIASES.get(path) or tuple(path.split("."))
    absent = "false" if path in _BOOLEAN_FIELDS else "0" if path in _NUMBER_FIELDS else ""

    def get(document: Mapping[str, Any]) -> str:
        value: Any = document
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
            if value is None:
                return absent
        if isinstance(value, str):
            return value
        return ("true" if value else "false") if isinstance(value, bool) else str(value)

    return get


def _event_source(document: Mapping[str, Any]) -> str:
    source = (document.get("source") or {}).get("component") or document.get("reportingComponent")
    return source if isinstance(source, str) else ""
