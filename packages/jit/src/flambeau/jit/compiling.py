"""``compile``: a function that records each call and runs it as fused loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

from flambeau.jit import bridge

_F = TypeVar("_F", bound=Callable[..., Any])


def make_plan(calls: list[Any], needed: bytes) -> Any:
    """See ``flambeau.jit.deferral``, which nobody needs before something waits."""
    from flambeau.jit import deferral

    return deferral.make_plan(calls, needed)


bridge.configure_deferral(make_plan)


def is_recording() -> bool:
    """Whether this thread is inside the call of a compiled function."""
    return bool(bridge.is_deferring())


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

    Args:
        model: a function or a module; without it, a decorator.
        fullgraph: accepted for compatibility, as are ``dynamic``, ``backend``, ``mode`` and
            ``options``: there is no graph to break, sizes are run-time values, there is one code
            generator, and it does not measure variants.
        dynamic: see there.
        backend: see there.
        mode: see there.
        options: see there.
        disable: return ``model`` as it is.

    Returns:
        A callable with the same arguments and result; other attributes are those of ``model``.

    Raises:
        TypeError: ``model`` cannot be called.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> @jit.compile
        ... def step(x, rate):
        ...     return (x * rate + 1).relu()
        >>> step(flambeau.tensor([1.0, -2.0]), 3.0)
        tensor([4., 0.])
    """
    if model is None:
        return partial(compile, disable=disable)
    if not callable(model):
        raise TypeError(f"jit.compile(): argument 'model' must be a function or a module, not "
                        f"{type(model).__name__}")
    return model if disable else Compiled(model)


class Compiled(bridge.DeferredCall):
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
