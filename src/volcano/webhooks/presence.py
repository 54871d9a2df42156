"""What the API server sees of us: the certificate we show, and the registrations that trust it, kept in step.

`identity` says which certificate; `registration` writes the configurations.
"""

from __future__ import annotations

import asyncio
import logging
from ssl import SSLContext

from volcano.http.tls import load_identity, server_context
from volcano.kube.errors import ApiError
from volcano.webhooks.certificates import Identity
from volcano.webhooks.identity import IdentitySource
from volcano.webhooks.registration import Registrar

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0


class Presence:
    """First `context` for the server, then `keep` for as long as it serves."""

    def __init__(self, source: IdentitySource, registrar: Registrar, check_seconds: float = CHECK_SECONDS) -> None:
        self._source = source
        self._registrar = registrar
        self._check_seconds = check_seconds
        self._shown: Identity | None = None
        self._context: SSLContext | None = None
        self._registered = False

    async def context(self) -> SSLContext:
        """TLS settings that show the certificate of now; `keep` changes it in place."""
        identity = self._shown = await self._source.current()
        self._context = server_context(identity.certificate, identity.key)
        return self._context

    async def keep(self) -> None:
        """Register, then follow the source: trust comes first, then the new certificate is shown."""
        assert self._shown is not None
        assert self._context is not None
        await self._registrar.register(self._shown.authorities)
        self._registered = True
        while True:
            await asyncio.sleep(self._check_seconds)
            try:
                identity = await self._source.current()
                await self._registrar.register(identity.authorities)
            except (ApiError, OSError) as error:
                log.warning("the certificate or its registration could not be checked, trying again: %s", error)
                continue
            if identity != self._shown:
                load_identity(self._context, identity.certificate, identity.key)
                self._shown = identity
                log.info("showing the certificate that is good until %s", identity.expires.date())

    def problem(self) -> str | None:
        return None if self._registered else "the API server was not told about the webhooks yet"
