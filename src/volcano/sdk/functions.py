"""Packing a Python function and its calls, so that `inside` can revive them in another process.

By reference where it can be imported there; else by value with cloudpickle; else as source text.
"""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import pickle
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterable
from typing import Any, Literal

from volcano.sdk.errors import NotPicklable, PayloadTooLarge

Ship = Literal["auto", "reference", "pickle", "source"]

PAYLOAD_LIMIT = 700 * 1024
"""Bytes: an object of the API may have 1 MiB, and base64 takes a third."""
RESULT_LIMIT = 4 * 1024 * 1024
"""Bytes: kubelets keep at least 10 MiB of a container's log."""

Call = tuple[tuple[Any, ...], dict[str, Any]]


def payload(
    function: Callable[..., Any],
    calls: Iterable[Call],
    ship: Ship = "auto",
    limit: int = RESULT_LIMIT,
    *,
    elsewhere: bool = False,
) -> bytes:
    """One call for all members, or one for each. `elsewhere`: they run in an image that has not our modules."""
    shipped = pack(function, ship, elsewhere=elsewhere)
    packed = pickle.dumps({"function": shipped, "calls": [pack_call(*call) for call in calls], "limit": limit})
    if len(packed) > PAYLOAD_LIMIT:
        raise PayloadTooLarge(
            f"{name_of(function)} and its arguments take {len(packed):,} bytes, an object of the API may carry "
            f"{PAYLOAD_LIMIT:,}: write large arguments to a volume and pass their path"
        )
    return packed


def pack(function: Callable[..., Any], ship: Ship = "auto", *, elsewhere: bool = False) -> dict[str, Any]:
    """What `inside.revive` takes."""
    match ship:
        case "reference":
            return {"pickle": _pickled(function, name_of(function))}
        case "pickle":
            return {"pickle": _by_value(function)}
        case "source":
            return _source(function)
    if is_importable(function) and not (elsewhere and _is_own(function)):
        return {"pickle": _pickled(function, name_of(function))}
    return {"pickle": _by_value(function)} if _has_cloudpickle() else _source(function)


def pack_call(args: tuple[Any, ...], keywords: dict[str, Any]) -> bytes:
    """The arguments of a call; by value where cloudpickle can do that."""
    if _has_cloudpickle():
        import cloudpickle

        return _tried(cloudpickle.dumps, (args, keywords), "an argument")
    return _pickled((args, keywords), "an argument")


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called, in messages and in names of jobs."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def is_importable(function: Callable[..., Any]) -> bool:
    """Whether another process finds the function under its module's name."""
    module = getattr(function, "__module__", None)
    if module in (None, "__main__") or "<" in getattr(function, "__qualname__", "<"):
        return False
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _is_own(function: Callable[..., Any]) -> bool:
    """Whether the module of a function is the user's, and neither Python's nor installed."""
    module = function.__module__.partition(".")[0]
    if module in sys.stdlib_module_names:
        return False
    found = importlib.util.find_spec(module)
    origin = (found.origin or "") if found else ""
    return not any(
        origin.startswith(folder) for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    )


def _has_cloudpickle() -> bool:
    return importlib.util.find_spec("cloudpickle") is not None


def _by_value(function: Callable[..., Any]) -> bytes:
    if not _has_cloudpickle():
        raise NotPicklable(
            f"{name_of(function)} cannot be imported elsewhere: install cloudpickle, move it to a module, or write it "
            "as a def that needs nothing around it"
        )
    import cloudpickle

    module = sys.modules.get(function.__module__) if is_importable(function) else None
    if module is None:
        return _tried(cloudpickle.dumps, function, name_of(function))
    cloudpickle.register_pickle_by_value(module)
    try:
        return _tried(cloudpickle.dumps, function, name_of(function))
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _pickled(value: Any, what: str) -> bytes:
    return _tried(pickle.dumps, value, what)


def _tried(dumps: Callable[[Any], bytes], value: Any, what: str) -> bytes:
    try:
        return dumps(value)
    except Exception as error:  # objects may raise anything when they are pickled
        raise NotPicklable(f"{what} cannot be pickled: {type(error).__name__}: {error}") from error


# As source


def _source(function: Callable[..., Any]) -> dict[str, Any]:
    """The text of a function and of those of its module that it calls, with the modules and values they use."""
    if not isinstance(function, types.FunctionType) or function.__name__ == "<lambda>":
        raise NotPicklable(f"{name_of(function)} is no plain def: install cloudpickle to send it")
    if function.__closure__:
        free = ", ".join(function.__code__.co_freevars)
        raise NotPicklable(
            f"{function.__name__} uses {free} of the function around it: pass them, or install cloudpickle"
        )
    shipped: dict[str, Any] = {"name": function.__name__, "modules": {}, "values": {}, "sources": []}
    _collect(function, shipped, set())
    return shipped


def _collect(function: types.FunctionType, shipped: dict[str, Any], seen: set[str]) -> None:
    seen.add(function.__name__)
    for name in sorted(_names(function.__code__)):
        if name in seen or name not in function.__globals__ or hasattr(builtins, name):
            continue
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType):
            shipped["modules"][name] = value.__name__
        elif isinstance(value, types.FunctionType) and not is_importable(value):
            _collect(value, shipped, seen)
        else:
            shipped["values"][name] = _pickled(value, f"{name}, which {function.__name__} uses,")
    shipped["sources"].append(_text(function))


def _names(code: types.CodeType) -> set[str]:
    """Global names that a code object may refer to, those of functions inside it included."""
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*(_names(constant) for constant in inner))


def _text(function: types.FunctionType) -> str:
    try:
        return "from __future__ import annotations\n" + textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise NotPicklable(
            f"the source of {function.__name__} cannot be read: install cloudpickle, or move it to a file"
        ) from error
