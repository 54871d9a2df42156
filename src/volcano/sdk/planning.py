"""From work and wishes to objects of the API: what `submit` creates. Pure, but for reading scripts.

`functions` packs the functions, `volcano.jobs.build` makes the Job that vcctl would make; here they meet.
"""

from __future__ import annotations

import base64
import datetime
import os
import re
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resources import JOBS
from volcano.jobs import build
from volcano.jobs.amounts import AmountError, parse_seconds
from volcano.sdk import documents, functions, inside
from volcano.sdk.errors import WrongArgument
from volcano.sdk.options import Options

__all__ = ["FILES", "Place", "Plan", "fresh_name", "plan", "plan_map", "plan_workers"]

FILES: Final = "/volcano"
"""Where a member finds what was shipped with it."""
TASK: Final = "member"
DEFAULT_CPU: Final = "100m"
"""What a member asks for if nothing is said, so that what is submitted starts."""
GPU: Final = "nvidia.com/gpu"
MANIFESTS: Final = frozenset({".yaml", ".yml", ".json"})
LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
WORKER_RETRIES: Final = 3
VALUE, VALUES = "value", "values"
"""What a job gives back: `keys.RETURNS` says which."""


@dataclass(frozen=True)
class Place:
    """Where members run: with this interpreter and its path, or in an image that has its own."""

    local: bool
    namespace: str = "default"

    def python(self, options: Options) -> str:
        return options.get("python") or (sys.executable if self.local else "python3")

    def image(self, options: Options) -> str:
        return options.get("image") or f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"

    def environment(self) -> dict[str, str]:
        if not self.local:
            return {}
        return {"PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)}

    def working_dir(self, options: Options) -> str:
        return options.get("working_dir") or (str(Path.cwd()) if self.local else "")


@dataclass(frozen=True)
class Plan:
    """A job, and the files that its members find under `FILES`."""

    job: JsonObject
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"]["namespace"])

    def secret(self) -> JsonObject | None:
        """What carries the files; None where there are none."""
        if not self.files:
            return None
        data = {name: base64.b64encode(content).decode() for name, content in self.files.items()}
        return {"metadata": {"name": secret_name(self.name), "namespace": self.namespace}, "data": data}


@dataclass(frozen=True)
class Program:
    """What each member runs, and how many members that makes."""

    name: str
    command: Sequence[str]
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""


def secret_name(job: str) -> str:
    return f"{job}-files"


def fresh_name(base: str) -> str:
    """A name that is free, in all likelihood, and says what it is the name of."""
    stem = re.sub(r"[^a-z0-9]+", "-", base.lower()).strip("-")[:40].rstrip("-") or "job"
    stem = stem if stem[0].isalpha() else f"j-{stem}"
    return f"{stem}-{''.join(secrets.choice(LETTERS) for _ in range(5))}"


def plan(work: Any, args: Sequence[Any], options: Options, place: Place) -> Plan:
    """The job for a function, a command, a script, a manifest or an object."""
    if isinstance(work, Path) and work.suffix not in MANIFESTS:
        return _job(_script(work, args, place, options), options, place)
    if isinstance(work, str) and not documents.looks_like_yaml(work):
        return _job(Program(_program_name(work), ["sh", "-c", work, *map(str, args)]), options, place)
    if isinstance(work, (list, tuple)):
        words = [str(word) for word in (*work, *args)]
        return _job(Program(Path(words[0]).name, words), options, place)
    if callable(work):
        returns = VALUES if {"nodes", "array"} & options.keys() else VALUE
        return _job(_function(work, [(tuple(args), _keywords(options))], returns, options, place), options, place)
    return _given(work, options, place)


def plan_map(function: Callable[..., Any], calls: Sequence[functions.Call], options: Options, place: Place) -> Plan:
    """One member for each call."""
    if not calls:
        raise WrongArgument("there is nothing to map the function to: give at least one item")
    keywords = _keywords(options)
    merged = [(args, {**keywords, **own}) for args, own in calls]
    program = _function(function, merged, VALUES, options, place)
    return _job(program, {**options, "array": len(calls)}, place)


def plan_workers(count: int, address: tuple[str, int], key: bytes, options: Options, place: Place) -> Plan:
    """Members that ask for tasks at an address. One that fails starts again, a few times."""
    host, port = address
    limit = options.get("result_limit", functions.RESULT_LIMIT)
    command = [place.python(options), f"{FILES}/inside.py", "work", host, str(port), f"{FILES}/key", str(limit)]
    files = {"inside.py": Path(inside.__file__).read_bytes(), "key": key}
    program = Program("executor", command, files, place.environment())
    return _job(program, {"retries": WORKER_RETRIES, **options, "array": count}, place)


# Programs


def _function(
    function: Callable[..., Any], calls: Sequence[functions.Call], returns: str, options: Options, place: Place
) -> Program:
    limit = options.get("result_limit", functions.RESULT_LIMIT)
    ship = options.get("ship", "auto")
    packed = functions.payload(function, calls, ship, limit, elsewhere=not place.local)
    files = {"call": packed, "inside.py": Path(inside.__file__).read_bytes()}
    command = [place.python(options), f"{FILES}/inside.py", "call", f"{FILES}/call"]
    return Program(functions.name_of(function), command, files, place.environment(), returns)


def _script(path: Path, args: Sequence[Any], place: Place, options: Options) -> Program:
    """A script runs where it is in local mode, beside what it imports; elsewhere it travels alone."""
    if not path.is_file():
        raise FileNotFoundError(f"script {path} does not exist")
    where = str(path.absolute()) if place.local else f"{FILES}/{path.name}"
    files = {} if place.local else {path.name: path.read_bytes()}
    return Program(path.stem, [*_interpreter(path, place, options), where, *map(str, args)], files)


def _interpreter(path: Path, place: Place, options: Options) -> list[str]:
    if path.suffix == ".py":
        return [place.python(options)]
    with path.open("rb") as file:
        first = file.readline().decode(errors="replace").strip()
    return shlex.split(first.removeprefix("#!")) if first.startswith("#!") else ["sh"]


def _program_name(command_line: str) -> str:
    words = command_line.split()
    if not words:
        raise WrongArgument("the command is empty: say what to run")
    return Path(words[0]).name


def _keywords(options: Options) -> dict[str, Any]:
    return dict(options.get("keywords", {}))


# Jobs


def _job(program: Program, options: Options, place: Place) -> Plan:
    """The job that runs a program."""
    _refuse_unknown(options)
    size = _Size.of(options)
    name = options.get("name") or fresh_name(program.name)
    wish = build.Wish(
        name=name,
        namespace=options.get("namespace") or place.namespace,
        image=place.image(options),
        command=program.command,
        environment={**program.environment, **options.get("env", {})},
        working_dir=place.working_dir(options),
        replicas=size.members,
        min_available=size.minimum,
        at_once=size.at_once,
        requests=_requests(options),
        queue=options.get("queue", ""),
        priority_class=options.get("priority", ""),
        time_limit_seconds=_seconds(options.get("time_limit", 0)),
        after=_after(options.get("after", ())),
        labels=options.get("labels", {}),
        annotations=options.get("annotations", {}),
        plugins={"env": [], **({"svc": []} if size.gang else {}), **options.get("plugins", {})},
    )
    job = build.job(wish)
    job["spec"] |= size.ending(options)
    if "ttl" in options:
        job["spec"]["ttlSecondsAfterFinished"] = _seconds(options["ttl"])
    (task,) = job["spec"]["tasks"]
    task["name"] = TASK
    task["template"] = _template(task["template"], program, secret_name(name), options)
    return Plan(job, program.files)


@dataclass(frozen=True)
class _Size:
    """How many members there are, how many start together, and what the failure of one means."""

    members: int
    minimum: int
    gang: bool
    at_once: int

    @classmethod
    def of(cls, options: Options) -> _Size:
        nodes, array = options.get("nodes", 0), options.get("array", 0)
        if nodes and array:
            raise WrongArgument("nodes= makes a gang and array= independent members: give one of them")
        if min(nodes, array) < 0 or ("nodes" in options and not nodes) or ("array" in options and not array):
            raise WrongArgument("nodes= and array= count members: give at least 1")
        minimum = options.get("min_nodes", nodes or 1)
        if not 1 <= minimum <= (nodes or 1):
            raise WrongArgument(f"min_nodes={minimum} must be between 1 and nodes={nodes or 1}")
        at_once = options.get("at_once", array)
        if "at_once" in options and (at_once < 1 or not array):
            raise WrongArgument("at_once= limits how many members of array= run at a time: give both, and at least 1")
        return cls(nodes or array or 1, minimum, nodes > 0, at_once if at_once < array else 0)

    def ending(self, options: Options) -> JsonObject:
        """The part of a job's specification that says how it ends, and what is tried before that."""
        retries = options.get("retries", 0)
        again = "RestartJob" if self.gang else "RestartPod"
        policies = []
        if retries:
            policies.append({"event": "PodFailed", "action": again})
        elif self.gang and self.minimum == self.members:
            policies.append({"event": "PodFailed", "action": "TerminateJob"})
        match options.get("on_eviction", "restart"):
            case "restart":
                policies += [{"event": "PodEvicted", "action": again}] if self.gang and retries else []
            case "fail":
                policies.append({"event": "PodEvicted", "action": "TerminateJob"})
            case other:
                raise WrongArgument(f"on_eviction={other!r}: say 'restart' or 'fail'")
        ending: JsonObject = {"policies": policies} if policies else {}
        if retries:
            ending["maxRetry"] = retries * (1 if self.gang else self.members) + 1
        if not self.gang:
            ending["minSuccess"] = self.members
        return ending


def _template(template: JsonObject, program: Program, secret: str, options: Options) -> JsonObject:
    """The pod template of the wish, upon the one that was given."""
    pod = template["spec"]
    container = pod["containers"][0]
    if program.returns:
        template["metadata"].setdefault("annotations", {})[keys.RETURNS] = program.returns
    if program.files:
        container["volumeMounts"] = [{"name": "volcano-files", "mountPath": FILES, "readOnly": True}]
        pod["volumes"] = [{"name": "volcano-files", "secret": {"secretName": secret}}]
    if "template" not in options:
        return template
    base = documents.plain(options["template"])
    ground = base.get("spec") or {}
    first, *others = ground.get("containers") or [{}]
    metadata, given = template["metadata"], base.get("metadata") or {}
    for part in ("labels", "annotations"):
        if part in given:
            metadata[part] = {**given[part], **metadata.get(part, {})}
    return {
        "metadata": {**given, **metadata},
        "spec": {
            **ground,
            **pod,
            "containers": [_container(first, container, options), *others],
            "volumes": [*(ground.get("volumes") or ()), *pod.get("volumes", ())],
        },
    }


def _container(base: JsonObject, ours: JsonObject, options: Options) -> JsonObject:
    """Ours upon `base`: what only our defaults say gives way."""
    container = {**base, **ours}
    container["env"] = [*(base.get("env") or ()), *(ours.get("env") or ())]
    container["volumeMounts"] = [*(base.get("volumeMounts") or ()), *(ours.get("volumeMounts") or ())]
    if "image" in base and "image" not in options:
        container["image"] = base["image"]
    if "resources" in base and not {"cpu", "memory", "gpus", "resources"} & options.keys():
        container["resources"] = base["resources"]
    return container


def _given(work: Any, options: Options, place: Place) -> Plan:
    """A job that comes as a whole: of the options only its name, namespace, queue and labels can be said again."""
    found = documents.read(work)
    jobs = [one for one in found if one.get("kind", JOBS.kind) == JOBS.kind]
    if len(found) != 1 or len(jobs) != 1 or not str(jobs[0].get("apiVersion", JOBS.api_version)).startswith(JOBS.group):
        kinds = ", ".join(f"{one.get('apiVersion')} {one.get('kind')}" for one in found) or "nothing"
        raise WrongArgument(f"expected one {JOBS.api_version} Job, got {kinds}: use vcctl apply for other objects")
    if unusable := options.keys() - {"name", "namespace", "queue", "labels"}:
        raise TypeError(f"{', '.join(sorted(unusable))}: a job that is given whole already says that")
    job = {**jobs[0], "apiVersion": JOBS.api_version, "kind": JOBS.kind}
    metadata = dict(job.get("metadata") or {})
    metadata["name"] = options.get("name") or metadata.get("name") or fresh_name(metadata.get("generateName") or "job")
    metadata["namespace"] = options.get("namespace") or metadata.get("namespace") or place.namespace
    metadata["labels"] = {**(metadata.get("labels") or {}), **options.get("labels", {})}
    job["metadata"] = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid")}
    if "queue" in options:
        job["spec"] = {**job["spec"], "queue": options["queue"]}
    return Plan(job)


def _requests(options: Options) -> dict[str, str]:
    amounts = {"cpu": str(options.get("cpu", DEFAULT_CPU))}
    if "memory" in options:
        amounts["memory"] = options["memory"]
    if options.get("gpus"):
        amounts[GPU] = str(options["gpus"])
    return amounts | {name: str(amount) for name, amount in options.get("resources", {}).items()}


def _seconds(span: float | str | datetime.timedelta) -> int:
    if isinstance(span, datetime.timedelta):
        span = span.total_seconds()
    if not isinstance(span, str):
        return -int(-span // 1)
    try:
        return parse_seconds(span)
    except AmountError as error:
        raise WrongArgument(str(error)) from error


def _after(jobs: str | Sequence[Any]) -> str:
    """What the annotation of dependencies says."""
    if isinstance(jobs, str) or not jobs:
        return jobs if isinstance(jobs, str) else ""
    return ":".join(["afterok", *(job if isinstance(job, str) else job.name for job in jobs)])


def _refuse_unknown(options: Options) -> None:
    known = Options.__optional_keys__
    for name in options.keys() - known:
        import difflib

        close = difflib.get_close_matches(name, known, n=1)
        hint = f": did you mean {close[0]}?" if close else f": there are {', '.join(sorted(known))}"
        raise TypeError(f"{name} is no option{hint}; arguments of a function go into keywords={{...}}")
