"""Command lines as Go programs read them."""

from __future__ import annotations

import pytest

from volcano.kube.flags import FlagError, parse, usage
from volcano.scheduler.daemon.flags import Flags


def read(*arguments: str) -> Flags:
    return parse(Flags, arguments, "vc-scheduler")


def test_the_line_of_the_chart() -> None:
    flags = read(
        "--logtostderr",
        "--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf",
        "--enable-healthz=true",
        "--enable-metrics",
        "--leader-elect=false",
        "--schedule-period=500ms",
        "--kube-api-qps=2000",
        "--feature-gates=A=true,B=false",
        "-v=3",
        "2>&1",
    )

    assert flags.scheduler_conf == "/volcano.scheduler/volcano-scheduler.conf"
    assert (flags.enable_metrics, flags.leader_elect, flags.schedule_period) == (True, False, 0.5)
    assert flags.feature_gates == {"A": True, "B": False}
    assert flags.verbosity == 3


def test_scheduler_names_are_whole_and_node_selectors_are_split() -> None:
    flags = read("--scheduler-name", "a,b", "--scheduler-name=c", "--node-selector=x:y,z:w", "--node-selector", "k:v")

    assert flags.scheduler_name == ["a,b", "c"]
    assert flags.node_selector == ["x:y", "z:w", "k:v"]


def test_underscores_are_dashes() -> None:
    assert read("--default_queue=q").default_queue == "q"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--nonsense"], r"unknown flag: --nonsense \(see"),
        (["--schedule-perod=2s"], r"unknown flag: --schedule-perod: did you mean --schedule-period\?"),
        (["--schedule-period=soon"], 'invalid argument "soon" for "--schedule-period"'),
        (["--scheduler-conf"], "flag needs an argument: --scheduler-conf"),
        (["--leader-elect=maybe"], 'invalid argument "maybe" for "--leader-elect"'),
    ],
)
def test_wrong_lines_are_named(line: list[str], message: str) -> None:
    with pytest.raises(FlagError, match=message):
        read(*line)


def test_usage_lists_every_flag() -> None:
    assert "--percentage-nodes-to-find" in usage(Flags, "vc-scheduler")
