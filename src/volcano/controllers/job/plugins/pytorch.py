"""pytorch: torch.distributed finds its master, its world size and its rank in the environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import host
from volcano.controllers.job.plugins.interface import JobPlugin
from volcano.controllers.job.plugins.ports import expose
from volcano.controllers.job.policies import task_named

if TYPE_CHECKING:
    from volcano.controllers.job.pods import Draft

PORT_NAME = "pytorchjob-port"
WAIT_CONTAINER = "wait-for-master"

_WAIT_SCRIPT = """\
echo "Waiting for master node {host}:{port} to be ready..."
TIMEOUT={timeout}
ELAPSED=0
until {{ nc -z {host} {port} || echo > /dev/tcp/{host}/{port}; }} 2>/dev/null; do
  if [ $ELAPSED -ge $TIMEOUT ]; then
    echo "Timeout waiting for master after ${{TIMEOUT}} seconds"
    exit 1
  fi
  echo "Master not ready yet, retrying in 2 seconds... (elapsed: ${{ELAPSED}}s)"
  sleep 2
  ELAPSED=$((ELAPSED + 2))
done
echo "Master node is ready!\""""


class PyTorch(JobPlugin):
    name = "pytorch"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments, ("wait-master-enabled",))
        self.master = flags.get("master", "master")
        self.worker = flags.get("worker", "worker")
        self.port = flags.get("port", 23456)
        self.wait_enabled = flags.get("wait-master-enabled", False)
        self.wait_timeout_seconds = flags.get("wait-master-timeout", 300)
        self.wait_image = flags.get("wait-master-image", "busybox:1.36.1")

    def shape(self, draft: Draft) -> None:
        job = draft.job
        master = task_named(job, self.master)
        if master is None:
            return
        worker = task_named(job, self.worker)
        address = host(job, master, 0)
        world_size = master.replicas + (worker.replicas if worker else 0)
        variables = [
            {"name": keys.ENV_MASTER_ADDR, "value": address},
            {"name": keys.ENV_MASTER_PORT, "value": str(self.port)},
            {"name": keys.ENV_WORLD_SIZE, "value": str(world_size)},
        ]
        rank = self._rank(draft)
        if rank is not None:
            variables.append({"name": keys.ENV_RANK, "value": rank})
        draft.add_env(draft.containers, *variables)
        for container in draft.containers:
            expose(container, PORT_NAME, self.port)
        if self.wait_enabled and draft.task.name == self.worker:
            self._wait_for(draft, address)

    def wait_script(self, address: str) -> str:
        return _WAIT_SCRIPT.format(host=address, port=self.port, timeout=self.wait_timeout_seconds)

    def _rank(self, draft: Draft) -> str | None:
        if draft.task.name == self.master:
            return "0"
        if draft.task.name == self.worker:
            return draft.by_index(lambda index: str(index + 1))
        return None

    def _wait_for(self, draft: Draft, address: str) -> None:
        existing: list[JsonObject] = draft.spec.get("initContainers") or []
        if any(container.get("name") == WAIT_CONTAINER for container in existing):
            return
        script = self.wait_script(address)
        container = {"name": WAIT_CONTAINER, "image": self.wait_image, "command": ["sh", "-c", script]}
        draft.spec["initContainers"] = [*existing, container]
