"""Amounts, arrays, scripts and the jobs that are made of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from volcano.jobs import arrays, script
from volcano.jobs.amounts import AmountError, parse_memory, parse_resources, parse_seconds
from volcano.jobs.build import Wish, job


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("1h30m", 5400),
        ("10", 600),
        ("2:30", 150),
        ("1:00:00", 3600),
        ("1-0", 86400),
        ("2-01:30:05", 178205),
    ],
)
def test_spans_of_time(text: str, seconds: int) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "1:2:3:4", "-5", "1-", "5 m"])
def test_what_is_no_span_of_time(text: str) -> None:
    with pytest.raises(AmountError, match="1h30m"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("100", "100Mi"), ("4G", "4Gi"), ("1.5g", "1536Mi"), ("2T", "2Ti"), ("512K", "512Ki"), ("1500Mi", "1500Mi")],
)
def test_memory_as_slurm_has_it(text: str, amount: str) -> None:
    assert parse_memory(text) == amount


@pytest.mark.parametrize("text", ["4Q", "", "1,cpu=2"])
def test_what_is_no_memory(text: str) -> None:
    with pytest.raises(AmountError):
        parse_memory(text)


def test_resources() -> None:
    assert parse_resources("cpu=500m,memory=2Gi,nvidia.com/gpu=1") == {
        "cpu": "500m",
        "memory": "2Gi",
        "nvidia.com/gpu": "1",
    }
    assert parse_resources("") == {}
    for wrong in ("cpu", "cpu=1=2", "cpu=many"):
        with pytest.raises(AmountError, match="cpu"):
            parse_resources(wrong)


@pytest.mark.parametrize(
    ("text", "elements"),
    [("0-3", [0, 1, 2, 3]), ("7", [7]), ("1,3,5", [1, 3, 5]), ("0-20:5", [0, 5, 10, 15, 20]), ("3-4,4,1", [3, 4, 1])],
)
def test_arrays(text: str, elements: list[int]) -> None:
    assert arrays.parse_array(text) == arrays.Array(elements)
    shown = [shell(f"echo {arrays.shell_element(elements, 'I')}", I=str(index)) for index in range(len(elements))]
    assert shown == [str(element) for element in elements]


def test_an_array_may_say_how_many_run_at_once() -> None:
    assert arrays.parse_array("0-9:3%2") == arrays.Array([0, 3, 6, 9], at_once=2)


@pytest.mark.parametrize("text", ["", "a-b", "5-1", "1-5:0", "0-9%", "0-9%0", "0-9%a", "0-100000000"])
def test_what_is_no_array(text: str) -> None:
    with pytest.raises(arrays.ArrayError, match="invalid array"):
        arrays.parse_array(text)


def shell(text: str, **environment: str) -> str:
    done = subprocess.run(["/bin/sh", "-c", text], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_directives_are_read_up_to_the_first_command() -> None:
    found = script.parse("#!/bin/sh\n# a word\n#VSUB -t 5 --env 'A=b c'\n\n#VSUB -q ml # why\necho\n#VSUB -q late\n")

    assert [(each.line, each.words) for each in found.directives()] == [
        (3, ["-t", "5", "--env", "A=b c"]),
        (5, ["-q", "ml"]),
    ]


@pytest.mark.parametrize(
    ("text", "why"), [("echo", "interpreter"), ("#!\n", "interpreter"), ("#!/bin/sh\n" + "x" * 130_000, "longer")]
)
def test_what_is_no_script(text: str, why: str) -> None:
    with pytest.raises(script.ScriptError, match=why):
        script.parse(text)


def test_a_script_runs_with_its_interpreter_arguments_input_and_variables() -> None:
    body = 'import os, sys\nprint(os.environ["SLURM_N"], sys.argv[1:], sys.stdin.read())\n# VSUB_END\n'
    text = f"#!/usr/bin/env python3\n{body}"
    command = script.parse(text).command(["a b", "c"], {"N": "$((1 + 1))"})

    done = subprocess.run(command, input="typed", capture_output=True, text=True, check=True)

    assert done.stdout == "2 ['a b', 'c'] typed\n"


def test_its_exit_status_is_that_of_the_script(tmp_path: Path) -> None:
    command = script.parse("#!/bin/sh\nexit 7\n").command([], {})
    assert subprocess.run(command, check=False).returncode == 7


def test_a_wish_leaves_out_what_is_not_wished() -> None:
    found = job(Wish(name="n", requests={"cpu": "1"}))

    assert found["metadata"] == {"name": "n", "namespace": "default"}
    assert found["spec"].keys() == {"minAvailable", "schedulerName", "tasks"}
    [task] = found["spec"]["tasks"]
    assert task["template"]["spec"]["containers"][0].keys() == {"image", "name", "imagePullPolicy", "resources"}


def test_limits_retries_and_dependencies_of_a_wish() -> None:
    found = job(Wish(name="n", time_limit_seconds=60, retries=2, after="afterok:a", independent=True))

    assert found["metadata"]["annotations"] == {"volcano.sh/after": "afterok:a"}
    assert found["spec"]["policies"] == [{"event": "PodFailed", "action": "RestartPod"}]
    assert found["spec"]["maxRetry"] == 3
    assert found["spec"]["tasks"][0]["template"]["spec"]["activeDeadlineSeconds"] == 60
