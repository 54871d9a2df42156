"""Ends all pods of a node whose process is gone: orders every supervisor to stop, and waits.

Neighbours: `vcctl local down` calls `stop_pods`; `supervisor.pod` obeys the order. Synchronous, no API needed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from volcano.local.node.layout import Layout, PodLayout
from volcano.local.node.supervisor import record
from volcano.local.node.supervisor.documents import StopOrder

GRACE_SECONDS = 3.0
_PATIENCE_SECONDS = 3.0


def stop_pods(data_dir: Path) -> int:
    """TERM, then KILL, every container under `data_dir`; how many pods ran. Returns when their supervisors have ended.

    0 where there were none, or no such folder.
    """
    layout = Layout(data_dir)
    if not layout.pods.exists():
        return 0
    waiting = {pod.lock: pid for pod in map(PodLayout, layout.pods.iterdir()) if (pid := _order(pod))}
    running = len(waiting)
    deadline = time.monotonic() + GRACE_SECONDS + _PATIENCE_SECONDS
    while waiting and time.monotonic() < deadline:
        time.sleep(0.02)
        waiting = {lock: pid for lock, pid in waiting.items() if _holder(lock) == pid}
    for pid in waiting.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # its containers die with it
    return running


def _order(pod: PodLayout) -> int | None:
    """Tell the pod's supervisor to stop; its process id, or None when none lives."""
    pid = _holder(pod.lock)
    if pid is None:
        return None
    order: StopOrder = {"grace_seconds": GRACE_SECONDS, "reason": "NodeShutdown"}
    record.write_durably(str(pod.stop), order)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    return pid


def _holder(lock: Path) -> int | None:
    claim = record.claim(str(lock)) if lock.exists() else None
    if claim is not None:
        os.close(claim)
        return None
    text = lock.read_text() if lock.exists() else ""
    return int(text) if text else None
