"""Credentials that a command prints: what a kubeconfig's `exec` says. Chosen by `kubeconfig`, a `TokenSource`."""

from __future__ import annotations

import asyncio
import datetime
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from ssl import SSLContext

import msgspec

from volcano.http.tls import load_identity
from volcano.kube.credentials import CredentialError

RENEW_AHEAD_SECONDS = 30.0
PLUGIN_SECONDS = 120.0


class Credential(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime.datetime | None = None


class ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: Credential | None = None


@dataclass(slots=True)
class ExecPlugin:
    """Credentials printed by a command (the client.authentication.k8s.io protocol), renewed before they expire.

    A client certificate that the command prints is put into `ssl`, for connections made from then on.
    """

    command: str
    args: Sequence[str]
    api_version: str
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path.cwd)
    interactive_mode: str = "IfAvailable"
    cluster_info: Mapping[str, object] | None = None
    install_hint: str = ""
    ssl: SSLContext | None = None
    source: str = ""
    clock: Callable[[], float] = time.time
    _token: str | None = None
    _expires: float | None = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def current(self) -> str | None:
        if self._stale():
            async with self._lock:
                if self._stale():
                    self._take(await self._run())
        return self._token

    def reject(self) -> bool:
        self._expires = 0.0
        return True

    def _stale(self) -> bool:
        return self._expires is not None and self.clock() > self._expires - RENEW_AHEAD_SECONDS

    def _take(self, credential: Credential) -> None:
        if credential.client_certificate_data and credential.client_key_data and self.ssl is not None:
            certificate, key = credential.client_certificate_data.encode(), credential.client_key_data.encode()
            load_identity(self.ssl, certificate, key)
        self._token = credential.token or None
        expires = credential.expiration_timestamp
        self._expires = None if expires is None else expires.timestamp()

    async def _run(self) -> Credential:
        interactive = self.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not interactive:
            raise CredentialError(f"{self.source}: {self.command} needs a terminal: run the command from one")
        info = {
            "apiVersion": self.api_version,
            "kind": "ExecCredential",
            "spec": {"interactive": interactive, **({"cluster": self.cluster_info} if self.cluster_info else {})},
        }
        program = str(self.folder / self.command) if os.sep in self.command else self.command
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *self.args,
                env={**os.environ, **self.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()},
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n{self.install_hint}" if self.install_hint else ""
            raise CredentialError(f"{self.source}: cannot run {self.command}: {error.strerror}{hint}") from error
        try:
            async with asyncio.timeout(PLUGIN_SECONDS):
                output, errors = await process.communicate()
        except TimeoutError:
            process.kill()
            raise CredentialError(f"{self.source}: {self.command} gave no answer in {PLUGIN_SECONDS:g} s") from None
        if process.returncode != 0:
            said = (errors or b"").decode("utf-8", "replace").strip()[-500:]
            raise CredentialError(f"{self.source}: {self.command} failed with status {process.returncode}: {said}")
        return self.read(output)

    def read(self, output: bytes) -> Credential:
        """What the command printed."""
        try:
            answer = msgspec.json.decode(output, type=ExecCredential)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CredentialError(f"{self.source}: {self.command} printed no ExecCredential: {error}") from error
        if answer.api_version != self.api_version:
            raise CredentialError(
                f"{self.source}: {self.command} answers in {answer.api_version or 'no version'}, "
                f"but apiVersion asks for {self.api_version}"
            )
        status = answer.status
        if status is None or not (status.token or status.client_certificate_data):
            raise CredentialError(f"{self.source}: {self.command} printed neither a token nor a client certificate")
        return status
