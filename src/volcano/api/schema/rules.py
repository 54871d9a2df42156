"""Validation rules (`x-kubernetes-validations`): those about which fields are present, evaluated natively.

Handled are has(self.x), integers, +, comparisons, !, &&, || and ?: with parentheses; other rules are skipped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from volcano.api.schema.errors import Problem, Problems

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.api.meta import JsonObject
    from volcano.api.schema.scalars import Check

Value: TypeAlias = bool | int
Term: TypeAlias = "Callable[[Any], Value]"

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<has>has\(\s*self((?:\.[A-Za-z_]\w*)+)\s*\))|(?P<number>\d+)|(?P<word>true|false)|"
    r"(?P<sign>\|\||&&|<=|>=|==|!=|[<>!?:+()-]))"
)
_COMPARISONS: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}


class UnsupportedRuleError(ValueError):
    """The rule uses more of the language than is evaluated here."""


def rule_checks(schema: JsonObject) -> list[Check]:
    """Checks for the rules of one schema that can be evaluated."""
    found: list[Check] = []
    for rule in schema.get("x-kubernetes-validations", ()):
        try:
            term = parse(rule["rule"])
        except UnsupportedRuleError:
            continue
        found.append(_check(term, rule.get("message") or f"failed rule: {rule['rule']}", schema.get("type", "object")))
    return found


def parse(text: str) -> Term:
    """A rule as a function of the object it is about."""
    parser = _Parser(_tokens(text), text)
    term = parser.ternary()
    if parser.peek() is not None:
        raise UnsupportedRuleError(text)
    return term


def _check(term: Term, message: str, kind: str) -> Check:
    def check(value: Any) -> Problems:
        if not isinstance(value, dict) or term(value):
            return None
        return [Problem("FieldValueInvalid", f'Invalid value: "{kind}": {message}')]

    return check


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnsupportedRuleError(text)
        kind = match.lastgroup or ""
        found.append(("has", match[2]) if match["has"] else (kind, match[kind]))
        position = match.end()
    return found


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], text: str) -> None:
        self._tokens = tokens
        self._text = text
        self._next = 0

    def peek(self) -> str | None:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else None

    def _take(self, *signs: str) -> str | None:
        if self._next < len(self._tokens) and self._tokens[self._next] in [("sign", sign) for sign in signs]:
            self._next += 1
            return self._tokens[self._next - 1][1]
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise UnsupportedRuleError(self._text)

    def ternary(self) -> Term:
        condition = self._either()
        if self._take("?") is None:
            return condition
        yes = self.ternary()
        self._expect(":")
        no = self.ternary()
        return lambda value: yes(value) if condition(value) else no(value)

    def _either(self) -> Term:
        terms = [self._both()]
        while self._take("||"):
            terms.append(self._both())
        return terms[0] if len(terms) == 1 else lambda value: any(term(value) for term in terms)

    def _both(self) -> Term:
        terms = [self._comparison()]
        while self._take("&&"):
            terms.append(self._comparison())
        return terms[0] if len(terms) == 1 else lambda value: all(term(value) for term in terms)

    def _comparison(self) -> Term:
        left = self._sum()
        sign = self._take(*_COMPARISONS)
        if sign is None:
            return left
        right = self._sum()
        compare = _COMPARISONS[sign]
        return lambda value: compare(left(value), right(value))

    def _sum(self) -> Term:
        terms = [self._unary()]
        while self._take("+"):
            terms.append(self._unary())
        return terms[0] if len(terms) == 1 else lambda value: sum(term(value) for term in terms)

    def _unary(self) -> Term:
        if self._take("!"):
            inner = self._unary()
            return lambda value: not inner(value)
        if self._take("("):
            inner = self.ternary()
            self._expect(")")
            return inner
        return self._atom()

    def _atom(self) -> Term:
        if self._next >= len(self._tokens):
            raise UnsupportedRuleError(self._text)
        kind, text = self._tokens[self._next]
        self._next += 1
        if kind == "has":
            steps = text.strip(".").split(".")
            return lambda value: _has(value, steps)
        if kind == "number":
            number = int(text)
            return lambda _value: number
        if kind == "word":
            truth = text == "true"
            return lambda _value: truth
        raise UnsupportedRuleError(self._text)


def _has(value: Any, steps: list[str]) -> bool:
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True
