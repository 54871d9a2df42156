"""Where a server listens. Used by `client`; loads neither asyncio nor ssl: who asks once needs no loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens: TCP (with TLS when `ssl` is set) or a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 80
    ssl: SSLContext | None = None
    server_name: str | None = None
    unix_path: str | None = None
    proxy_url: str | None = None

    @property
    def authority(self) -> str:
        if self.unix_path is not None:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.ssl else 80
        return host if self.port == default else f"{host}:{self.port}"

    def __str__(self) -> str:
        if self.unix_path is not None:
            return f"unix://{self.unix_path}"
        return f"{'https' if self.ssl else 'http'}://{self.authority}"
