"""Groups of commands: near names are suggested for wrong ones, and what is heavy is imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

NEAR = 0.5
"""Commands are short: two letters that changed places are half of one."""


class SuggestingGroup(click.Group):
    """A group that names the commands that begin so, or the nearest, when it does not know one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if not args or not args[0]:
                raise
            known, word = self.list_commands(ctx), args[0]
            near = [name for name in known if name.startswith(word)] or get_close_matches(word, known, 2, NEAR)
            if near:
                meant = " or ".join(map(repr, near))
                raise click.UsageError(f"No such command {word!r}. Did you mean {meant}?", ctx) from error
            raise


class LazyGroup(SuggestingGroup):
    """`commands` maps a name to "module:attribute" and the line shown in the group's help."""

    def __init__(self, *args: Any, commands: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._lazy)

    def summary(self, name: str) -> str:
        return self._lazy[name][1]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(name)) for name in self.list_commands(ctx)])
