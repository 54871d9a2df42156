"""Metrics of the process itself, under the names that every Prometheus dashboard knows."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

from volcano.http.metrics import Registry

DESCRIPTORS = Path("/proc/self/fd")
MEMORY = Path("/proc/self/statm")


def process_metrics() -> Registry:
    """CPU time, memory, open files and start time, read when scraped."""
    registry = Registry()
    cpu = registry.gauge("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")
    memory = registry.gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
    files = registry.gauge("process_open_fds", "Number of open file descriptors.")
    limit = registry.gauge("process_max_fds", "Maximum number of open file descriptors.")
    started = registry.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
    started.set(time.time())

    def read() -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu.set(usage.ru_utime + usage.ru_stime)
        memory.set(resident_bytes(usage.ru_maxrss))
        limit.set(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        if DESCRIPTORS.exists():
            files.set(sum(1 for _ in DESCRIPTORS.iterdir()))

    registry.before_scrape(read)
    return registry


def resident_bytes(peak: int) -> int:
    """Memory in use, or where the system does not tell, the most there ever was."""
    if MEMORY.exists():
        return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return peak if sys.platform == "darwin" else peak * 1024
