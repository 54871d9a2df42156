"""The forms in which commands print objects: tables, JSON, YAML, names, or what a JSONPath finds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from volcano.cli.errors import fail

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

F = TypeVar("F", bound=Callable[..., Any])

FORMS = ("table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE")
_JSONPATH = "jsonpath="


class OutputForm(click.ParamType[str]):
    """One of `FORMS`; a JSONPath is checked before anything is asked of the cluster."""

    name = "form"

    def __init__(self, forms: Sequence[str] = FORMS) -> None:
        self.forms = forms

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "|".join(self.forms)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if text.startswith(_JSONPATH) and FORMS[-1] in self.forms:
            from volcano.cli.jsonpath import JsonPathError, compile_template

            try:
                compile_template(text.removeprefix(_JSONPATH))
            except JsonPathError as error:
                self.fail(str(error), param, ctx)
            return text
        if text not in self.forms or text == FORMS[-1]:
            self.fail(f"{text!r} is not one of {', '.join(self.forms)}", param, ctx)
        return text


def output_flag(command: F) -> F:
    """`-o`, for commands that print objects."""
    return click.option(
        "-o", "--output", type=OutputForm(), default="table", show_default=True, help="Form of the output."
    )(command)


def document_flag(*forms: str) -> Callable[[F], F]:
    """`-o`, for commands that print something of their own; the first form is the default."""
    return click.option(
        "-o", "--output", type=OutputForm(forms), default=forms[0], show_default=True, help="Form of the output."
    )


def show(
    documents: Sequence[JsonObject],
    output: str,
    table: Callable[[Sequence[JsonObject]], str],
    wide: Callable[[Sequence[JsonObject]], str] | None = None,
    *,
    as_list: bool = True,
    headed: bool = False,
) -> None:
    """Print the objects in the form of `-o`; no objects are no error. `headed`: a table even without rows."""
    if output in ("table", "wide"):
        draw = (wide or table) if output == "wide" else table
        text = draw(documents) if documents or headed else "No resources found\n"
        click.echo(text, nl=not text.endswith("\n"))
    else:
        print_documents(documents, output, as_list=as_list)


def print_documents(documents: Sequence[JsonObject], output: str, *, as_list: bool) -> None:
    """Print API objects as JSON, YAML, `kind/name` or by JSONPath; several objects as one `List`."""
    if output == "name":
        for document in documents:
            click.echo(f"{document.get('kind', '').lower()}/{document['metadata']['name']}")
        return
    whole: Any = {"apiVersion": "v1", "kind": "List", "items": list(documents)} if as_list else documents[0]
    if output.startswith(_JSONPATH):
        from volcano.cli.jsonpath import compile_template

        click.echo(compile_template(output.removeprefix(_JSONPATH))(whole))
    else:
        click.echo(dump(whole, output), nl=False)


def dump(value: Any, output: str, *, indent: int = 4) -> str:
    """`value` as indented JSON or as YAML, with a final newline."""
    if output == "json":
        return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    if output == "yaml":
        import yaml

        return yaml.safe_dump(value, sort_keys=True, default_flow_style=False, allow_unicode=True)
    raise fail(f"unknown output format {output!r}: use json or yaml")
