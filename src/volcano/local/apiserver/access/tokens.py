"""Service-account tokens: JSON web tokens signed with a key that lives beside the database.

Made by `serviceaccounts/token`, checked by `authn.py`; bound to accounts (and pods, nodes, secrets) that still exist.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import time
import uuid
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.call import User

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from volcano.local.apiserver.storage.store import Store

ISSUER = "https://kubernetes.default.svc.cluster.local"
BINDABLE = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}
"""What a token may be bound to, and where it is stored."""
_HEADER = {"alg": "HS256", "typ": "JWT"}


class NotTrusted(Exception):
    """A token that proves nothing; the message says why."""


class Proof(NamedTuple):
    """Whom a token speaks for, and to which of those who were asked about."""

    user: User
    audiences: list[str]


class ServiceAccountTokens:
    """Issues and verifies tokens of service accounts."""

    def __init__(self, store: Store, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._key = key
        self._clock = clock
        self._verified: dict[str, JsonObject] = {}

    def issue(self, namespace: str, account: JsonObject, seconds: int, audiences: list[str], bound: JsonObject) -> str:
        """A token for `account` (name and uid), good for `seconds`, and only while what it is `bound` to exists."""
        now = int(self._clock())
        name = account["name"]
        claims = {
            "aud": audiences,
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "jti": str(uuid.uuid4()),
            "iss": ISSUER,
            "sub": f"system:serviceaccount:{namespace}:{name}",
            "kubernetes.io": {"namespace": namespace, "serviceaccount": account, **bound},
        }
        signed = f"{_segment(_HEADER)}.{_segment(claims)}"
        return f"{signed}.{_text(self._signature(signed))}"

    def check(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> Proof:
        """What `token` proves to `audiences`. Raises NotTrusted: not one of ours, too old, or about what is gone."""
        claims = self._verified.get(token) or self._verify(token)
        if claims is None or not claims["nbf"] <= self._clock() < claims["exp"]:
            raise NotTrusted("invalid bearer token")
        meant = [audience for audience in audiences if audience in claims["aud"]]
        if not meant:
            told, asked = (" ".join(f'"{name}"' for name in names) for names in (claims["aud"], audiences))
            why = f"token audiences [{told}] is invalid for the target audiences [{asked}]"
            raise NotTrusted(f"[invalid bearer token, {why}]")
        private = claims["kubernetes.io"]
        namespace, account = private["namespace"], private["serviceaccount"]
        if not self._exists("serviceaccounts", namespace, account):
            raise NotTrusted("invalid bearer token")
        extra = [("credential-id", f"JTI={claims.get('jti', '')}")]
        for kind, collection in BINDABLE.items():
            if bound := private.get(kind.lower()):
                if not self._exists(collection, "" if kind == "Node" else namespace, bound):
                    raise NotTrusted("invalid bearer token")
                extra += [(f"{kind.lower()}-name", bound["name"]), (f"{kind.lower()}-uid", bound["uid"])]
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        told_more = tuple((f"authentication.kubernetes.io/{key}", (value,)) for key, value in sorted(extra))
        return Proof(User(claims["sub"], groups, account["uid"], told_more), meant)

    def _exists(self, collection: str, namespace: str, wanted: JsonObject) -> bool:
        key = f"{namespace}/{wanted['name']}" if namespace else wanted["name"]
        entry = self._store.get(collection, key)
        return entry is not None and entry.uid == wanted["uid"]

    def _verify(self, token: str) -> JsonObject | None:
        signed, _, signature = token.rpartition(".")
        try:
            if not hmac.compare_digest(_bytes(signature), self._signature(signed)):
                return None
            claims: JsonObject = msgspec.json.decode(_bytes(signed.partition(".")[2]))
        except (ValueError, binascii.Error, msgspec.DecodeError):
            return None
        if claims.get("iss") != ISSUER:
            return None
        if len(self._verified) > 1000:
            self._verified.clear()
        self._verified[token] = claims
        return claims

    def _signature(self, signed: str) -> bytes:
        return hmac.new(self._key, signed.encode(), hashlib.sha256).digest()


def signing_key(path: Path) -> bytes:
    """The key in `path`, made at first use."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        key = os.urandom(32)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        return key


def _segment(document: JsonObject) -> str:
    return _text(msgspec.json.encode(document))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
