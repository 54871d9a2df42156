"""What is known about, and set on, the socket under a connection. Used by `connection` and `exchange`."""

from __future__ import annotations

import asyncio
import socket

from volcano.http.message import Peer


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """The peer of a transport, with the subject of its client certificate when TLS verified one."""
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert")
    common_name = None
    organizations = []
    for attributes in (certificate or {}).get("subject", ()):
        for name, value in attributes:
            if name == "commonName":
                common_name = value
            elif name == "organizationName":
                organizations.append(value)
    if isinstance(address, tuple):
        return Peer(common_name, tuple(organizations), f"{address[0]}:{address[1]}")
    return Peer(common_name, tuple(organizations), "", unix=True)


def keep_probing(transport: asyncio.BaseTransport) -> None:
    """Let the kernel find out that a silent peer has vanished, within 45 seconds."""
    connected = transport.get_extra_info("socket")
    if connected is not None and connected.family != socket.AF_UNIX:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, option):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
