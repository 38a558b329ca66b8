"""``compile``: a function in whose calls kernels wait, to run together as fused loops."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from flambeau.core._core import DeferredCall, configure_deferral, configure_updates, is_deferring

_F = TypeVar("_F", bound=Callable[..., Any])


def make_plan(calls: list[Any], needed: bytes, key: bytes) -> Any:
    """A plan from disk, or from ``flambeau.jit.deferral``, which is imported only then."""
    from flambeau.jit.cache.plans import find_plan

    def plan_now() -> Any:
        from flambeau.jit import deferral

        return deferral.make_plan(calls, needed)
    return find_plan(key, plan_now)


def make_update(key: str, dtype: str) -> Any:
    """See ``flambeau.jit.updates``, which nobody needs before an optimizer's step."""
    from flambeau.jit import updates

    return updates.make_update(key, dtype)


configure_deferral(make_plan)
configure_updates(make_update)


def is_recording() -> bool:
    """Whether this thread is inside the call of a compiled function."""
    return bool(is_deferring())


@overload
def compile(model: _F, *, fullgraph: bool = ..., dynamic: bool | None = ..., backend: Any = ...,
            mode: str | None = ..., options: dict[str, Any] | None = ...,
            disable: bool = ...) -> _F: ...
@overload
def compile(model: None = None, *, fullgraph: bool = ..., dynamic: bool | None = ...,
            backend: Any = ..., mode: str | None = ..., options: dict[str, Any] | None = ...,
            disable: bool = ...) -> Callable[[_F], _F]: ...
def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False,
            dynamic: bool | None = None, backend: Any = None, mode: str | None = None,
            options: dict[str, Any] | None = None, disable: bool = False) -> Any:
    """Run a function as fused loops.

    At each call Python runs as always, and so do the operators, but for the kernels of pointwise
    operators over many elements: they wait until something needs what they compute, and those that
    wait together run as one loop of machine code, which is compiled once. So the result is right
    whatever Python reads, whichever tensors share memory and whatever is written in place; numbers
    and sizes that change compile nothing anew. ``backward`` and an optimizer's step may stand
    inside.

    What a kernel would need to fail on values (an index out of bounds) runs at once, so that errors
    come where they come without ``compile``. ``explain()`` tells which loops ran.

    The environment variable ``FLAMBEAU_COMPILE=0`` has ``compile`` return functions as they are.

    Args:
        model: a function or a module; without it, a decorator.
        fullgraph: accepted for compatibility: there is no graph to break.
        dynamic: accepted for compatibility: sizes are run-time values.
        backend: ``"inductor"``, ``"eager"`` and ``"aot_eager"`` are accepted; there is one code
            generator.
        mode: one of PyTorch's; all compile the same.
        options: accepted for compatibility.
        disable: return ``model`` as it is.

    Returns:
        A callable with the same arguments and result; other attributes are those of ``model``. For
        a module a module, whose child ``_orig_mod`` is ``model``.

    Raises:
        TypeError: ``model`` cannot be called.
        ValueError: there is no such mode or backend.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> @jit.compile
        ... def step(x, rate):
        ...     return (x * rate + 1).relu()
        >>> step(flambeau.tensor([1.0, -2.0]), 3.0)
        tensor([4., 0.])
    """
    check_choice("mode", mode, MODES)
    check_choice("backend", backend, BACKENDS)
    if model is None:
        return partial(compile, disable=disable)
    if not callable(model):
        raise TypeError(f"jit.compile(): argument 'model' must be a function or a module, not "
                        f"{type(model).__name__}")
    if disable or os.environ.get("FLAMBEAU_COMPILE") == "0":
        return model
    from flambeau.jit.modules import base_of, compiled_class

    base = base_of(model)
    return Compiled(model) if base is None else compiled_class(base)(model)


#: PyTorch's names, which programs pass.
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BACKENDS = ("inductor", "eager", "aot_eager")


def check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse a name that is none of those known.

    Raises:
        ValueError: it is none.
    """
    if value is not None and value not in known:
        raise ValueError(f"jit.compile(): there is no {name} {value!r}; there are "
                         f"{', '.join(map(repr, known))}")


class Compiled(DeferredCall):
    """What ``compile`` gives; inside another compiled function it is part of that one's loops.

    Args:
        fn: the function.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)

    def explain(self) -> str:
        """The loops that the last call ran in which kernels waited, and what they were run for."""
        lines = []
        for plan, reason in zip(*(self.report or ((), ())), strict=True):
            lines.append(f"run {f'for {reason}' if reason else 'at the end'}:")
            lines += [f"    {line}" for line in plan.about]
        return "\n".join(lines) or "nothing waited: no tensor was large enough"
