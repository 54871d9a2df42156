"""HyperNodes: at least one member, and patterns that compile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from volcano.api.topology import HyperNode
from volcano.webhooks.rules.decode import decoded
from volcano.webhooks.rules.fields import aggregate, invalid
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Cause, Settings, World, denied

MEMBERS: Final = "[].spec.members"
PATTERN: Final = f"{MEMBERS}.selector.regexMatch.pattern"

# What Python accepts and the pattern language of the API (RE2) does not.
_UNSUPPORTED: Final = re.compile(r"\\[1-9]|\(\?(?:[=!>#(]|<[=!]|P=)|\\Z")
_RE2_WORDS: Final = (
    ("missing ), unterminated subpattern", "missing closing )"),
    ("unbalanced parenthesis", "unexpected )"),
    ("unterminated character set", "missing closing ]"),
    ("nothing to repeat", "missing argument to repetition operator"),
    ("multiple repeat", "invalid nested repetition operator"),
    ("bad character range", "invalid character class range"),
    ("bad escape (end of pattern)", "trailing backslash at end of expression"),
    ("bad escape", "invalid escape sequence"),
)


def validate(request: AdmissionRequest, _world: World, _settings: Settings) -> AdmissionResponse:
    if request.operation not in ("CREATE", "UPDATE"):
        return denied("expect operation to be 'CREATE' or 'UPDATE'")
    wrong = [*_errors(decoded(request.object, HyperNode), request)]
    return denied(aggregate(wrong), wrong) if wrong else ALLOWED


def _errors(hypernode: HyperNode, request: AdmissionRequest) -> Iterator[Cause]:
    if not hypernode.spec.members:
        given = ((request.object or {}).get("spec") or {}).get("members")
        yield invalid(MEMBERS, given, "member must have at least one member", "name nodes or hypernodes")
    for member in hypernode.spec.members:
        match = member.selector.regex_match
        if match and (problem := _pattern_error(match.pattern)):
            yield invalid(PATTERN, match.pattern, f"member regexMatch pattern is invalid: {problem}")


def _pattern_error(pattern: str) -> str:
    if unsupported := _UNSUPPORTED.search(pattern):
        return f"error parsing regexp: invalid or unsupported Perl syntax: `{unsupported[0]}`"
    try:
        re.compile(pattern)
    except re.error as error:
        said = next((words for python, words in _RE2_WORDS if error.msg.startswith(python)), error.msg)
        return f"error parsing regexp: {said}: `{pattern}`"
    return ""
