"""Command lines of daemons as Go programs read them: `--flag=value`, `--flag value`, bare booleans, klog's own flags.

Upstream's manifests and charts pass such lines; daemons declare their flags as fields of a dataclass, which inherits
those that several have.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar, get_type_hints

from volcano.api import duration

T = TypeVar("T")

KLOG_FLAGS: Final = {
    "add-dir-header": False,
    "alsologtostderr": False,
    "log-backtrace-at": True,
    "log-dir": True,
    "log-file": True,
    "log-file-max-size": True,
    "log-flush-frequency": True,
    "logtostderr": False,
    "one-output": False,
    "skip-headers": False,
    "skip-log-headers": False,
    "stderrthreshold": True,
    "legacy-stderr-threshold-behavior": False,
    "v": True,
    "vmodule": True,
}
"""Flags of klog and whether they take a value. `v` sets the verbosity, the others are accepted and have no effect."""

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class FlagError(ValueError):
    """The command line is wrong; the message names the flag."""


def flag(default: Any, help_text: str, *, repeat: str = "", seconds: bool = False) -> Any:
    """A dataclass field that is a flag. `repeat`: "array" keeps each value whole, "slice" splits at commas."""
    metadata = {"help": help_text, "repeat": repeat, "seconds": seconds}
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass
class ConnectionFlags:
    """How a daemon reaches the API server."""

    master: str = flag("", "address of the API server, instead of the kubeconfig's")
    kubeconfig: str = flag("", "path of the kubeconfig")
    kube_api_qps: float = flag(50.0, "accepted for compatibility: a healthy server is not throttled")
    kube_api_burst: int = flag(100, "accepted for compatibility")


@dataclasses.dataclass
class LeaseFlags:
    """How copies of a daemon agree on the one that works."""

    leader_elect: bool = flag(True, "work only while holding the lease")
    leader_elect_lease_duration: float = flag(15.0, "others wait this long before they take over", seconds=True)
    leader_elect_renew_deadline: float = flag(10.0, "give up when renewing takes longer", seconds=True)
    leader_elect_retry_period: float = flag(2.0, "pause between attempts", seconds=True)
    leader_elect_resource_lock: str = flag("leases", "accepted for compatibility: always a Lease")
    leader_elect_resource_name: str = flag("volcano", "name of the lease")
    leader_elect_resource_namespace: str = flag("volcano-system", "namespace of the lease")


def parse(kind: type[T], arguments: Sequence[str], program: str) -> T:
    """The flags of `kind`, with `verbosity` set from `-v` if it has such a field. `--help` prints and exits."""
    hints = get_type_hints(kind)
    fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-") or argument == "-":
            continue  # charts pass `2>&1` here
        name, given, value = argument.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if name in ("help", "h"):
            sys.stdout.write(usage(kind, program))
            raise SystemExit(0)
        field = fields.get(name)
        if field is None and name not in KLOG_FLAGS:
            raise FlagError(f"unknown flag: --{name}{_near(name, fields)} (see {program} --help)")
        takes_value = KLOG_FLAGS[name] if field is None else hints[field.name] is not bool
        if not given:
            if takes_value:
                if not rest:
                    raise FlagError(f"flag needs an argument: --{name}")
                value = rest.pop(0)
            else:
                value = "true"
        if field is not None:
            values[field.name] = _read(name, value, hints[field.name], field, values.get(field.name))
        elif name == "v" and "verbosity" in hints:
            values["verbosity"] = _read(name, value, int, None, None)
    return kind(**values)


def _near(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f": did you mean --{near[0]}?" if near else ""


def usage(kind: type[Any], program: str) -> str:
    lines = [f"Usage: {program} [flags]", "", "Flags:"]
    for field in dataclasses.fields(kind):
        if "help" in field.metadata:
            default = field.default if field.default is not dataclasses.MISSING else ""
            shown = f" (default {default})" if default not in ("", False, None) else ""
            lines.append(f"  --{field.name.replace('_', '-'):<40} {field.metadata['help']}{shown}")
    return "\n".join([*lines, "  -v, --v int".ljust(45) + "number for the log level verbosity", ""])


def _read(name: str, value: str, wanted: Any, field: dataclasses.Field[Any] | None, before: Any) -> Any:
    metadata = field.metadata if field is not None else {}
    try:
        if metadata.get("seconds"):
            return duration.parse_seconds(value)
        if metadata.get("repeat") == "array":
            return [*(before or []), value]
        if metadata.get("repeat") == "slice":
            return [*(before or []), *(part for part in value.split(",") if part)]
        if wanted is bool:
            return _boolean(value)
        if wanted == dict[str, bool]:
            return {**(before or {}), **_gates(value)}
        return wanted(value) if wanted in (int, float) else value
    except ValueError as problem:
        raise FlagError(f'invalid argument "{value}" for "--{name}" flag: {problem}') from problem


def _gates(value: str) -> dict[str, bool]:
    gates = {}
    for part in value.split(","):
        gate, separator, on = part.strip().partition("=")
        if not gate:
            continue
        if not separator:
            raise ValueError(f"missing bool value for {gate}")
        gates[gate] = _boolean(on)
    return gates


def _boolean(value: str) -> bool:
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ValueError("true or false is wanted")
