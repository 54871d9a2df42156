"""Service-account tokens: JSON web tokens signed with a key that lives beside the database.

Made by `serviceaccounts/token`, checked by `authn.py`; bound to accounts (and pods) that still exist.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver.call import User

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from volcano.local.apiserver.storage.store import Store

JsonObject = dict[str, Any]

ISSUER = "https://kubernetes.default.svc.cluster.local"
_HEADER = {"alg": "HS256", "typ": "JWT"}


class ServiceAccountTokens:
    """Issues and verifies tokens of service accounts."""

    def __init__(self, store: Store, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._key = key
        self._clock = clock
        self._verified: dict[str, JsonObject] = {}

    def issue(
        self, namespace: str, account: JsonObject, seconds: int, audiences: list[str], pod: JsonObject | None
    ) -> str:
        """A token for `account` (name and uid), good for `seconds`, and only while `pod` exists."""
        now = int(self._clock())
        name = account["name"]
        private: JsonObject = {"namespace": namespace, "serviceaccount": account}
        if pod:
            private["pod"] = pod
        claims = {
            "aud": audiences or [ISSUER],
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": ISSUER,
            "sub": f"system:serviceaccount:{namespace}:{name}",
            "kubernetes.io": private,
        }
        signed = f"{_segment(_HEADER)}.{_segment(claims)}"
        return f"{signed}.{_text(self._signature(signed))}"

    def user(self, token: str) -> User | None:
        """The account that `token` speaks for, or None if it is not one of ours, expired, or its account is gone."""
        claims = self._verified.get(token) or self._verify(token)
        if claims is None or not claims["nbf"] <= self._clock() < claims["exp"]:
            return None
        private = claims["kubernetes.io"]
        namespace, account = private["namespace"], private["serviceaccount"]
        entry = self._store.get("serviceaccounts", f"{namespace}/{account['name']}")
        if entry is None or entry.uid != account["uid"]:
            return None
        pod = private.get("pod")
        if pod and (found := self._store.get("pods", f"{namespace}/{pod['name']}")) and found.uid != pod["uid"]:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return User(claims["sub"], groups, account["uid"])

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
