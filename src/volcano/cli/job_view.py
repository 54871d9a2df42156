"""`vcctl job view`: a job, its status and its events as indented text, byte for byte as upstream prints them.

After them come our own lines on why a job waits (`waiting_lines`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from volcano.api.age import age
from volcano.api.keys import COMMAND_MARKER
from volcano.jobs.podgroups import refusal
from volcano.jobs.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from volcano.api.meta import JsonObject

_POD_ANNOTATIONS = (
    ("Cri . Cci . Io / Container - Type", "cri.cci.io/container-type"),
    ("Kubernetes . Io / Availablezone", "kubernetes.io/availablezone"),
    ("Network . Alpha . Kubernetes . Io / Network", "network.alpha.kubernetes.io/network"),
)
_STATUS_COUNTS = (
    ("Succeeded", "succeeded"),
    ("Pending", "pending"),
    ("Running", "running"),
    ("Failed", "failed"),
    ("Terminating", "terminating"),
    ("Unknown", "unknown"),
    ("RetryCount", "retryCount"),
    ("Min Available", "minAvailable"),
    ("Version", "version"),
)
_STAGES = {
    "Pending": "enqueue: its queue does not admit it yet",
    "Inqueue": "allocate: it is admitted, and its minimum of members does not fit yet",
}
"""What the scheduler does next with a podgroup, by its phase."""
_EVENT_WIDTHS = (15, 40, 30, 40)


def view(job: JsonObject, events: Sequence[JsonObject], now: datetime, *, conditions: bool = True) -> str:
    """The whole text for `job` and the events that belong to it; `vjobs` leaves the conditions out."""
    status = job.get("status", {}) | ({} if conditions else {"conditions": []})
    lines = [*_head(job), *_spec(job.get("spec", {})), *_status(status), *_events(events, now)]
    return "\n".join(lines) + "\n"


def held_lines(job: JsonObject) -> list[str]:
    """What other jobs the job waits for before it has a podgroup."""
    state = (job.get("status") or {}).get("state") or {}
    if not state.get("reason"):
        return []
    return ["Waiting:", f"  Reason:  \t{state['reason']}", f"  Message: \t{state.get('message', '')}"]


def waiting_lines(podgroup: JsonObject, events: Sequence[JsonObject]) -> list[str]:
    """Why the job's podgroup is not scheduled: its newest condition says, or else its newest event."""
    refused = refusal(podgroup, events)
    if refused is None:
        return []
    phase = podgroup.get("status", {}).get("phase", "Pending")
    stage = [f"  Stage:   \t{_STAGES[phase]}"] if phase in _STAGES else []
    return [
        "Waiting:",
        f"  PodGroup:\t{podgroup['metadata']['name']} ({phase})",
        *stage,
        f"  Reason:  \t{refused.reason}",
        f"  Message: \t{refused.message}",
    ]


def _block(indent: int, pairs: Sequence[tuple[str, object]]) -> Iterator[str]:
    width = max(len(key) for key, _ in pairs) + 1
    for key, value in pairs:
        yield f"{' ' * indent}{(key + ':').ljust(width)}\t{value}"


def _head(job: JsonObject) -> Iterator[str]:
    metadata = job.get("metadata", {})
    yield from _block(
        0,
        (
            ("Name", metadata.get("name", "")),
            ("Namespace", metadata.get("namespace", "")),
            ("Labels", _mapping(metadata.get("labels"))),
            ("Annotations", _mapping(metadata.get("annotations"))),
            ("API Version", job.get("apiVersion", "") if metadata.get("uid") else ""),
            ("Kind", job.get("kind", "") if metadata.get("uid") else ""),
        ),
    )
    yield "Metadata:"
    yield from _block(
        2,
        (
            ("Creation Timestamp", go_time(metadata.get("creationTimestamp"))),
            ("Generate Name", metadata.get("generateName", "")),
            ("Generation", metadata.get("generation", 0)),
            ("Resource Version", metadata.get("resourceVersion", "")),
            ("UID", metadata.get("uid", "")),
        ),
    )


def _spec(spec: JsonObject) -> Iterator[str]:
    plugins = spec.get("plugins") or {}
    yield "Spec:"
    yield f"  Min Available:     \t{spec.get('minAvailable', 0)}"
    yield "  Plugins:"
    for title, name in (("Env", "env"), ("Ssh", "ssh")):
        yield f"    {title}:\t[{' '.join(plugins.get(name) or ())}]"
    for name in sorted(plugins.keys() - {"env", "ssh"}):
        yield f"    {name.capitalize()}:\t[{' '.join(plugins[name] or ())}]"
    yield f"  Scheduler Name:    \t{spec.get('schedulerName', '')}"
    yield "  Tasks:"
    for task in spec.get("tasks", ()):
        yield from _task(task)


def _task(task: JsonObject) -> Iterator[str]:
    template = task.get("template", {})
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    yield f"    Name:\t{task.get('name', '')}"
    yield f"    Replicas:\t{task.get('replicas', 0)}"
    yield "    Template:"
    yield "      Metadata:"
    yield "        Annotations:"
    annotations = metadata.get("annotations") or {}
    yield from _block(10, [(title, annotations.get(key, "")) for title, key in _POD_ANNOTATIONS])
    shown = {key for _, key in _POD_ANNOTATIONS}
    yield from (f"          {key}:\t{value}" for key, value in sorted(annotations.items()) if key not in shown)
    yield f"        Creation Timestamp:\t{go_time(metadata.get('creationTimestamp'))}"
    yield "      Spec:"
    yield "        Containers:"
    for container in spec.get("containers", ()):
        yield from _container(container)
    yield "        Image Pull Secrets:"
    for secret in spec.get("imagePullSecrets") or ():
        yield f"          Name:     \t{secret.get('name', '')}"
    yield f"        Restart Policy:   \t{spec.get('restartPolicy', '')}"


def _container(container: JsonObject) -> Iterator[str]:
    yield "          Command:"
    for word in container.get("command") or ():
        yield f"            {word}"
    yield f"          Image:\t{container.get('image', '')}"
    yield f"          Name: \t{container.get('name', '')}"
    yield "          Ports:"
    for port in container.get("ports") or ():
        yield f"            Container Port:\t{port.get('containerPort', 0)}"
        yield f"            Name:          \t{port.get('name', '')}"
    resources = container.get("resources") or {}
    yield "          Resources:"
    for title, key in (("Limits", "limits"), ("Requests", "requests")):
        amounts = resources.get(key) or {}
        yield f"            {title}:"
        yield f"              Cpu:   \t{amounts.get('cpu', 0)}"
        yield f"              Memory:\t{amounts.get('memory', 0)}"
    yield f"            Working Dir:\t{container.get('workingDir', '')}"


def _status(status: JsonObject) -> Iterator[str]:
    yield "Status:"
    for title, key in _STATUS_COUNTS:
        if status.get(key, 0) > 0:
            yield f"  {(title + ':').ljust(14)}\t{status[key]}"
    yield "  State:"
    yield f"    Phase:\t{(status.get('state') or {}).get('phase', '')}"
    controlled = dict(status.get("controlledResources") or {})
    controlled.pop(COMMAND_MARKER, None)
    if controlled:
        yield "  Controlled Resources:"
        for key, value in sorted(controlled.items()):
            yield f"    {key}: \t{value}"
    if status.get("conditions"):
        yield "  Conditions:"
        yield "    Status\tTransitionTime"
        for condition in status["conditions"]:
            yield f"    {condition.get('status', '')}\t{go_time(condition.get('lastTransitionTime'))}"


def _events(events: Sequence[JsonObject], now: datetime) -> Iterator[str]:
    if not events:
        yield "Events: \t<none>"
        return
    yield "Events:"
    yield _event_row("Type", "Reason", "Age", "Form", "Message")
    yield _event_row(*(["-------"] * 5))
    for event in events:
        source = event.get("source") or {}
        yield _event_row(
            event.get("type", ""),
            event.get("reason", ""),
            _event_age(event, now),
            source.get("component", "") or event.get("reportingComponent", ""),
            event.get("message", ""),
        )


def _event_row(*values: str) -> str:
    return "\t".join([*(v.ljust(w) for v, w in zip(values, _EVENT_WIDTHS, strict=False)), values[-1]])


def _event_age(event: JsonObject, now: datetime) -> str:
    first, last = parse_time(event.get("firstTimestamp")), parse_time(event.get("lastTimestamp"))
    if event.get("count", 0) > 1:
        return f"{age(last, now)} (x{event['count']} over {age(first, now)})"
    return age(first or last, now)


def _mapping(mapping: JsonObject | None) -> str:
    return json.dumps(mapping, separators=(",", ":"), sort_keys=True, ensure_ascii=False) if mapping else "<none>"


def go_time(text: str | None) -> str:
    """A time stamp in the form Go's `Time.String` gives it; the year 1 where there is none."""
    moment = parse_time(text)
    return "0001-01-01 00:00:00 +0000 UTC" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
