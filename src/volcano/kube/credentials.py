"""Where bearer tokens come from: given ones and files that are rotated; `exec_plugin` has the third kind.

Chosen by `config` and `kubeconfig`; asked by `transport` before every request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

REREAD_SECONDS = 60.0


class CredentialError(ConnectionError):
    """No credentials could be had."""


class TokenSource(Protocol):
    """Gives the bearer token to send now."""

    async def current(self) -> str | None:
        """The token; asked before every request, so renewing is this object's business."""

    def reject(self) -> bool:
        """The server refused the last token. True when asking again may give another one."""


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token that never changes."""

    token: str

    async def current(self) -> str | None:
        return self.token

    def reject(self) -> bool:
        return False


@dataclass(slots=True)
class FileToken:
    """A token kept in a file that somebody else renews, as a pod's service account token is."""

    path: Path
    clock: Callable[[], float] = time.monotonic
    _token: str | None = None
    _read_at: float = 0.0

    async def current(self) -> str | None:
        now = self.clock()
        if self._token is None or now - self._read_at > REREAD_SECONDS:
            try:
                self._token = self.path.read_text().strip()
            except OSError as error:
                if self._token is None:
                    raise CredentialError(f"{self.path}: cannot read the token: {error.strerror}") from error
            self._read_at = now
        return self._token

    def reject(self) -> bool:
        self._read_at = float("-inf")
        return True
