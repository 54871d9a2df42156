"""Runs real kubectl binaries as a person would, against a cluster in child processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

READY_SECONDS = 60.0


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
        done = subprocess.run(
            self._argv(args), input=stdin, env=self._env(env), capture_output=True, text=True, timeout=60, check=False
        )
        result = Result(done.returncode, done.stdout, done.stderr)
        told = f"kubectl {' '.join(args)}\n{done.stdout}{done.stderr}"
        assert (done.returncode != 0) == fails, f"exit status {done.returncode}: {told}"
        for complaint in ("Throttling", "very short watch", "memcache.go", "Unable to connect", "warning: unable"):
            assert complaint not in done.stderr, told
        return result

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Start kubectl and leave it running; the caller ends it."""
        return subprocess.Popen(
            self._argv(args), env=self._env(None), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def create(self, *documents: Any) -> Result:
        return self("create", "-f", "-", stdin=yaml.safe_dump_all(documents))

    def get(self, *args: str) -> Any:
        """The objects as JSON."""
        return self("get", *args, "-o", "json").json

    def _argv(self, args: tuple[str, ...]) -> list[str]:
        scope = ["--namespace", self.namespace] if self.namespace else []
        return [str(self.binary), "--kubeconfig", str(self.kubeconfig), *scope, *args]

    def _env(self, extra: dict[str, str] | None) -> dict[str, str]:
        base = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        return {**base, "HOME": str(self.home), **(extra or {})}


class Cluster:
    """An API server, Kubernetes' small controllers and one node, each a process of its own."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.kubeconfig = home / "kubeconfig"
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        data = self._home / "apiserver"
        self._run("volcano.local.apiserver", "--data-dir", str(data), "--kubeconfig", str(self.kubeconfig))
        _until("the API server to write its kubeconfig", self.kubeconfig.exists, self._check)
        connect = ("--kubeconfig", str(self.kubeconfig))
        self._run("volcano.local.builtin", *connect)
        node = ("--name", "local", "--data-dir", str(self._home / "node"))
        self._run("volcano.local.node", *connect, *node, "--client-ca-file", str(data / "pki" / "ca.crt"))

    def stop(self) -> None:
        from volcano.local.node.shutdown import stop_pods

        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        stop_pods(self._home / "node")

    def _run(self, module: str, *args: str) -> None:
        log = (self._home / f"{module.rpartition('.')[2]}.log").open("wb")
        with log:
            self._processes.append(
                subprocess.Popen([sys.executable, "-m", module, *args], stdout=log, stderr=subprocess.STDOUT)
            )

    def _check(self) -> None:
        for process in self._processes:
            if process.poll() is not None:
                logs = "".join(path.read_text() for path in self._home.glob("*.log"))
                raise AssertionError(f"{process.args} ended with status {process.returncode}:\n{logs}")


def _until(what: str, done: Any, check: Any = lambda: None) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not done():
        check()
        assert time.monotonic() < deadline, f"waited {READY_SECONDS:.0f} s for {what}"
        time.sleep(0.05)


def eventually(what: str, condition: Any) -> None:
    """Wait until `condition` returns something true."""
    _until(what, condition)
