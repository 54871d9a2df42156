"""HorizontalPodAutoscalers: what they scale, and how far the measured load is from the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.wire.printers.columns import UNKNOWN, UNSET, age_of, name_of, printer

if TYPE_CHECKING:
    from datetime import datetime

    from volcano.api.meta import JsonObject


def _autoscaler(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    lowest = spec.get("minReplicas")
    return [
        name_of(item),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(spec, status),
        UNSET if lowest is None else str(lowest),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age_of(item, now),
    ]


def _targets(spec: JsonObject, status: JsonObject) -> str:
    if "targetCPUUtilizationPercentage" in spec:
        current = status.get("currentCPUUtilizationPercentage")
        measured = UNKNOWN if current is None else f"{current}%"
        return f"cpu: {measured}/{spec['targetCPUUtilizationPercentage']}%"
    measured_metrics = status.get("currentMetrics") or []
    texts = []
    for index, metric in enumerate(spec.get("metrics") or ()):
        current = measured_metrics[index] if index < len(measured_metrics) else {}
        texts.append(_metric(metric, current))
    return ", ".join(texts) or "<none>"


def _metric(metric: JsonObject, current: JsonObject) -> str:
    kind = str(metric.get("type", ""))
    key = kind[:1].lower() + kind[1:]
    wanted, measured = metric.get(key) or {}, (current.get(key) or {}).get("current") or {}
    target = wanted.get("target") or {}
    prefix = f"{wanted['name']}: " if wanted.get("name") else ""
    if "averageUtilization" in target:
        have = measured.get("averageUtilization")
        return f"{prefix}{UNKNOWN if have is None else f'{have}%'}/{target['averageUtilization']}%"
    for field, suffix in (("averageValue", " (avg)"), ("value", "")):
        if field in target:
            return f"{prefix}{measured.get(field, UNKNOWN)}/{target[field]}{suffix}"
    return f"{prefix}{UNKNOWN}/<auto>"


AUTOSCALERS = printer(_autoscaler, "Reference,Targets,MinPods,MaxPods,Replicas,Age", integers=["MaxPods", "Replicas"])
