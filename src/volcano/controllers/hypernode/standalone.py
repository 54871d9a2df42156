"""`vc-hypernode-controller-manager`: the hypernode controller as a daemon of its own, with rights of its own.

The same loop and health checks as vc-controller-manager's (`controllers/manager.py`), fewer flags.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from volcano.controllers.flags import Flags
from volcano.controllers.hypernode.controller import HyperNodeController
from volcano.controllers.manager import launch
from volcano.kube import flags as command_line
from volcano.kube.flags import ConnectionFlags, FlagError, LeaseFlags, flag

PROGRAM = "vc-hypernode-controller-manager"


@dataclass
class StandaloneFlags(LeaseFlags, ConnectionFlags):
    """The command line of vc-hypernode-controller-manager, by upstream's names."""

    leader_elect_resource_name: str = flag(PROGRAM, "name of the lease")
    enable_healthz: bool = flag(True, "serve /healthz and /readyz")
    healthz_address: str = flag(":11251", "address of /healthz and /readyz")
    enable_metrics: bool = flag(True, "serve /metrics")
    listen_address: str = flag(":8081", "address of /metrics")
    version: bool = flag(False, "print the version and exit")
    verbosity: int = 0

    def among_all(self) -> Flags:
        """The same for vc-controller-manager with this controller alone; raises `FlagError` for what cannot be."""
        if self.kube_api_qps <= 0 or self.kube_api_burst <= 0:
            raise FlagError(
                "--kube-api-qps and --kube-api-burst must be greater than 0: "
                f"they are {self.kube_api_qps:g} and {self.kube_api_burst}"
            )
        fixed = not self.listen_address.endswith(":0")
        if self.enable_healthz and self.enable_metrics and fixed and self.listen_address == self.healthz_address:
            raise FlagError(f"--healthz-address and --listen-address must differ: both are {self.listen_address}")
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return Flags(controllers=HyperNodeController.name, **values)


def main(argv: list[str] | None = None) -> int:
    return launch(PROGRAM, read, argv)


def read(arguments: Sequence[str]) -> Flags:
    return command_line.parse(StandaloneFlags, arguments, PROGRAM).among_all()


if __name__ == "__main__":
    sys.exit(main())
