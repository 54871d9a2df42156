"""Why an API server does not accept who we are, or we do not accept who it is: what it says itself is one word.

Told by `transport` with the error. Nothing of a token or a key is ever told.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from ssl import SSLCertVerificationError
from typing import TYPE_CHECKING, Final

import msgspec

from volcano.api.meta import Status
from volcano.http.message import Response

if TYPE_CHECKING:
    from volcano.kube.config import ClusterConfig

SERVER_TROUBLE: Final = {
    9: "the certificate of the API server is not valid yet: is the clock of this machine right?",
    10: "the certificate of the API server, or of its authority, has ended: renew it there",
    62: "the certificate of the API server is for other names: set tls-server-name, or have it issued anew",
    64: "the certificate of the API server is for other addresses: set tls-server-name, or have it issued anew",
}
"""By OpenSSL's X509_V_ERR codes."""
STALE: Final = "the cluster was perhaps created anew and the kubeconfig is stale: fetch it again"


class Claims(msgspec.Struct):
    exp: float | None = None


def advice(cause: BaseException | None) -> str:
    """What usually is the matter when no connection can be made because of this."""
    if isinstance(cause, SSLCertVerificationError):
        return SERVER_TROUBLE.get(cause.verify_code, STALE)
    return "is the cluster running, and the kubeconfig current?"


def explained(answer: Response, config: ClusterConfig, token: str | None) -> Response:
    """The same 401 with a message that says whose credentials they were, and what is the matter with them."""
    try:
        status = msgspec.json.decode(answer.content, type=Status)
    except (msgspec.DecodeError, RecursionError):
        status = Status(status="Failure", reason="Unauthorized", code=401)
    where = config.source or "given address"
    why = _cause(config, token, datetime.datetime.now(datetime.UTC))
    status.message = f"{status.message or 'Unauthorized'} ({where}): {why}"
    return Response(answer.status, answer.headers, msgspec.json.encode(status))


def _cause(config: ClusterConfig, token: str | None, now: datetime.datetime) -> str:
    if token:
        ended = _end_of_token(token)
        if ended is not None and ended <= now:
            return f"the token ended on {ended:%Y-%m-%d %H:%M} UTC: renew it"
        return "the token is not accepted: its account is gone, or another cluster issued it"
    if config.certificate is not None:
        ended = _end_of_certificate(config)
        if ended is not None and ended <= now:
            return f"the client certificate ended on {ended:%Y-%m-%d %H:%M} UTC: renew it"
        return "the client certificate is not accepted: another authority issued it"
    return "the credentials are not accepted" if config.headers else "no credentials are given"


def _end_of_certificate(config: ClusterConfig) -> datetime.datetime | None:
    from cryptography import x509

    from volcano.http.tls import read_pem

    assert config.certificate is not None
    try:
        return x509.load_pem_x509_certificate(read_pem(config.certificate)).not_valid_after_utc
    except (OSError, ValueError):
        return None


def _end_of_token(token: str) -> datetime.datetime | None:
    """What a JWT says of itself."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = msgspec.json.decode(base64.urlsafe_b64decode(parts[1] + "=="), type=Claims)
        return None if claims.exp is None else datetime.datetime.fromtimestamp(claims.exp, datetime.UTC)
    except (binascii.Error, ValueError, OverflowError, OSError, RecursionError):
        return None
