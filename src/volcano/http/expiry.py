"""When certificates end, and how that is said: some days before, and after.

Asked by whoever serves with certificates from files. `cryptography` is loaded only where there are any.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final

SOON: Final = datetime.timedelta(days=7)
SOON_PART: Final = 5
"""Of short-lived certificates, the last fifth of their time is soon."""


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class Validity:
    """From when until when a certificate is good."""

    since: datetime.datetime
    until: datetime.datetime

    def remark(self, what: str, now: datetime.datetime) -> str | None:
        """What is to be said of the certificate `what`: nothing, as long as there is time."""
        if self.until <= now:
            return f"{what} ended on {self.until:%Y-%m-%d %H:%M} UTC: nobody trusts it, renew it"
        if self.until - now < min(SOON, (self.until - self.since) / SOON_PART):
            return f"{what} ends on {self.until:%Y-%m-%d %H:%M} UTC: renew it before"
        return None


def validity_of(pem: bytes) -> Validity:
    """That of the first certificate of a chain. Raises `ValueError` when there is none."""
    return _validities(pem)[0]


def last_validity_of(pem: bytes) -> Validity:
    """That of the authority which ends last: as long as there is one, some can be verified."""
    return max(_validities(pem), key=lambda each: each.until)


def _validities(pem: bytes) -> list[Validity]:
    from cryptography import x509

    found = x509.load_pem_x509_certificates(pem)
    return [Validity(each.not_valid_before_utc, each.not_valid_after_utc) for each in found]
