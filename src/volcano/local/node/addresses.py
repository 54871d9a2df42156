"""Addresses and names of pods on one machine: each pod has a loopback address, peers find it in a hosts file. Pure.

Neighbours: `agent` allocates; `plan` mounts the hosts file of the pod's namespace.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container

from volcano.local.node.sources import PodFacts

CLUSTER_DOMAIN = "cluster.local"


def loopback_address(uid: str, taken: Container[str]) -> str:
    """An address in 127/8 for pod `uid`: always the same one, unless another pod has it."""
    attempt = 0
    while True:
        digest = hashlib.blake2b(f"{uid}/{attempt}".encode(), digest_size=3).digest()
        address = f"127.{1 + digest[0] % 254}.{digest[1]}.{1 + digest[2] % 254}"
        if address not in taken:
            return address
        attempt += 1


def names(facts: PodFacts) -> list[str]:
    """The names under which peers look for the pod, the most qualified first."""
    hostname, subdomain = facts.hostname, facts.spec.get("subdomain")
    if not subdomain:
        return [hostname]
    short = f"{hostname}.{subdomain}"
    service = f"{short}.{facts.namespace}.svc"
    return [f"{service}.{CLUSTER_DOMAIN}", service, f"{short}.{facts.namespace}", short, hostname]


def hosts_line(address: str, facts: PodFacts) -> str:
    return f"{address}\t{' '.join(names(facts))}\n"
