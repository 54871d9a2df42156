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
RETRY_SECONDS = 1.0


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
    """A token kept in a file that somebody else renews, as a pod's service account token is.

    While the file has none, as when it is just being written, the last one stays, and the file is soon read again.
    """

    path: Path
    clock: Callable[[], float] = time.monotonic
    _token: str | None = None
    _due: float = float("-inf")
    """When the file is to be read again, on the clock."""

    async def current(self) -> str | None:
        now = self.clock()
        if now >= self._due:
            try:
                self._token = self._read()
                self._due = now + REREAD_SECONDS
            except CredentialError:
                if self._token is None:
                    raise
                self._due = now + RETRY_SECONDS
        return self._token

    def reject(self) -> bool:
        self._due = float("-inf")
        return True

    def _read(self) -> str:
        try:
            token = self.path.read_bytes().strip().decode("ascii")
        except OSError as error:
            raise CredentialError(f"{self.path}: cannot read the token: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise CredentialError(f"{self.path}: not a token: it has bytes that are not ASCII") from error
        if not token:
            raise CredentialError(f"{self.path}: the file has no token: it is empty")
        if not token.isprintable():
            raise CredentialError(f"{self.path}: not a token: it has line breaks or other control characters inside")
        return token
