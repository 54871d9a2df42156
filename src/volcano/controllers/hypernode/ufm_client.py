"""Fetches the ports of an InfiniBand fabric from UFM's REST interface."""

from __future__ import annotations

import asyncio
import base64
import ssl
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from volcano.controllers.hypernode.config import ConfigProblem
from volcano.controllers.hypernode.ufm import Port
from volcano.http.client import Endpoint, HttpClient, HttpError

PATH: Final = "/ufmRest/resources/ports"
PATIENCE_SECONDS: Final = 30.0
LARGEST_ANSWER: Final = 100 << 20


class UfmUnavailable(OSError):
    """UFM did not answer, or not with a list of ports."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who asks UFM, and whom UFM's certificate must be signed by: PEM; "" for the authorities of the machine."""

    username: str
    password: str = field(repr=False)
    authority: str = ""


async def fetch_ports(config: dict[str, Any], account: Account) -> list[Port]:
    """All ports that UFM knows, the switches' own among them."""
    endpoint = endpoint_of(config, account.authority)
    credentials = base64.b64encode(f"{account.username}:{account.password}".encode()).decode()
    client = HttpClient(endpoint, headers=[("authorization", f"Basic {credentials}"), ("accept", "application/json")])
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            body = await _get(client)
    except (HttpError, TimeoutError) as error:
        raise UfmUnavailable(f"UFM {endpoint}: {error or 'no answer in time'}") from None
    finally:
        await client.close()
    try:
        return msgspec.json.decode(body, type=list[Port])
    except msgspec.MsgspecError as error:
        raise UfmUnavailable(f"UFM {endpoint}{PATH}: not a list of ports: {error}") from None


async def _get(client: HttpClient) -> bytes:
    async with client.stream("GET", PATH, timeout=PATIENCE_SECONDS) as response:
        body = bytearray()
        async for chunk in response:
            body += chunk
            if len(body) > LARGEST_ANSWER:
                raise UfmUnavailable(f"UFM {client.endpoint}{PATH}: more than {LARGEST_ANSWER >> 20} MiB")
        if response.status in {401, 403}:
            raise UfmUnavailable(f"UFM {client.endpoint}{PATH}: status {response.status}: check the Secret")
        if response.status != 200:
            raise UfmUnavailable(f"UFM {client.endpoint}{PATH}: status {response.status}")
        return bytes(body)


def endpoint_of(config: dict[str, Any], authority: str = "") -> Endpoint:
    """Where UFM listens: a URL, or a host, which is asked over HTTPS."""
    text = config.get("endpoint")
    if not isinstance(text, str) or not text:
        raise ConfigProblem("UFM endpoint is not configured")
    address = urlsplit(text if "://" in text else f"https://{text}")
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise ConfigProblem(f"UFM endpoint {text!r}: expected a host or an http(s) URL")
    if address.scheme == "http":
        return Endpoint(address.hostname, address.port or 80)
    try:
        context = ssl.create_default_context(cadata=authority or None)
    except ssl.SSLError:
        raise ConfigProblem("UFM credentials: ca.crt is not a certificate in PEM") from None
    if config.get("insecureSkipVerify") is True:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return Endpoint(address.hostname, address.port or 443, ssl=context, server_name=address.hostname)
