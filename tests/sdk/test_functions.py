"""How functions travel: packed here, revived by a program that has nothing but the standard library."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.sdk import work
from volcano.sdk import functions, inside, results
from volcano.sdk.errors import NotPicklable, PayloadTooLarge, RemoteTraceback, ResultTooLarge

SCRIPT = '''
import math
import sys
from pathlib import Path
from volcano.sdk import functions

SCALE = 10

def helper(x):
    return math.floor(x) * SCALE

def compute(x, *, plus=0):
    """Uses a module, a value and another function of this file."""
    return helper(x) + plus

Path(sys.argv[1]).write_bytes(functions.payload(compute, [((2.5,), {"plus": 1})], "SHIP"))
'''


def called(payload: bytes, tmp_path: Path, member: int = 0) -> tuple[int, bytes]:
    """What `inside` does with a payload, in an interpreter that sees neither volcano nor site-packages."""
    (tmp_path / "inside.py").write_bytes(Path(inside.__file__).read_bytes())
    (tmp_path / "call").write_bytes(payload)
    done = subprocess.run(
        [sys.executable, "-S", "-I", "inside.py", "call", "call"],
        cwd=tmp_path,
        env={"VC_TASK_INDEX": str(member)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_function_of_a_script_travels_as_source(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("SHIP", "source"))
    subprocess.run([sys.executable, str(script), str(tmp_path / "payload")], check=True, timeout=120)

    status, log = called((tmp_path / "payload").read_bytes(), tmp_path)

    assert status == 0
    assert results.value(inside.unframed(log.splitlines()) or b"") == 21


def test_each_member_makes_its_own_call(tmp_path: Path) -> None:
    payload = functions.payload(pow, [((2, 3), {}), ((2, 5), {})])
    _, log = called(payload, tmp_path, member=1)
    assert results.value(inside.unframed(log.splitlines()) or b"") == 32


def test_an_exception_comes_back_with_where_it_was_raised(tmp_path: Path) -> None:
    status, log = called(functions.payload(int, [(("seven",), {})]), tmp_path)
    assert status == 1
    with pytest.raises(ValueError, match="seven") as raised:
        results.value(inside.unframed(log.splitlines()) or b"")
    assert isinstance(raised.value.__cause__, RemoteTraceback)
    assert "in outcome" in str(raised.value.__cause__)


def test_results_have_a_limit(tmp_path: Path) -> None:
    _, log = called(functions.payload(bytes, [((5000,), {})], limit=1000), tmp_path)
    with pytest.raises(ResultTooLarge, match=r"takes 5,0\d\d bytes, the limit is 1,000"):
        results.value(inside.unframed(log.splitlines()) or b"")


def test_results_that_cannot_be_pickled_say_so(tmp_path: Path) -> None:
    _, log = called(functions.payload(open, [(("call", "rb"), {})]), tmp_path)
    with pytest.raises(NotPicklable, match="a BufferedReader, cannot be pickled"):
        results.value(inside.unframed(log.splitlines()) or b"")


LINES = st.lists(st.binary(max_size=40).filter(lambda text: b"\n" not in text))


@given(st.binary(min_size=1, max_size=3 * inside.FRAME_BYTES), LINES)
def test_frames_are_found_among_anything(data: bytes, noise: list[bytes]) -> None:
    log = b"\n".join([*noise, b"unfinished line " + b"".join(inside.frames(data)), *noise])
    assert inside.unframed(log.split(b"\n")) == data


def test_a_torn_frame_is_no_result() -> None:
    *rest, last = inside.frames(b"x" * 20_000)
    assert inside.unframed(rest) is None
    assert inside.unframed([*rest, last.replace(b"eHh4", b"eXh4", 1)]) is None


def test_output_is_shown_without_frames() -> None:
    log = b"one\ntwo" + b"".join(inside.frames(b"x" * 20_000))
    assert results.output(log) == "one\ntwo"
    assert results.tail(b"one\n" * 50 + log).count("one") == 19


@pytest.mark.parametrize(
    "function", [lambda: 1, len, functools.partial(work.square, 2)], ids=["lambda", "C", "partial"]
)
def test_what_is_no_def_does_not_travel_as_source(function: Callable[..., Any]) -> None:
    with pytest.raises(NotPicklable, match="no plain def"):
        functions.pack(function, "source")


def test_what_a_function_sees_around_it_does_not_travel_as_source() -> None:
    around = 3

    def inner() -> int:
        return around

    with pytest.raises(NotPicklable, match="uses around of the function around it"):
        functions.pack(inner, "source")


def test_by_value_travels_what_the_image_has_not() -> None:
    pytest.importorskip("cloudpickle")
    here, there = functions.pack(work.square)["pickle"], functions.pack(work.square, elsewhere=True)["pickle"]
    assert b"work" in here
    assert len(here) < 100 < len(there)
    assert pickle.loads(there)(3) == 9


def test_arguments_that_cannot_be_pickled_are_refused() -> None:
    with pytest.raises(NotPicklable, match="an argument cannot be pickled: TypeError"):
        functions.pack_call((work.unpicklable(),), {})


def test_payloads_have_a_limit() -> None:
    with pytest.raises(PayloadTooLarge, match="len and its arguments take 8"):
        functions.payload(len, [((b"x" * 800_000,), {})])
