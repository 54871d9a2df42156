"""From a pod to the plan its supervisor runs: commands, environment, mounts, policies. Pure.

Neighbours: `environment`, `volumes` and `rewriting` each do their part; `agent` asks for plans and stores them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.node import actions, environment, volumes
from volcano.local.node.layout import Layout, PodLayout
from volcano.local.node.rewriting import rewrite, volume_variable
from volcano.local.node.sources import PlanError, PodFacts, Sources
from volcano.local.node.supervisor.documents import TERMINAL_KIND, ContainerPlan, Mount, PodPlan, RestartPolicy

BACKOFF_BASE_SECONDS = 10.0
BACKOFF_CAP_SECONDS = 300.0
NEEDS_RUNTIME = "NeedsContainerRuntime"
_FIELDS = {
    "argv": "command or args",
    "folder": "workingDir",
    "mounts": "volumeMounts",
    "post_start": "lifecycle.postStart",
    "pre_stop": "lifecycle.preStop",
}
"""What users call the parts of a container's plan."""


@dataclass(frozen=True)
class Machine:
    """What plans depend on beyond the pod: the host's variables, whether it can isolate, where cgroups are."""

    layout: Layout
    base_environment: Mapping[str, str]
    isolate: bool
    cgroups: Callable[[str], list[str]] = lambda _container: []
    """The folders of a container's cgroups."""


def make_plan(pod: JsonObject, facts: PodFacts, sources: Sources, machine: Machine, started_at: float) -> PodPlan:
    """The plan for `pod`. Raises `PlanError` when something it needs is missing or unknown here."""
    check_commands(pod)
    spec = pod["spec"]
    contents = volumes.contents(pod, facts, sources)
    planner = _Planner(facts, sources, machine, contents, spec.get("restartPolicy") or "Always")
    deadline = spec.get("activeDeadlineSeconds")
    grace = spec.get("terminationGracePeriodSeconds")
    return {
        "namespace": facts.namespace,
        "name": facts.name,
        "uid": facts.uid,
        "hostname": "" if spec.get("hostNetwork") else facts.hostname,
        "address": facts.pod_ip,
        "started_at": started_at,
        "isolate": machine.isolate,
        "grace_seconds": float(30 if grace is None else grace),
        "deadline_at": None if deadline is None else started_at + deadline,
        "backoff_base_seconds": BACKOFF_BASE_SECONDS,
        "backoff_cap_seconds": BACKOFF_CAP_SECONDS,
        "init": [_speakable(planner.container(c, spec)) for c in spec.get("initContainers") or []],
        "containers": [_speakable(planner.container(c, spec)) for c in spec["containers"]],
    }


def check_commands(pod: JsonObject) -> None:
    """Refuse containers that only an image could run."""
    for container in (*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]):
        if not container.get("command"):
            what = "has args and no command" if container.get("args") else "has no command"
            how = ' ("kubectl run" does with --command)' if container.get("args") else ""
            raise PlanError(
                NEEDS_RUNTIME,
                f"container {container['name']!r} {what}, and this node runs commands, not images "
                f"(image {container.get('image') or ''!r}): set spec.containers[].command{how}, "
                f'or annotate the pod with {keys.SIMULATE}: "true" to have its run simulated',
                is_final=True,
            )


def _speakable(container: ContainerPlan) -> ContainerPlan:
    """The plan, whose texts all end up in calls of the system: none of those takes a NUL byte."""
    for field, value in container.items():
        if "\\u0000" in json.dumps(value):
            raise PlanError(
                "CreateContainerError",
                f"container {container['name']!r}: {_FIELDS.get(field, field)} holds a NUL byte, "
                "which no system call takes: remove it",
                is_final=True,
            )
    return container


class _Planner:
    """Makes container plans of one pod."""

    def __init__(
        self,
        facts: PodFacts,
        sources: Sources,
        machine: Machine,
        contents: Mapping[str, volumes.Content],
        restart: RestartPolicy,
    ) -> None:
        self._facts = facts
        self._sources = sources
        self._machine = machine
        self._contents = contents
        self._restart = restart

    def container(self, container: JsonObject, spec: JsonObject) -> ContainerPlan:
        base = {**self._machine.base_environment, "HOSTNAME": self._facts.hostname}
        if container.get("tty"):
            base["TERM"] = TERMINAL_KIND
        env = environment.environment_of(container, self._facts, self._sources, base)
        mounts = self._mounts(container, env)
        arguments = [*container["command"], *(container.get("args") or [])]
        argv = [environment.expand(argument, env) for argument in arguments]
        folder = container.get("workingDir") or str(self._pod_layout.work(container["name"]))
        if not self._machine.isolate:
            argv = [rewrite(argument, mounts) for argument in argv]
            env = {name: rewrite(value, mounts) for name, value in env.items()} | self._volume_variables()
            folder = rewrite(folder, mounts)
        security = {**(spec.get("securityContext") or {}), **(container.get("securityContext") or {})}
        own_policy = container.get("restartPolicy")
        return {
            "name": container["name"],
            "argv": argv,
            "env": env,
            "folder": folder,
            "restart": cast("RestartPolicy", own_policy or self._restart),
            "sidecar": own_policy == "Always" and container in (spec.get("initContainers") or []),
            "mounts": [*mounts, *self._hosts(spec)] if self._machine.isolate else [],
            "user": security.get("runAsUser"),
            "group": security.get("runAsGroup"),
            "cgroups": self._machine.cgroups(container["name"]),
            "probes": actions.probe_plans(container, self._facts.pod_ip),
            "post_start": actions.hook_plan(container, "postStart", self._facts.pod_ip),
            "pre_stop": actions.hook_plan(container, "preStop", self._facts.pod_ip),
            "input": "" if not container.get("stdin") else "once" if container.get("stdinOnce") else "open",
            "tty": bool(container.get("tty")),
        }

    @property
    def _pod_layout(self) -> PodLayout:
        return self._machine.layout.pod(self._facts.uid)

    def _mounts(self, container: JsonObject, env: Mapping[str, str]) -> list[Mount]:
        return [self._mount(container, mount, env) for mount in container.get("volumeMounts") or []]

    def _mount(self, container: JsonObject, mount: JsonObject, env: Mapping[str, str]) -> Mount:
        content = self._contents.get(mount["name"])
        if content is None:
            raise PlanError(
                "CreateContainerConfigError",
                f"container {container['name']!r} mounts volume {mount['name']!r}, which is not in spec.volumes",
                is_final=True,
            )
        source = self.volume_path(mount["name"], content)
        inner = mount.get("subPath") or environment.expand(mount.get("subPathExpr") or "", env)
        if ".." in inner.split("/"):
            raise PlanError("CreateContainerConfigError", f"subPath {inner!r} must not contain '..'", is_final=True)
        return {
            "source": f"{source}/{inner}".rstrip("/") if inner else source,
            "target": "/" + mount["mountPath"].strip("/"),
            "read_only": bool(mount.get("readOnly")),
        }

    def volume_path(self, name: str, content: volumes.Content) -> str:
        """The real folder or file behind a volume."""
        if isinstance(content, volumes.HostPath):
            return content.path
        if isinstance(content, volumes.Claim):
            return str(self._machine.layout.claim(content))
        return str(self._pod_layout.volume(name))

    def _volume_variables(self) -> dict[str, str]:
        return {volume_variable(name): self.volume_path(name, content) for name, content in self._contents.items()}

    def _hosts(self, spec: JsonObject) -> list[Mount]:
        if spec.get("hostNetwork"):
            return []
        return [
            {
                "source": str(self._machine.layout.hosts(self._facts.namespace)),
                "target": "/etc/hosts",
                "read_only": True,
            }
        ]
