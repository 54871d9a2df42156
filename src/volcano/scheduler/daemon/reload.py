"""The configuration in force: read at start, read again when its file changes, the last good one kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from volcano.scheduler.framework import conf as grammar, registry as registries
from volcano.scheduler.framework.conf import Conf, ConfError
from volcano.scheduler.framework.registry import Registry, RegistryError

log = logging.getLogger(__name__)


class Configuration:
    """`conf` and `registry` are always usable; `problem` says why the file on disk is not in force."""

    def __init__(
        self,
        path: str,
        *,
        plugins_dir: str = "",
        required: bool = False,
        on_reload: Callable[[str, str], None] | None = None,
    ) -> None:
        self.problem = ""
        self._path = Path(path) if path else None
        self._plugins_dir = Path(plugins_dir) if plugins_dir else None
        self._required = required
        self._on_reload = on_reload or (lambda _outcome, _message: None)
        self._seen: tuple[object, ...] = ()
        self.registry: Registry = self._registry()
        self.text = grammar.DEFAULT_CONF
        self.conf: Conf = grammar.parse(self.text, self.registry.actions)
        self._read(first=True)
        self._seen = self._stamp()

    def refresh(self) -> bool:
        """Read the files again if they changed. True if another configuration is in force now."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp
        try:
            self.registry = self._registry()
        except RegistryError as problem:
            self._reject(str(problem))
            return False
        if self._path is not None:
            return self._read(first=False)
        self._accept(f"{self._plugins_dir} is in force: its plugins and actions were read again")
        return True

    def _read(self, *, first: bool) -> bool:
        if self._path is None:
            if self._required:
                raise ConfError("--disable-default-scheduler-config needs --scheduler-conf")
            return False
        try:
            text = self._path.read_text()
            conf = grammar.parse(text, self.registry.actions)
        except (OSError, UnicodeDecodeError, ConfError) as problem:
            message = f"{self._path}: {problem}"
            if first and self._required:
                raise ConfError(message) from problem
            self._reject(message)
            return False
        for warning in conf.warnings:
            log.warning("%s: %s", self._path, warning)
        self.conf = conf
        self.text = text
        self._accept(f"{self._path} is in force: actions {', '.join(conf.actions)}")
        return True

    def _accept(self, message: str) -> None:
        self.problem = ""
        self._on_reload("loaded", message)
        log.info("%s", message)

    def _reject(self, message: str) -> None:
        self.problem = message
        self._on_reload("rejected", message)
        log.error("the configuration stays as it was: %s", message)

    def _registry(self) -> Registry:
        registry = registries.installed(registries.built_in())
        return registries.from_directory(registry, self._plugins_dir) if self._plugins_dir else registry

    def _stamp(self) -> tuple[object, ...]:
        """Changes when a file changes; symlinks are followed, as ConfigMap mounts replace them."""
        files = [self._path] if self._path else []
        if self._plugins_dir:
            files += sorted(self._plugins_dir.glob("*.py"))
        return tuple((str(path), *_state(path)) for path in files)


def _state(path: Path) -> tuple[object, ...]:
    try:
        state = path.stat()
    except OSError:
        return ()
    return (state.st_mtime_ns, state.st_size, state.st_ino)
