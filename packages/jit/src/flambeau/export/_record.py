"""``export``: a module as a program."""

from __future__ import annotations

import inspect
from typing import Any

from flambeau import nn
from flambeau.core.pytree import tree_leaves
from flambeau.export.dynamic_shapes import Named
from flambeau.export.exported_program import ExportedModule, ExportedProgram
from flambeau.jit import bridge
from flambeau.jit.ir import SAID, Limits
from flambeau.jit.recording.tracing import trace

__all__ = ["export", "export_for_training", "unflatten"]


def export(mod: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
           dynamic_shapes: Any = None, strict: bool = False,
           preserve_module_call_signature: tuple[str, ...] = (),
           prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """Record what a module computes, as a program with its parameters.

    The module runs on sizes like the example's, computing nothing; several times where sizes may
    vary. Branches go the way they go then. In-place changes of buffers are part of the program.

    Args:
        mod: The module.
        args: Example arguments.
        kwargs: Example named arguments.
        dynamic_shapes: Which sizes may vary: for each argument, by name or in their order, a dict
            ``{dimension: Dim}``, a tuple of `Dim` or None, or None; nested as the argument is.
        strict: Has no effect.
        preserve_module_call_signature: Has no effect.
        prefer_deferred_runtime_asserts_over_guards: Has no effect.

    Returns:
        The program; ``program.module()`` is called like the module.

    Raises:
        TypeError: ``mod`` is no module, or ``args`` no tuple.
        TraceError: The module looks at values, or a size that was named cannot vary.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.export import Dim, export
        >>> layer = nn.Linear(3, 2)
        >>> program = export(layer, (flambeau.ones(4, 3),),
        ...                  dynamic_shapes={"input": {0: Dim("batch")}})
        >>> program.graph_signature.parameters
        ('weight', 'bias')
        >>> tuple(program.module()(flambeau.ones(7, 3)).shape)
        (7, 2)
    """
    if not isinstance(mod, nn.Module):
        raise TypeError(f"export() takes a module, not {type(mod).__name__}: give a function the "
                        "form of a module, with the function as its forward")
    if not isinstance(args, tuple):
        raise TypeError(f"export(): args must be a tuple, not {type(args).__name__}; write (x,) "
                        "for one argument")
    kwargs = dict(sorted((kwargs or {}).items()))
    parameters = list(inspect.signature(mod.forward).parameters)
    named = Named(args, kwargs, [*parameters, *(f"args_{i}" for i in range(len(args)))],
                  dynamic_shapes)
    program = trace(mod, args, example_kwarg_inputs=kwargs,
                    dynamic=named.table if named.table else False)
    _limit(program.graph, named)
    state = {name for name, _ in (*mod.named_parameters(), *mod.named_buffers())}
    names = _names(args, kwargs, parameters)
    return ExportedProgram(program, names, state, (args, kwargs))


export_for_training = export


def _names(args: tuple[Any, ...], kwargs: dict[str, Any], parameters: list[str]) -> list[str]:
    """A name for each tensor among the arguments."""
    found = []
    for at, arg in enumerate(args):
        name = parameters[at] if at < len(parameters) else f"args_{at}"
        found += _named(arg, name)
    for name, arg in kwargs.items():
        found += _named(arg, name)
    return found


def _named(arg: Any, name: str) -> list[str]:
    if bridge.is_tensor(arg):
        return [name]
    count = sum(bridge.is_tensor(leaf) for leaf in tree_leaves(arg))
    return [f"{name}_{at}" for at in range(count)]


def _limit(graph: Any, named: Named) -> None:
    """Let sizes vary no further than their `Dim` says."""
    for name, dim in named.dims.items():
        if name not in graph.symbols:
            continue
        sizes = graph.range_of(name)
        first = max(sizes.start, dim.min)
        open_end = sizes.stop - 1 >= 2**61
        last = dim.max if open_end else \
            sizes.stop - 1 if dim.max is None else min(sizes.stop - 1, dim.max)
        former = graph.limits.get(name) or Limits(first)
        said = f"{SAID}{dim!r}"
        graph.limits[name] = Limits(
            first, last, said if first > sizes.start else former.below,
            said if dim.max is not None and last == dim.max else former.above)


def unflatten(module: ExportedProgram, flat_args_adapter: Any = None) -> ExportedModule:
    """The program as a module whose parameters have the paths that they had.

    Args:
        module: The program.
        flat_args_adapter: Has no effect.

    Returns:
        The module; it computes as a whole, whatever modules its parameters are in.
    """
    return module.module()
