"""What programs say to PyTorch's compiler.

What would change nothing here is a row of the core's ``compat/table.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

from flambeau.compiler.disabling import disable, set_stance
from flambeau.compiler.numbers import wrap_numpy
from flambeau.core.compat.modules import functions
from flambeau.jit.choices import BACKENDS, set_default_backend
from flambeau.jit.choices import default_backend as get_default_backend
from flambeau.jit.compiling import compile, is_compiling
from flambeau.jit.scripting import Mark

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
           "disable", "disallow_in_graph", "get_default_backend", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "load_cache_artifacts",
           "nested_compile_region", "reset", "save_cache_artifacts", "set_default_backend",
           "set_enable_guard_collectives", "set_stance", "substitute_in_graph", "wrap_numpy"]

_said = functions("compiler")
allow_in_graph, assume_constant_result, disallow_in_graph, nested_compile_region = (
    cast(Mark, _said[name]) for name in (
        "allow_in_graph", "assume_constant_result", "disallow_in_graph", "nested_compile_region"))
cudagraph_mark_step_begin = cast(Callable[[], None], _said["cudagraph_mark_step_begin"])
is_exporting = cast(Callable[[], bool], _said["is_exporting"])
load_cache_artifacts = cast(Callable[[bytes], None], _said["load_cache_artifacts"])
save_cache_artifacts = cast(Callable[[], None], _said["save_cache_artifacts"])
set_enable_guard_collectives = cast(Callable[[bool], bool], _said["set_enable_guard_collectives"])
substitute_in_graph = cast(Callable[..., Mark], _said["substitute_in_graph"])
is_dynamo_compiling = is_compiling


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that ``compile(backend=...)`` takes.

    Args:
        exclude_tags: ``"debug"`` leaves out those under which no kernel waits.

    Example:
        >>> from flambeau import compiler
        >>> compiler.list_backends()
        ['inductor']
    """
    hides = "debug" in (exclude_tags or ())
    return sorted(name for name, waits in BACKENDS.items() if waits or not hides)


def reset() -> None:
    """Forget loops that were planned and compiled, and recorded calls; what is on disk stays.

    Example:
        >>> from flambeau import compiler
        >>> compiler.reset()
    """
    from flambeau.core._core import forget_plans
    from flambeau.jit.cache import kernels

    forget_plans()
    kernels.KERNELS.clear()
    if "flambeau.jit.replay.call" in sys.modules:
        sys.modules["flambeau.jit.replay.call"].forget_programs()
    if "flambeau.jit.replay.graphs" in sys.modules:
        sys.modules["flambeau.jit.replay.graphs"].forget_graphs()
