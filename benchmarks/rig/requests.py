"""What an API server was asked, from its own metrics: requests by verb and resource."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from volcano.kube import config
from volcano.kube.transport import HttpTransport

TOTAL = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')
ENDLESS = frozenset({"WATCH", "CONNECT"})
READS = frozenset({"GET", "LIST"})


async def requests_so_far(kubeconfig: Path | str) -> Counter[str]:
    """By "VERB resource/subresource"; a watch is no request, it lasts."""
    transport = HttpTransport(config.load(str(kubeconfig)))
    try:
        answer = await transport.request("GET", "/metrics")
    finally:
        await transport.close()
    return parsed(answer.content.decode())


def parsed(metrics: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for labels, value in TOTAL.findall(metrics):
        label = dict(LABEL.findall(labels))
        verb, subresource = label["verb"].upper(), label.get("subresource")
        if verb not in ENDLESS and label["resource"]:
            found[f"{verb} {label['resource']}{'/' if subresource else ''}{subresource or ''}"] += round(float(value))
    return found


def is_write(what: str) -> bool:
    """Whether such requests are to change something; heartbeats do not count."""
    return what.partition(" ")[0] not in READS and not what.endswith(" leases")


def writes(requests: Counter[str]) -> int:
    return sum(count for what, count in requests.items() if is_write(what))
