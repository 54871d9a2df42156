"""Recorded controller calls in the types our controllers take: jobs, members, podgroups, events, clocks."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from tests.corpus.loader import Record
from volcano.api import keys
from volcano.api.batch import Job, TaskSpec
from volcano.api.scheduling import PodGroup, Queue
from volcano.controllers.job.events import Event
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.members import Member, Members, member_of
from volcano.controllers.views import PodView

T = TypeVar("T")
Document = dict[str, Any]

NOWHEN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def typed(document: Any, kind: type[T]) -> T:
    return msgspec.convert(document, kind, strict=False)


def plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def now_of(record: Record) -> datetime.datetime:
    text = record["input"].get("now")
    return datetime.datetime.fromisoformat(text) if text else NOWHEN


def argument(record: Record, *names: str) -> Any:
    arguments = record["input"].get("args") or {}
    return next((arguments[name] for name in names if name in arguments), None)


def existing(record: Record, plural: str) -> list[Document]:
    """Objects the call could see: the informer cache where it was filled, else the API."""
    seen = record["input"].get("existing") or {}
    cached = (seen.get("informerCache") or {}).get(plural)
    found: list[Document] = cached if cached is not None else (seen.get("api") or {}).get(plural) or []
    return found


def job_info(record: Record) -> Document:
    info: Document = argument(record, "jobInfo", "job", "self") or {}
    return info if "job" in info else {"job": info}


def job_of(info: Document) -> Job:
    return typed(info.get("job") or {}, Job)


def task_of(document: Document) -> TaskSpec:
    return typed(document, TaskSpec)


def member(pod: Document, task: str, name: str = "") -> Member:
    """A recorded pod as a member; upstream's tests leave out the annotations its cache was filled by."""
    pod = copy.deepcopy(pod)
    meta = pod.setdefault("metadata", {})
    meta.setdefault("name", name)
    annotations = meta.setdefault("annotations", {})
    annotations.setdefault(keys.TASK_SPEC, task)
    annotations.setdefault(keys.JOB_VERSION, "0")
    return member_of(typed(pod, PodView))


def members_of(info: Document) -> Members:
    pods = info.get("pods") or {}
    return Members(member(pod, task, name) for task, named in pods.items() for name, pod in (named or {}).items())


def podgroup_of(record: Record, job: Job) -> PodGroup | None:
    names = [f"{job.metadata.name}-{job.metadata.uid}", job.metadata.name]
    found = {group["metadata"]["name"]: group for group in existing(record, "podgroups")}
    return next((typed(found[name], PodGroup) for name in names if name in found), None)


def facts_of(record: Record) -> Facts:
    priorities = {item["metadata"]["name"]: item.get("value", 0) for item in existing(record, "priorityclasses")}
    queues = [typed(item, Queue) for item in existing(record, "queues")]
    forwards = any(queue.spec.extend_clusters for queue in queues)
    return Facts(priorities=priorities, forwards=forwards)


def order_of(action: Document) -> Event:
    """A recorded state action with its target."""
    target = action.get("target") or {}
    return Event(
        action=action["action"],
        task=target.get("taskName", ""),
        pod=target.get("podName", ""),
        partition=target.get("partitionName", ""),
    )


def writes(record: Record, verb: str, plural: str) -> list[Document]:
    return [
        write for write in record["output"].get("writes") or [] if (write["verb"], write["resource"]) == (verb, plural)
    ]


def names_written(record: Record, verb: str, plural: str) -> set[str]:
    return {write.get("name") or write["object"]["metadata"]["name"] for write in writes(record, verb, plural)}


def merged(document: Any, patch: Any) -> Any:
    """JSON merge patch, as the API server applies it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def pruned(value: Any) -> Any:
    """Without empty parts: absent and empty are the same on the wire."""
    if isinstance(value, dict):
        kept = {key: pruned(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, {}, [], "", 0, False)}
    if isinstance(value, list):
        return [pruned(item) for item in value]
    return value


def pods_in(info: Document) -> Iterator[tuple[str, Document]]:
    for task, named in (info.get("pods") or {}).items():
        for pod in (named or {}).values():
            yield task, pod
