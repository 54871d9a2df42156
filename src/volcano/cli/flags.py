"""Flags and arguments that many commands have, spelled and explained once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from volcano.cli.completing import names, namespaces, queues
from volcano.cli.errors import fail

if TYPE_CHECKING:
    from volcano.api.resources import Resource

F = TypeVar("F", bound=Callable[..., Any])


def namespace_flag(*names: str, default: str = "default") -> Callable[[F], F]:
    """`--namespace`, with the short name that the program has for it."""
    return click.option(
        *(names or ("-n",)),
        "--namespace",
        default=default,
        show_default=True,
        help="Namespace to look in.",
        shell_complete=namespaces,
    )


all_namespaces_flag = click.option("-A", "--all-namespaces", is_flag=True, help="Look in all namespaces.")
queue_flag = click.option("-q", "--queue", default="", help="Only those of this queue.", shell_complete=queues)
label_flag = click.option("-l", "--labels", default="", help="Only those with these labels, such as team=a,tier!=b.")


def scope_flags(resource: Resource[Any], *, many: bool = False) -> Callable[[F], F]:
    """Where to look for objects of a kind: a namespace, or with `many` all of them. Nothing for kinds without."""

    def decorate(command: F) -> F:
        if resource.namespaced:
            return namespace_flag()(all_namespaces_flag(command) if many else command)

        @functools.wraps(command)
        def everywhere(*args: Any, **kwargs: Any) -> Any:
            return command(*args, namespace="", **({"all_namespaces": False} if many else {}), **kwargs)

        return cast("F", everywhere)

    return decorate


def one_name(missing: str, *short: str) -> Callable[[F], F]:
    """`--name`, or NAME as a positional; without either the command fails with `missing`, if it says something."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_one_name(*args: Any, name: str, name_argument: str, **kwargs: Any) -> Any:
            if name and name_argument and name != name_argument:
                raise click.UsageError(f"Two names are given, {name!r} and {name_argument!r}: give one.")
            chosen = name or name_argument
            if missing and not chosen:
                raise fail(missing)
            return command(*args, name=chosen, **kwargs)

        named = cast("F", with_one_name)
        named = click.argument("name_argument", metavar="[NAME]", required=False, default="", shell_complete=names)(
            named
        )
        return click.option(
            *(short or ("-N",)), "--name", default="", help="Its name; or give it as NAME.", shell_complete=names
        )(named)

    return decorate


def many_names(missing: str, *short: str) -> Callable[[F], F]:
    """`--name`, or any number of NAMEs; a command gets all of them as `names`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_names(*args: Any, name: str, names_argument: tuple[str, ...], **kwargs: Any) -> Any:
            chosen = tuple(dict.fromkeys((*((name,) if name else ()), *names_argument)))
            if missing and not chosen:
                raise fail(missing)
            return command(*args, names=chosen, **kwargs)

        named = cast("F", with_names)
        named = click.argument("names_argument", metavar="[NAME]...", nargs=-1, shell_complete=names)(named)
        return click.option(
            *(short or ("-N",)), "--name", default="", help="Its name; or give NAMEs.", shell_complete=names
        )(named)

    return decorate


def file_flag(*names: str, **more: Any) -> Callable[[F], F]:
    """`-f`: manifests to read."""
    return click.option(
        "-f", *(names or ("--filename",)), "files", multiple=True, metavar="FILE", type=click.Path(), **more
    )
