"""Which proxy leads to a host. `tunnel` goes through it."""

from __future__ import annotations

from collections.abc import Mapping


def proxy_from(environment: Mapping[str, str], host: str) -> str | None:
    """The proxy that the environment names for TLS connections to `host`, unless NO_PROXY or loopback excepts it."""
    url = environment.get("HTTPS_PROXY") or environment.get("https_proxy")
    if not url or is_loopback(host):
        return None
    for entry in (environment.get("NO_PROXY") or environment.get("no_proxy") or "").split(","):
        suffix = entry.strip().removeprefix("*").lstrip(".").lower()
        if entry.strip() == "*" or (suffix and (host.lower() == suffix or host.lower().endswith(f".{suffix}"))):
            return None
    return url if "://" in url else f"http://{url}"


def is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"
