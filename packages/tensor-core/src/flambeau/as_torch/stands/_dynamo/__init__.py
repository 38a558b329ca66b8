"""`torch._dynamo`, as far as programs ask it: `flambeau.compile` under its older names."""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from flambeau import rooms
from flambeau.as_torch.stands._dynamo import config as config
from flambeau.as_torch.stands._dynamo import exc as exc
from flambeau.as_torch.stands._dynamo.explaining import explain as explain
from flambeau.as_torch.stands.marks import reset as reset

#: Counts of a compiler's events, by kind and name, of which there are none here.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def __getattr__(name: str) -> Any:
    """``OptimizedModule``, what ``compile`` gives for a module, once the packages it is of are
    needed: programs look for ``_orig_mod`` in such objects."""
    if name != "OptimizedModule":
        raise AttributeError(f"module 'torch._dynamo' has no attribute {name!r}")
    modules = rooms.import_module(f"{rooms.PREFIX}jit.modules")
    return modules.wrapping_class(rooms.enter("nn").Module)


def optimize(backend: Any = "inductor", *, nopython: bool = False, guard_export_fn: Any = None,
             guard_fail_fn: Any = None, disable: bool = False, dynamic: bool | None = None
             ) -> Callable[[Any], Any]:
    """A decorator that compiles: ``torch.compile`` under its first name.

    Args:
        backend: As for ``flambeau.compile``.
        nopython: Its ``fullgraph``.
        guard_export_fn: Refused, as is the next one: guards are not shown.
        guard_fail_fn: Refused.
        disable: Whether functions stay as they are.
        dynamic: As for ``flambeau.compile``.
    """
    if guard_export_fn is not None or guard_fail_fn is not None:
        raise NotImplementedError("torch._dynamo.optimize(): guards are not shown to functions "
                                  "here; leave guard_export_fn and guard_fail_fn out")
    compiled = rooms.import_module(f"{rooms.PREFIX}jit").compile

    def decorate(function: Any) -> Any:
        return compiled(function, backend=backend, fullgraph=nopython, dynamic=dynamic,
                        disable=disable)

    return decorate


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that ``compile(backend=...)`` takes."""
    names: list[str] = rooms.import_module(f"{rooms.PREFIX}compiler").list_backends(exclude_tags)
    return names


def is_dynamo_supported() -> bool:
    """Return True: ``torch.compile`` compiles."""
    return True


def graph_break(msg: str = "") -> None:
    """Do nothing: a compiled function is called with Python's own control flow around it."""
