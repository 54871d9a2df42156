"""The command line of vc-controller-manager."""

from __future__ import annotations

import pytest

from volcano.controllers import manager
from volcano.controllers.flags import CONTROLLERS, Flags
from volcano.controllers.hypernode import standalone
from volcano.kube import flags as command_line
from volcano.kube.flags import FlagError


def enabled(text: str) -> set[str]:
    return set(Flags(controllers=text).enabled_controllers)


def test_all_controllers_but_those_switched_off() -> None:
    assert enabled("*") == set(CONTROLLERS)
    assert enabled("") == set(CONTROLLERS)
    assert enabled("*,-sharding-controller") == set(CONTROLLERS) - {"sharding-controller"}
    assert enabled("job-controller,+queue-controller") == {"job-controller", "queue-controller"}
    assert enabled("-job-controller") == set(), "without a star nothing is on by itself"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*,-job-controller,+job-controller", "job-controller cannot have both '-' and '+' prefixes"),
        ("job-controler", "unknown controller job-controler: did you mean job-controller"),
    ],
)
def test_nonsense_is_refused(text: str, message: str) -> None:
    with pytest.raises(FlagError, match=message.replace("+", r"\+")):
        enabled(text)


def test_the_charts_command_line_is_read() -> None:
    line = (
        "--logtostderr --enable-healthz=true --enable-metrics=true --leader-elect=false --scheduler-name=a "
        "--scheduler-name=b --kube-api-qps=50 --kube-api-burst=100 --worker-threads=3 --worker-threads-for-gc=5 "
        "--worker-threads-for-podgroup=5 --sharding-configmap=x --controllers=*,-sharding-controller -v=4 2>&1"
    )
    flags = command_line.parse(Flags, line.split(), manager.PROGRAM)
    assert (flags.scheduler_name, flags.worker_threads_for_gc, flags.leader_elect) == (["a", "b"], 5, False)


def test_mistakes_end_with_a_message_and_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert manager.main(["--nonsense=1"]) == 1
    assert "unknown flag: --nonsense" in capsys.readouterr().err
    assert manager.main(["--kubeconfig=/does/not/exist"]) == 1
    assert "/does/not/exist" in capsys.readouterr().err
    assert manager.main(["--version"]) == 0


def test_the_hypernode_controller_runs_alone_with_a_lease_of_its_own() -> None:
    flags = standalone.read(["--leader-elect-resource-namespace=topology", "--healthz-address=:1", "-v=4"])

    assert flags.enabled_controllers == ("hyperNode-controller",)
    assert flags.leader_elect_resource_name == "vc-hypernode-controller-manager"
    assert (flags.lease_namespace, flags.healthz_address, flags.verbosity) == ("topology", ":1", 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kube-api-qps=0"], "--kube-api-qps and --kube-api-burst must be greater than 0: they are 0 and 100"),
        (["--listen-address=:11251"], "--healthz-address and --listen-address must differ: both are :11251"),
        (["--worker-threads=3"], "unknown flag: --worker-threads"),
    ],
    ids=["qps", "addresses", "foreign"],
)
def test_what_the_hypernode_controller_s_command_line_refuses(arguments: list[str], message: str) -> None:
    with pytest.raises(FlagError, match=message):
        standalone.read(arguments)
