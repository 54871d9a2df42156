"""Which API servers Volcano is made for. The doctor and the daemons say the same about the one they find."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Final, cast

import msgspec

from volcano.kube.client import Client
from volcano.kube.complaints import Complaints
from volcano.kube.errors import ApiError
from volcano.kube.events import NORMAL, WARNING

log = logging.getLogger(__name__)

OLDEST: Final = (1, 30)
"""Before it there is no matchConditions for webhooks and no v1 of admission policies."""
NEWEST: Final = (1, 36)
"""What the tests run on."""
RETRY_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 600.0
UNSUPPORTED: Final = "UnsupportedVersion"


def too_old(version: str) -> str | None:
    """What is wrong with a version such as v1.29.4, if it is one that cannot work."""
    found = _parsed(version)
    return f"is {version}, older than v1.{OLDEST[1]}" if found is not None and found < OLDEST else None


def unknown(version: str) -> str | None:
    """What is remarkable about a version that may well work."""
    found = _parsed(version)
    if found is None:
        return f"says that its version is {version!r}"
    return f"is {version}, newer than v1.{NEWEST[1]}" if found > NEWEST else None


def _parsed(version: str) -> tuple[int, int] | None:
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else None


async def of(client: Client) -> str:
    """The API server's own word for its version."""
    answer = await client.raw("GET", "/version")
    return cast("str", msgspec.json.decode(cast("bytes", answer.body))["gitVersion"])


class ServerVersion:
    """A daemon's look at the version of its API server."""

    def __init__(self, client: Client, complaints: Complaints) -> None:
        self._client = client
        self._complaints = complaints
        self._remark: str | None = None

    def remark(self) -> str | None:
        """A note for /readyz: it stops nobody from working."""
        return self._remark

    async def look(self) -> None:
        """Find out, and again now and then, for servers are upgraded; tell what is unusual. Until cancelled."""
        while True:
            try:
                self._judge(await of(self._client))
            except (ApiError, OSError, msgspec.DecodeError, KeyError) as error:
                log.debug("the version of the API server is not known: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                await asyncio.sleep(AGAIN_SECONDS)

    def _judge(self, version: str) -> None:
        wrong = too_old(version) or unknown(version)
        remark = f"the API server {wrong}" if wrong else None
        if remark == self._remark:
            return
        self._remark = remark
        if remark:
            log.warning("%s", remark)
            self._complaints.tell(WARNING, UNSUPPORTED, remark)
        else:
            log.info("the API server is %s now", version)
            self._complaints.tell(NORMAL, UNSUPPORTED, f"the API server is {version} now")
