"""network-qos: put limits on the traffic of batch pods by hand, and see what is in force.

`bandwidth` decides, `shaper` carries out; the agent does the same on its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from volcano import __version__
from volcano.agent.bandwidth import Limits, bytes_per_second
from volcano.agent.shaper import Shaper, ShapingError
from volcano.kube import flags
from volcano.kube.flags import FlagError, flag

PROGRAM: Final = "network-qos"
_NOTHING_IN_FORCE: Final = "network qos has not been initialized, please enable network qos first"


@dataclass
class Flags:
    """The command line behind the command. What is left empty stays as it is."""

    online_bandwidth_watermark: str = flag(
        "", "as long as all traffic is below it, batch pods may have the high bandwidth"
    )
    offline_low_bandwidth: str = flag("", "what batch pods can be sure of together, as 100Mbps")
    offline_high_bandwidth: str = flag("", "what batch pods may have together")
    check_interval: str = flag("", "nanoseconds; only shown again, the kernel decides for each packet")
    enable_network_qos: bool = flag(False, "for prepare: put the limits in force, or take them back")


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    return run(arguments, Shaper(), sys.stdout.write, sys.stderr.write)


def run(arguments: Sequence[str], shaper: Shaper, out: Callable[[str], object], errors: Callable[[str], object]) -> int:
    name = arguments[0] if arguments else "help"
    if name in ("help", "--help", "-h"):
        out(usage())
        return 0
    command = COMMANDS.get(name)
    if command is None:
        errors(f'unknown command "{name}" for "{PROGRAM}": write one of {", ".join(COMMANDS)}\n')
        return 1
    try:
        out(command(shaper, flags.parse(Flags, arguments[1:], f"{PROGRAM} {name}")) + "\n")
    except (ValueError, ShapingError) as problem:
        errors(f"execute command[{name}] failed, error:{problem}\n")
        return 1
    return 0


def usage() -> str:
    lines = [f"Usage: {PROGRAM} COMMAND [flags]", "", "Commands:"]
    lines += [f"  {name:<9} {command.__doc__}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, "", *flags.usage(Flags, PROGRAM).splitlines()[2:], ""])


def _prepare(shaper: Shaper, given: Flags) -> str:
    """set when network QoS is enabled, reset when it is not"""
    return _set(shaper, given) if given.enable_network_qos else _reset(shaper, given)


def _set(shaper: Shaper, given: Flags) -> str:
    """put limits in force, or change those that are named"""
    limits = changed(shaper.limits(), given)
    shaper.shape(limits)
    return f"throttling config set: {_json(limits)}"


def _show(shaper: Shaper, _given: Flags) -> str:
    """the limits in force, in bits per second"""
    limits = _in_force(shaper)
    shown = {
        "online_bandwidth_watermark": f"{limits.watermark * 8}bps",
        "interval": limits.interval,
        "offline_low_bandwidth": f"{limits.low * 8}bps",
        "offline_high_bandwidth": f"{limits.high * 8}bps",
    }
    return f"network-qos config: {_json(shown)}"


def _reset(shaper: Shaper, _given: Flags) -> str:
    """shape nothing any more"""
    before = shaper.limits()
    if not shaper.reset():
        return "throttling config does not exist, reset successfully"
    return f"throttling config reset: {_json(before)}"


def _status(shaper: Shaper, _given: Flags) -> str:
    """bytes and packets that were sent so far"""
    limits = _in_force(shaper)
    return f"throttling status: {_json({'offline_bandwidth_limit': limits.high, **shaper.counters()})}"


def _version(_shaper: Shaper, _given: Flags) -> str:
    """the version of this program"""
    return f"{PROGRAM} {__version__}"


COMMANDS: Final[Mapping[str, Callable[[Shaper, Flags], str]]] = {
    "prepare": _prepare,
    "set": _set,
    "show": _show,
    "reset": _reset,
    "status": _status,
    "version": _version,
}


def changed(before: Limits | None, given: Flags) -> Limits:
    """The limits with what the flags name; all bandwidths must be known in the end."""
    named = {
        "watermark": given.online_bandwidth_watermark,
        "low": given.offline_low_bandwidth,
        "high": given.offline_high_bandwidth,
    }
    values = {name: bytes_per_second(text) for name, text in named.items() if text}
    if before is None and len(values) < len(named):
        raise FlagError(
            "nothing is in force yet: give --online-bandwidth-watermark, --offline-low-bandwidth"
            " and --offline-high-bandwidth"
        )
    interval = _interval(given.check_interval) if given.check_interval else 10_000_000
    if before is None:
        found = Limits(values["watermark"], interval, values["low"], values["high"])
    else:
        kept = interval if given.check_interval else before.interval
        found = msgspec.structs.replace(before, interval=kept, **values)
    if not 0 < found.low <= found.high or not found.watermark:
        raise FlagError("bandwidths must be above 0, and --offline-high-bandwidth at least --offline-low-bandwidth")
    return found


def _interval(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise FlagError(f"--check-interval={text} is not a positive number of nanoseconds")
    return int(text)


def _in_force(shaper: Shaper) -> Limits:
    limits = shaper.limits()
    if limits is None:
        raise FlagError(f"failed to get throttling config: {_NOTHING_IN_FORCE}")
    return limits


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    sys.exit(main())
