"""What this machine is and has: CPUs, memory, names, and the variables that every container inherits.

Neighbours: `registration` turns this into the Node object; `agent` plans with it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from volcano.api.meta import JsonObject

MAX_PODS = 500
RUNTIME_VERSION = "process://1.0"
KUBELET_VERSION = "v1.36.0+volcano"
_INHERITED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
)


def capacity(cpus: float | None = None, memory: str | None = None, pods: int = MAX_PODS) -> dict[str, str]:
    """Resources of the machine, or what the caller says instead."""
    milli_cpus = round((cpus or len(usable_cpus())) * 1000)
    cpu = str(milli_cpus // 1000) if milli_cpus % 1000 == 0 else f"{milli_cpus}m"
    return {
        "cpu": cpu,
        "memory": memory or f"{memory_bytes() // 1024}Ki",
        "pods": str(pods),
        "ephemeral-storage": _disk(),
    }


def usable_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _disk() -> str:
    usage = os.statvfs("/")
    return f"{usage.f_blocks * usage.f_frsize // 1024}Ki"


def base_environment(server: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables each container starts with: a few of this process, and where the API server is."""
    inherited = {name: environment[name] for name in _INHERITED if name in environment}
    host, _, port = server.partition("://")[2].partition("/")[0].rpartition(":")
    if host and port.isdigit():
        inherited |= {"KUBERNETES_SERVICE_HOST": host.strip("[]"), "KUBERNETES_SERVICE_PORT": port}
    return inherited


def node_info() -> JsonObject:
    return {
        "machineID": _first_line("/etc/machine-id"),
        "systemUUID": _first_line("/etc/machine-id"),
        "bootID": _first_line("/proc/sys/kernel/random/boot_id"),
        "kernelVersion": platform.release(),
        "osImage": platform.platform(),
        "containerRuntimeVersion": RUNTIME_VERSION,
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": platform.system().lower(),
        "architecture": architecture(),
    }


def architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text().split("\n", 1)[0]
    except OSError:
        return ""
