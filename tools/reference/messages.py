"""What the source says to users: codes of reasons, texts of refusals, reasons of events, messages of admission.

Found by reading the source, so that none is forgotten; what to do about each is written by hand on the page.
"""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from tools.reference import blocks

SOURCE: Final = Path(__file__).parents[2] / "src"
EVENTS: Final[dict[str, tuple[int | str, int]]] = {
    "Note": (0, 1),
    "note": (1, 2),
    "_note": (1, 2),
    "record": (2, 3),
    "own": (0, 1),
    "Trouble": ("Warning", 0),
}
"""Calls that make an event: its type, or where it is, and where its reason is."""
FINDINGS: Final = {"Finding": 0, "Cause": 1, "invalid": 2, "denied": 0}
"""Calls that refuse an object: where the message is."""
RULES: Final = "volcano/webhooks/rules"
TEMPLATES: Final = f"{RULES}/template"
"""Kubernetes' own rules about pods: their messages are Kubernetes'."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Call:
    """A call in the source, and where it stands."""

    node: ast.Call
    name: str
    source: Source
    function: _Function | None

    def texts(self, position: int) -> list[str]:
        """What the argument may be, with … for what is filled in; empty where it cannot be told."""
        given = self.node.args
        return self.source.texts(given[position], self.function) if position < len(given) else []


class Source:
    """A module as text and as it is when imported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse(path.read_text())

    @functools.cached_property
    def module(self) -> ModuleType:
        words = self.path.relative_to(SOURCE).with_suffix("").parts
        return importlib.import_module(".".join(words))

    def calls(self) -> Iterator[Call]:
        yield from self._calls(self.tree, None)

    def _calls(self, node: ast.AST, function: _Function | None) -> Iterator[Call]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call):
                name = getattr(child.func, "id", getattr(child.func, "attr", ""))
                yield Call(child, name, self, function)
            yield from self._calls(child, child if isinstance(child, _Function) else function)

    def texts(self, node: ast.expr, function: _Function | None) -> list[str]:
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=parts):
                return ["".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts)]
            case ast.IfExp(body=body, orelse=other):
                return [*self.texts(body, function), *self.texts(other, function)]
            case ast.Name(id=name) if function is not None and (found := self._local(name, function)):
                return found
            case ast.Name() | ast.Attribute():
                return self._imported(node)
        return []

    def _imported(self, node: ast.expr) -> list[str]:
        value: object = self.module
        for word in ast.unparse(node).split("."):
            value = getattr(value, word, None)
        return [str(value)] if isinstance(value, str) else []

    def _local(self, name: str, function: _Function) -> list[str]:
        """What is assigned to a name in a function, or handed to it as a parameter."""
        assigned = [
            text
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(goal, ast.Name) and goal.id == name for goal in node.targets)
            for text in self.texts(node.value, function)
        ]
        names = [argument.arg for argument in function.args.args if argument.arg != "self"]
        if assigned or name not in names:
            return assigned
        callers = [call for call in self.calls() if call.name == function.name]
        return [text for call in callers if call.function is not function for text in call.texts(names.index(name))]


@functools.cache
def _sources(below: str) -> tuple[Source, ...]:
    return tuple(Source(path) for path in sorted((SOURCE / below).rglob("*.py")))


def _calls(*below: str) -> Iterator[Call]:
    return (call for place in below for source in _sources(place) for call in source.calls())


def reasons() -> set[str]:
    """Codes of the records that say why something waits."""
    return {code for call in _calls("volcano/scheduler") if call.name == "Reason" for code in call.texts(1)}


def refusals() -> set[str]:
    """Texts by which nodes are refused."""
    found = {text for call in _calls("volcano/scheduler") if call.name == "Refusal" for text in call.texts(1)}
    return {text for text in found if text.strip("…")}


def events() -> dict[str, str]:
    """Reasons of events, and their types."""
    found: dict[str, str] = {}
    for call in _calls("volcano/controllers", "volcano/scheduler/daemon", "volcano/agent", "volcano/local/node"):
        forwards = call.function is not None and call.function.name in EVENTS
        if call.name in EVENTS and not forwards:
            kind, reason = EVENTS[call.name]
            types = [kind] if isinstance(kind, str) else call.texts(kind)
            types = [text for text in types if text in ("Normal", "Warning")]
            found |= {text: types[0] for text in call.texts(reason) if types and text.isalpha()}
    return found


def admission() -> set[str]:
    """Messages of Volcano's own rules."""
    calls = (call for call in _calls(RULES) if call.name in FINDINGS and TEMPLATES not in str(call.source.path))
    found = {" ".join(text.split()).strip(" ;") for call in calls for text in call.texts(FINDINGS[call.name])}
    return {text for text in found if len(text.replace("…", "").split()) > 2 and "expect operation to be" not in text}


def makers() -> dict[str, Callable[[str], str]]:
    """The blocks of the page."""
    return {
        "reasons": functools.partial(_table, "reason", reasons()),
        "refusals": functools.partial(_table, "nodes are refused with", refusals()),
        "events": _events,
        "admission": functools.partial(_table, "message", admission()),
    }


def _events(block: str) -> str:
    meant = blocks.meanings(block)
    rows = [(f"`{name}`", kind, meant.get(name, "")) for name, kind in sorted(events().items())]
    return blocks.table(("event", "type", "what to do"), rows)


def _table(head: str, keys: Iterable[str], block: str) -> str:
    meant = blocks.meanings(block)
    names = sorted({key.replace("`", "'") for key in keys}, key=str.lower)
    return blocks.table((head, "what to do"), [(f"`{name}`", meant.get(name, "")) for name in names])
