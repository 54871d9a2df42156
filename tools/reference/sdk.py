"""The reference page of the Python client, from the signatures and docstrings of what it exports."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, is_typeddict

import volcano.sdk
from tools.reference import blocks

HEAD: Final = """\
# The Python client: reference

All names are those of `volcano`, such as `volcano.Client`. [The client for Python programs](sdk.md) tells how they go
together.
`Client`, `Job`, `FlowRun` and `CronJob` have the methods of their asynchronous twins, called without `await`.
"""

TWINS: Final = {"Client": "AsyncClient", "Job": "AsyncJob", "FlowRun": "AsyncFlowRun", "CronJob": "AsyncCronJob"}
"""Synchronous twins, whose methods are told where they are asynchronous."""


def page() -> str:
    lines = [HEAD]
    for name in volcano.sdk.__all__:
        lines += [f"## {name}", *_about(name, getattr(volcano.sdk, name))]
    return "\n".join(lines).rstrip() + "\n"


def _about(name: str, thing: Any) -> Iterator[str]:
    if name in TWINS:
        yield f"The synchronous twin of [{TWINS[name]}](#{TWINS[name].lower()}).\n"
        yield from _constructor(name, thing)
        return
    yield f"{_text(thing)}\n"
    if is_typeddict(thing) or not inspect.isclass(thing):
        yield from _options(thing)
        return
    if not issubclass(thing, BaseException):
        yield from _constructor(name, thing)
    yield from _attributes(thing)
    if issubclass(thing, BaseException):
        return
    for method, function in vars(thing).items():
        if not method.startswith("_"):
            yield from _method(method, function)


def _constructor(name: str, kind: type[Any]) -> Iterator[str]:
    if "__init__" in vars(kind) and name in ("AsyncClient", "Client", "Flow", "Typed"):
        yield f"```text\n{name}{_signature(kind.__init__)}\n```\n"


def _method(name: str, member: Any) -> Iterator[str]:
    if isinstance(member, property):
        yield f"### {name}\n\n{_text(member)}\n"
    elif inspect.isfunction(member):
        kind = "async " if _asynchronous(member) else ""
        yield f"### {name}\n\n```text\n{kind}{name}{_signature(member)}\n```\n\n{_text(member)}\n"


def _asynchronous(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _options(thing: Any) -> Iterator[str]:
    rows = [(f"`{name}`", kind, text) for name, kind, text in _fields(thing)]
    yield f"{blocks.table(('option', 'type', 'meaning'), rows)}\n"


def _attributes(kind: type[Any]) -> Iterator[str]:
    rows = [(f"`{name}`", type_, text) for name, type_, text in _fields(kind) if text and not name.startswith("_")]
    if rows:
        yield f"{blocks.table(('attribute', 'type', 'meaning'), rows)}\n"


def _fields(kind: Any) -> Iterator[tuple[str, str, str]]:
    """What the class declares, with the text that follows it."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, f"`{ast.unparse(node.annotation)}`", _literal(after)


def _literal(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""


def _signature(function: Callable[..., Any]) -> str:
    """As the source has it, without `self`."""
    signature = inspect.signature(function)
    signature = signature.replace(parameters=[value for name, value in signature.parameters.items() if name != "self"])
    text = re.sub(r"(: |-> )(['\"])(.*?)\2", r"\1\3", str(signature))
    return text.removesuffix(" -> None") if function.__name__ == "__init__" else text


def _text(thing: Any) -> str:
    return inspect.getdoc(thing) or ""
