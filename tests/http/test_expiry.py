"""What is said of certificates that end, and when."""

from __future__ import annotations

import datetime

import pytest

from tests.http.test_tls import Authority
from volcano.http.expiry import Validity, last_validity_of, validity_of

DAY = datetime.timedelta(days=1)
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("lasts", "left", "said"),
    [
        (365 * DAY, 8 * DAY, None),
        (365 * DAY, 6 * DAY, "it ends on 2027-01-01 00:00 UTC: renew it before"),
        (1 * DAY, 0.3 * DAY, None),
        (1 * DAY, 0.1 * DAY, "it ends on 2026-01-02 00:00 UTC: renew it before"),
        (1 * DAY, 0 * DAY, "it ended on 2026-01-02 00:00 UTC: nobody trusts it, renew it"),
    ],
)
def test_the_last_week_is_soon_and_of_a_short_life_the_last_fifth(
    lasts: datetime.timedelta, left: datetime.timedelta, said: str | None
) -> None:
    assert Validity(START, START + lasts).remark("it", START + lasts - left) == said


def test_of_a_chain_the_first_counts_and_of_authorities_the_one_that_ends_last() -> None:
    short, long = (Authority(until=days * DAY).pem for days in (2, 9))
    assert validity_of(short + long) == validity_of(short) == last_validity_of(short)
    assert last_validity_of(short + long) == last_validity_of(long + short) == validity_of(long)
