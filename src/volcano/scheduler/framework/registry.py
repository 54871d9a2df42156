"""Which plugins and actions exist: the built-in list, entry points of installed packages, and files of a directory."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from volcano.scheduler.framework.plugin import Plugin

if TYPE_CHECKING:
    from volcano.scheduler.framework.action import Action

PLUGIN_GROUP: Final = "volcano.plugins"
ACTION_GROUP: Final = "volcano.actions"


class RegistryError(ValueError):
    """A custom plugin or action cannot be used; the message names it and says why."""


@dataclass(frozen=True)
class Registry:
    plugins: Mapping[str, type[Plugin]]
    actions: Mapping[str, type[Action]]

    def extended(self, plugins: Iterable[type[Plugin]] = (), actions: Iterable[type[Action]] = ()) -> Registry:
        """With more plugins and actions; a custom one replaces a built-in one of the same name."""
        return Registry(
            {**self.plugins, **{plugin.name: plugin for plugin in plugins}},
            {**self.actions, **{action.name: action for action in actions}},
        )


def built_in() -> Registry:
    from volcano.scheduler import actions, plugins

    return Registry(
        {plugin.name: plugin for plugin in plugins.built_in()}, {action.name: action for action in actions.built_in()}
    )


def installed(registry: Registry) -> Registry:
    """`registry` with what installed packages offer under `volcano.plugins` and `volcano.actions`."""
    from volcano.scheduler.framework.action import Action

    plugins = [_load(point, Plugin) for point in importlib.metadata.entry_points(group=PLUGIN_GROUP)]
    actions = [_load(point, Action) for point in importlib.metadata.entry_points(group=ACTION_GROUP)]
    return registry.extended(plugins, actions)


def from_directory(registry: Registry, directory: Path) -> Registry:
    """`registry` with every Plugin and Action subclass defined in the Python files of `directory`."""
    from volcano.scheduler.framework.action import Action

    classes = [found for path in sorted(directory.glob("*.py")) for found in _classes_in(path)]
    return registry.extended(
        [found for found in classes if issubclass(found, Plugin)],
        [found for found in classes if issubclass(found, Action)],
    )


class _FreshSource(importlib.machinery.SourceFileLoader):
    """Reads the source each time: cached byte code is told apart by whole seconds, and edits come faster."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _classes_in(path: Path) -> list[type[Any]]:
    from volcano.scheduler.framework.action import Action

    loader = _FreshSource(f"volcano_plugins_{path.stem}", str(path))
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(loader.name, loader, origin=str(path)))
    try:
        loader.exec_module(module)
    except Exception as problem:
        raise RegistryError(f"{path}: cannot be loaded: {type(problem).__name__}: {problem}") from problem
    return [
        member
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Plugin | Action) and member.__module__ == module.__name__ and member.name
    ]


def _load(point: importlib.metadata.EntryPoint, base: type[Any]) -> Any:
    try:
        loaded: Any = point.load()
    except Exception as problem:
        raise RegistryError(f"entry point {point.name!r} ({point.value}) cannot be loaded: {problem}") from problem
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise RegistryError(f"entry point {point.name!r} ({point.value}) is not a subclass of {base.__name__}")
    found: Any = loaded
    if not found.name:
        found.name = point.name
    return found
