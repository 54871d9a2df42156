"""What the API server sees of us: the certificate we show, and the registrations that trust it, kept in step.

`identity` says which certificate; `registration` writes the configurations.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext

from volcano.http.expiry import Validity, last_validity_of, utc_now, validity_of
from volcano.http.following import Followed
from volcano.http.tls import authorities_in, live_context, server_context
from volcano.kube.errors import ApiError
from volcano.webhooks.certificates import Identity
from volcano.webhooks.identity import Clock, IdentitySource
from volcano.webhooks.registration import Registrar

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
FIRST_RETRY_SECONDS = 0.5
HEARD_SECONDS = 5.0
"""API servers hear of what they shall trust a moment after it is written."""


class Presence:
    """First `context` for the server, then `keep` for as long as it serves."""

    def __init__(
        self,
        source: IdentitySource,
        registrar: Registrar,
        *,
        client_authority: Path | None = None,
        clock: Clock = utc_now,
    ) -> None:
        """`client_authority` has signed the certificates that callers may show."""
        self._source = source
        self._clients = None if client_authority is None else followed_authorities(client_authority)
        self._registrar = registrar
        self._shown: Shown | None = None
        self._clock = clock
        self._problem: str | None = "the API server was not told about the webhooks yet"
        self._trouble: str | None = None
        """What the last attempt failed with, of getting the certificate or of registering it."""

    async def context(self) -> SSLContext:
        """TLS settings that show the certificate of now; `keep` sees to it that they go on doing so."""
        clients = None if self._clients is None else self._clients.value
        shown = self._shown = Shown.of(await self._certificate(), clients)
        return live_context(lambda: (self._shown or shown).context)

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
        """Register, then follow the source.

        The first time is tried again soon: rights that are installed with us are known a moment later.
        """
        assert self._shown is not None
        registered, pause = False, FIRST_RETRY_SECONDS
        while True:
            try:
                identity = await self._source.current() if registered else self._shown.identity
                await self._follow(identity)
            except (ApiError, OSError) as error:
                self._trouble = f"the certificate or its registration could not be checked: {error}"
                if not registered:
                    self._trouble = f"the API server was not told about the webhooks yet: {error}"
                    self._problem = self._trouble
            else:
                registered, self._problem, self._trouble = True, None, None
            self._show(self._shown.identity)
            await asyncio.sleep(CHECK_SECONDS if registered else pause)
            pause = min(2 * pause, CHECK_SECONDS)

    async def _follow(self, identity: Identity) -> None:
        """Trust comes first, then the certificate is shown, then trust in the one before may go."""
        assert self._shown is not None
        if identity != self._shown.identity:
            await self._registrar.register(both(identity.authorities, self._shown.identity.authorities))
            await asyncio.sleep(HEARD_SECONDS)
            self._show(identity)
            await asyncio.sleep(HEARD_SECONDS)
        await self._registrar.register(identity.authorities)

    def _show(self, identity: Identity) -> None:
        """On connections from now on, and verify their callers by the authorities of now."""
        assert self._shown is not None
        clients = None if self._clients is None else self._clients.look()
        if identity != self._shown.identity or clients != self._shown.clients:
            self._shown = Shown.of(identity, clients)
            log.info("showing the certificate that is good until %s", identity.expires.date())

    def problem(self) -> str | None:
        """A readiness check. Once registered, what is known goes on being served, whatever happens."""
        return self._problem

    def complaint(self) -> str | None:
        """What somebody has to put right, whether we are ready or not."""
        if self._trouble is not None or self._shown is None:
            return self._trouble
        remarks = [validity.remark(what, self._clock()) for what, validity in self._shown.validities.items()]
        unread = self._clients.problem if self._clients is not None else None
        return "; ".join(filter(None, (self._source.problem(), unread, *remarks))) or None


@dataclass(frozen=True, slots=True)
class Shown:
    """What connections are made with, and of what that was made: `clients` are the authorities of the callers."""

    identity: Identity
    clients: bytes | None
    context: SSLContext
    validities: Mapping[str, Validity]

    @classmethod
    def of(cls, identity: Identity, clients: bytes | None) -> Shown:
        validities = {"the certificate that is served": validity_of(identity.certificate)}
        if clients is not None:
            validities["the authority of callers (--client-ca-file)"] = last_validity_of(clients)
        context = server_context(identity.certificate, identity.key, client_authority=clients)
        return cls(identity, clients, context, validities)


def both(one: bytes, other: bytes) -> bytes:
    """Two bundles of authorities as one, whether or not they end with a line break."""
    return one if other.strip() in one else b"\n".join([one.strip(), other.strip(), b""])


def followed_authorities(path: Path) -> Followed[bytes]:
    return Followed.files([path], lambda: authorities_in(path), OSError, ValueError)
