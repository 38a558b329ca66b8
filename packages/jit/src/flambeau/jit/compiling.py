"""``compile``: a function that records each call and runs it as fused loops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.segments import Plan, PlanCache, SegmentRecorder

_active = threading.local()


def is_recording() -> bool:
    """Whether this thread is inside the call of a compiled function."""
    return getattr(_active, "recorder", None) is not None


def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False,
            dynamic: bool | None = None, backend: Any = None, mode: str | None = None,
            options: dict[str, Any] | None = None, disable: bool = False) -> Any:
    """Run a function as compiled graphs.

    At each call Python runs as always, but operators are recorded instead of computed; the graph is
    looked up, compiled when it is new, and run. So the result is right whatever Python reads: other
    shapes, other branches and other globals give another graph. Numbers that meet tensors are
    parameters of the graph: a learning rate that changes every step compiles nothing anew.
    ``backward`` and an optimizer's step may stand inside.

    Where Python needs values (``item()``, ``if x > 0``, printing), what was recorded so far runs
    first; operators that cannot be recorded run as they stand. ``explain()`` tells where and why.

    Args:
        model: a function or a module; without it, a decorator.
        fullgraph: accepted for compatibility, as are ``dynamic``, ``backend``, ``mode`` and
            ``options``: any part that can be recorded is, sizes are keys, there is one code
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


class Compiled:
    """What ``compile`` gives.

    Args:
        fn: the function.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.plans = PlanCache()
        self._last: tuple[list[Plan], list[str]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; inside another compiled function it is part of that one's graph."""
        if is_recording():
            return self.fn(*args, **kwargs)
        recorder = _active.recorder = SegmentRecorder(self.plans)
        try:
            with bridge.interpose(recorder.call, recorder.read):
                try:
                    return self.fn(*args, **kwargs)
                finally:
                    recorder.busy = True
                    recorder.run("")
        finally:
            _active.recorder = None
            recorder.memory.clear()
            self._last = (recorder.ran, recorder.reasons)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)

    def explain(self) -> str:
        """What the last call ran: its graphs, and why there was more than one.

        Raises:
            RuntimeError: it was not called yet.
        """
        if self._last is None:
            raise RuntimeError("call the compiled function once; then explain() tells what it ran")
        ran, reasons = self._last
        lines = [f"{len(ran)} graph(s) in the last call, {len(self.plans.plans)} kept"]
        lines += [f"a graph ended for: {reason}" for reason in reasons]
        return "\n".join([*lines, *(str(plan.graph) for plan in ran)])
