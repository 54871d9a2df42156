"""Runs real kubectl binaries as a person would, against a cluster in child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.kubectl.terminals import at_terminal
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.kubectl.terminals import Terminal

READY_SECONDS = 120.0


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """The table that kubectl printed, header first, cells parted by two or more blanks."""
        lines = [line for line in self.out.splitlines() if line.strip()]
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]

    def column(self, header: str) -> list[str]:
        """The cells below a header, by position."""
        lines = [line for line in self.out.splitlines() if line.strip()]
        start = lines[0].index(header)
        following = lines[0][start + len(header) :]
        width = len(header) + len(following) - len(following.lstrip())
        end = None if not following.strip() else start + width
        return [line[start:end].strip() for line in lines[1:]]


@dataclass(frozen=True)
class Kubectl:
    """One kubectl binary, one cluster, one namespace."""

    binary: Path
    kubeconfig: Path
    home: Path
    namespace: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *args: str, stdin: str | None = None, fails: bool = False, env: Any = None) -> Result:
        """Run `kubectl args`; the exit status must be as expected."""
        result = self.run(*args, stdin=stdin, env=env)
        told = f"kubectl {' '.join(args)}\n{result.out}{result.err}"
        assert (result.code != 0) == fails, f"exit status {result.code}: {told}"
        for complaint in ("Throttling", "very short watch", "memcache.go", "Unable to connect", "warning: unable"):
            assert complaint not in result.err, told
        return result

    def run(self, *args: str, stdin: str | None = None, env: Any = None) -> Result:
        """Run `kubectl args`, whatever comes of it."""
        done = subprocess.run(
            self._argv(args), input=stdin, env=self._env(env), capture_output=True, text=True, timeout=120, check=False
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def start(self, *args: str, stdin: int | None = None, env: Any = None) -> subprocess.Popen[str]:
        """Start kubectl and leave it running; the caller ends it."""
        return subprocess.Popen(
            self._argv(args),
            env=self._env(env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def at_terminal(self, *args: str) -> AbstractContextManager[Terminal]:
        """Start kubectl in a terminal of its own, until the end of the context."""
        return at_terminal(self._argv(args), self._env(None))

    def create(self, *documents: Any) -> Result:
        return self("create", "-f", "-", stdin=yaml.safe_dump_all(documents))

    def refusal(self, document: Any) -> str:
        """What the server would say against an object now; "" when it would take it."""
        result = self.run("create", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(document))
        return result.err if result.code else ""

    def overwrite(self, kind: str, name: str, change: Callable[[Any], object]) -> None:
        """Read, change and replace an object, again where somebody wrote it in between."""

        def replaced() -> bool:
            document = self.get(kind, name)
            change(document)
            result = self.run("replace", "-f", "-", stdin=yaml.safe_dump(document))
            assert result.code == 0 or "the object has been modified" in result.err, result.err
            return result.code == 0

        eventually(f"{kind}/{name} to be replaced", replaced)

    def get(self, *args: str) -> Any:
        """The objects as JSON."""
        return self("get", *args, "-o", "json").json

    @contextmanager
    def in_namespace(self, name: str) -> Iterator[Kubectl]:
        """kubectl in a new namespace, which is let go in the end with all that is in it."""
        self("create", "namespace", name)
        eventually("the service account", lambda: self("-n", name, "get", "sa").out)
        yield replace(self, namespace=name)
        self("delete", "namespace", name, "--wait=false", "--ignore-not-found")

    def _argv(self, args: tuple[str, ...]) -> list[str]:
        scope = ["--namespace", self.namespace] if self.namespace else []
        return [str(self.binary), "--kubeconfig", str(self.kubeconfig), *scope, *args]

    def _env(self, extra: dict[str, str] | None) -> dict[str, str]:
        base = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        return {**base, "HOME": str(self.home), **(extra or {})}


class Cluster:
    """Local mode as people start it, by `vcctl local up`, but of a size that does not depend on the machine."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.kubeconfig = root / "kubeconfig"

    def start(self) -> None:
        self._vcctl("up", "--detach", "--cpus", "2", "--memory", "4Gi")

    def stop(self) -> None:
        self._vcctl("down")

    def _vcctl(self, *args: str) -> None:
        command: list[str | Path] = [Path(sysconfig.get_path("scripts"), "vcctl"), "local", *args, "--root", self._root]
        # Its daemons keep the output open, so that reading a pipe to its end would wait for them.
        with (self._root.parent / "vcctl.log").open("w+") as log:
            done = subprocess.run(
                command,
                stdout=log,
                stderr=log,
                timeout=READY_SECONDS,
                check=False,
            )
            log.seek(0)
            assert done.returncode == 0, log.read()
