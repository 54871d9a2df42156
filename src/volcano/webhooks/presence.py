"""What the API server sees of us: the certificate we show, and the registrations that trust it, kept in step.

`identity` says which certificate; `registration` writes the configurations.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from ssl import SSLContext

from volcano.http.tls import load_identity, server_context
from volcano.kube.errors import ApiError
from volcano.webhooks.certificates import Identity
from volcano.webhooks.identity import Clock, IdentitySource, now
from volcano.webhooks.registration import Registrar

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
FIRST_RETRY_SECONDS = 0.5


class Presence:
    """First `context` for the server, then `keep` for as long as it serves."""

    def __init__(
        self,
        source: IdentitySource,
        registrar: Registrar,
        *,
        client_authority: Path | None = None,
        clock: Clock = now,
    ) -> None:
        """`client_authority` has signed the certificates that callers may show."""
        self._source = source
        self._client_authority = client_authority
        self._registrar = registrar
        self._shown: Identity | None = None
        self._context: SSLContext | None = None
        self._clock = clock
        self._problem: str | None = "the API server was not told about the webhooks yet"
        self._trouble: str | None = None
        """What the last attempt failed with, of getting the certificate or of registering it."""

    async def context(self) -> SSLContext:
        """TLS settings that show the certificate of now; `keep` changes it in place."""
        identity = self._shown = await self._certificate()
        self._context = server_context(identity.certificate, identity.key, client_authority=self._client_authority)
        self._context.num_tickets = 0  # API servers connect anew in a rush, and never resume
        return self._context

    async def _certificate(self) -> Identity:
        pause = FIRST_RETRY_SECONDS
        while True:
            try:
                return await self._source.current()
            except (ApiError, OSError) as error:
                self._problem = self._trouble = f"the certificate cannot be had: {error}"
            await asyncio.sleep(pause)
            pause = min(2 * pause, CHECK_SECONDS)

    async def keep(self) -> None:
        """Register, then follow the source: trust comes first, then the new certificate is shown.

        The first time is tried again soon: rights that are installed with us are known a moment later.
        """
        assert self._shown is not None
        assert self._context is not None
        registered, pause = False, FIRST_RETRY_SECONDS
        while True:
            try:
                identity = await self._source.current() if registered else self._shown
                await self._registrar.register(identity.authorities)
            except (ApiError, OSError) as error:
                self._trouble = f"the certificate or its registration could not be checked: {error}"
                if not registered:
                    self._trouble = f"the API server was not told about the webhooks yet: {error}"
                    self._problem = self._trouble
            else:
                registered, self._problem, self._trouble = True, None, None
                self._show(identity)
            await asyncio.sleep(CHECK_SECONDS if registered else pause)
            pause = min(2 * pause, CHECK_SECONDS)

    def _show(self, identity: Identity) -> None:
        assert self._context is not None
        if identity != self._shown:
            load_identity(self._context, identity.certificate, identity.key)
            self._shown = identity
            log.info("showing the certificate that is good until %s", identity.expires.date())

    def problem(self) -> str | None:
        """A readiness check. Once registered, what is known goes on being served, whatever happens."""
        return self._problem

    def complaint(self) -> str | None:
        """What somebody has to put right, whether we are ready or not."""
        if self._trouble is not None or self._shown is None:
            return self._trouble
        ended = self._shown.expires
        if ended <= self._clock():
            return f"the certificate that is served ended on {ended:%Y-%m-%d %H:%M} UTC: the API server refuses it"
        return self._source.problem()
