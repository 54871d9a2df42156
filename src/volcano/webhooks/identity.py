"""Where the serving certificate comes from: an operator's files, a Secret that replicas share, or memory.

Each source answers `current()` with the identity to serve now; `manager` asks again and again.
"""

from __future__ import annotations

import base64
import datetime
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from volcano.api.meta import JsonObject
from volcano.api.resources import SECRETS
from volcano.http.expiry import utc_now
from volcano.http.following import Followed
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, Conflict, NotFound
from volcano.webhooks.certificates import CertificateError, Identity, is_due, issue, read_files

log = logging.getLogger(__name__)

Clock = Callable[[], datetime.datetime]

SECRET_NAME: Final = "volcano-admission-secret"  # noqa: S105 - the name of an object
FIELDS: Final = ("tls.crt", "tls.key", "ca.crt")


class IdentitySource(Protocol):
    async def current(self) -> Identity:
        """The identity to serve; the same object as before when nothing changed."""
        ...

    def problem(self) -> str | None:
        """Why `current` does not answer with what it should, but with what there was before."""
        ...


class FileIdentity:
    """Certificate, key and authority files; read again when one of them changed.

    A set that does not fit together, as while it is being replaced, keeps the one before.
    """

    def __init__(self, certificate: Path, key: Path, authorities: Path) -> None:
        paths = (certificate, key, authorities)
        self._followed = Followed.files(paths, lambda: read_files(*paths), CertificateError)

    async def current(self) -> Identity:
        return self._followed.look()

    def problem(self) -> str | None:
        return self._followed.problem


class OwnIdentity:
    """An authority of our own in memory, renewed before it ends: for a single process behind a URL."""

    def __init__(self, hosts: Sequence[str], clock: Clock = utc_now) -> None:
        self._hosts = hosts
        self._clock = clock
        self._identity = issue(hosts, clock())

    async def current(self) -> Identity:
        if is_due(self._identity, self._hosts, self._clock()):
            self._identity = issue(self._hosts, self._clock(), self._identity)
        return self._identity

    def problem(self) -> str | None:
        return None


class SecretIdentity:
    """An authority of our own, kept in a Secret so that all replicas serve the same certificate."""

    def __init__(
        self, client: Client, namespace: str, hosts: Sequence[str], *, name: str = SECRET_NAME, clock: Clock = utc_now
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._hosts = hosts
        self._clock = clock
        self._identity: Identity | None = None

    async def current(self) -> Identity:
        while True:
            stored, version = await self._stored()
            if stored is not None and not is_due(stored, self._hosts, self._clock()):
                if stored != self._identity:
                    self._identity = stored
                return self._identity
            try:
                await self._store(issue(self._hosts, self._clock(), stored), version)
            except (AlreadyExists, Conflict):
                log.info("another replica renewed the certificate in %s/%s", self._namespace, self._name)

    def problem(self) -> str | None:
        return None

    async def _stored(self) -> tuple[Identity | None, str]:
        try:
            secret = await self._client.get(SECRETS.untyped, self._name, self._namespace)
        except NotFound:
            return None, ""
        version: str = secret["metadata"]["resourceVersion"]
        data = secret.get("data") or {}
        try:
            identity = Identity(*(base64.b64decode(data[field]) for field in FIELDS))
            identity.names()
        except (KeyError, ValueError) as error:
            log.warning("the certificate in secret %s/%s is unusable: %s", self._namespace, self._name, error)
            return None, version
        return identity, version

    async def _store(self, identity: Identity, version: str) -> None:
        parts = (identity.certificate, identity.key, identity.authorities)
        data = {field: base64.b64encode(pem).decode() for field, pem in zip(FIELDS, parts, strict=True)}
        metadata: JsonObject = {"name": self._name, "namespace": self._namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        if version:
            metadata["resourceVersion"] = version
            await self._client.update(SECRETS.untyped, secret)
        else:
            await self._client.create(SECRETS.untyped, secret)
        log.info("issued a certificate for %s until %s", self._hosts[0], identity.expires.date())
