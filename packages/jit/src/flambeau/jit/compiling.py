"""``compile``: a function in whose calls kernels wait, to run together as fused loops."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from flambeau.core._core import (
    DeferredCall,
    EagerCall,
    call_directly,
    configure_deferral,
    configure_updates,
    hear_reads,
    is_deferring,
)
from flambeau.jit.choices import BACKENDS, check_budget, check_choices
from flambeau.jit.graph_breaks import refuse_read

if TYPE_CHECKING:
    from flambeau.jit.explaining import Explanation

_F = TypeVar("_F", bound=Callable[..., Any])
#: Calls of a function until it is looked at whether Python may be skipped.
CALLS_BEFORE_REPLAYS = 3


def make_plan(calls: list[Any], needed: bytes, key: bytes) -> Any:
    """A plan from disk, or from ``flambeau.jit.deferral``, which is imported only then."""
    from flambeau.jit.cache.plans import find_plan

    def plan_now() -> Any:
        from flambeau.jit import deferral

        return deferral.make_plan(calls, needed)
    return find_plan(key, plan_now)


def make_update(key: str, dtype: str) -> Any:
    """The same for the update rule of an optimizer: see ``flambeau.jit.updates``."""
    from flambeau.jit.cache.plans import find_update

    def make_now() -> Any:
        from flambeau.jit import updates

        return updates.make_update(key, dtype)
    return find_update(key, dtype, make_now)


configure_deferral(make_plan)
configure_updates(make_update)


def is_compiling() -> bool:
    """Whether a compiled function is being called, and kernels wait.

    Example:
        >>> from flambeau import compiler
        >>> compiler.is_compiling()
        False
    """
    return bool(is_deferring())


@overload
def compile(model: _F, *, fullgraph: bool = ..., dynamic: bool | None = ..., backend: Any = ...,
            mode: str | None = ..., options: dict[str, Any] | None = ...,
            disable: bool = ..., replay: bool | None = ...,
            check_every: int | None = ...) -> _F: ...
@overload
def compile(model: None = None, *, fullgraph: bool = ..., dynamic: bool | None = ...,
            backend: Any = ..., mode: str | None = ..., options: dict[str, Any] | None = ...,
            disable: bool = ..., replay: bool | None = ...,
            check_every: int | None = ...) -> Callable[[_F], _F]: ...
def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False,
            dynamic: bool | None = None, backend: Any = None, mode: str | None = None,
            options: dict[str, Any] | None = None, disable: bool = False,
            replay: bool | None = None, check_every: int | None = None) -> Any:
    """Run a function as fused loops.

    At each call Python runs as always, and so do the operators, but for the kernels of pointwise
    operators over many elements: they wait until something needs what they compute, and those that
    wait together run as one loop of machine code, which is compiled once. So the result is right
    whatever Python reads, whichever tensors share memory and whatever is written in place; numbers
    and sizes that change compile nothing anew. ``backward`` and an optimizer's step may stand
    inside.

    Arguments are checked when an operator is called, as ever. Operators whose kernels can fail on
    values (an index that is out of bounds) do not wait: errors come at their line. Random numbers
    are taken from the generator at once and drawn later. ``explain()`` tells which loops ran.

    A function that is called again and again with tensors on the CPU and values of one kind is
    recorded, and later calls run the recorded kernels without Python, where that is proved to be
    the same and turns out to be faster: as long as nothing has changed that Python read, which
    are arguments, globals, variables of outer functions, attributes, items, parameters, hooks and
    modes. What it writes to objects (counters, losses, hidden states) is written again. A function
    that looks at values, asks the clock or calls what cannot be followed is never replayed, and
    ``explain()`` tells why. A program keeps alive what it read
    until the next call. ``replay=False`` has Python run at each call.

    With ``replay=True`` the second call is recorded already, whatever the arguments are, and
    without a comparison of times. Every ``check_every``-th replay is a recorded call instead, and
    an error is raised where Python would have done something else.

    With ``options={"activation_memory_budget": 0.8}`` calls keep at most that part of what they
    save for backward, where they can: results that are cheap to compute from what is kept anyway
    (activations, normalizations, sums, copies) are computed again in ``backward``, to the same
    bits. What products and convolutions compute is always kept.

    Code is kept on disk for other processes, see the environment variable ``FLAMBEAU_CACHE_DIR``;
    ``FLAMBEAU_COMPILE=0`` has ``compile`` return functions as they are.

    Args:
        model: a function, a method, a module, a class whose objects are called, or any callable;
            without it, a decorator. Generators and coroutines are compiled step by step.
        fullgraph: raise where a tensor's values decide what Python does (``if x.sum() > 0``,
            ``equal``, ``print``), with file and line. Elsewhere this ends a loop, as does what
            raises nowhere: numbers that are computed with (``item()``), shapes that depend on
            values (``x[x > 0]``).
        dynamic: either is the case: plans are made for sizes, machine code for all sizes.
        backend: ``"inductor"``, or ``"eager"`` and ``"aot_eager"``: no kernel waits; or a function
            that is given a ``flambeau.fx.GraphModule`` and example arguments, and returns what
            computes the same tuple of tensors: see ``flambeau.jit.replay.graphs``.
        mode: ``"default"``, or ``"reduce-overhead"``, which is ``replay=True``; the modes that
            tune warn that they do not.
        options: ``activation_memory_budget``, from 0 to 1; those of PyTorch's code generator warn
            that they have no effect.
        disable: return ``model`` as it is.
        replay: skip Python where nothing changed that it read; from the second call on, never, or,
            without it, where that is proved and gains time.
        check_every: how many replays until one is compared with Python; 0 for never. Without it,
            1000, and after each comparison that finds nothing twice as many, up to 64,000.

    Returns:
        A callable with the same arguments and result; other attributes are those of ``model``. For
        a module a module, whose child ``_orig_mod`` is ``model``; a class itself.

    Raises:
        RuntimeError: both ``mode`` and ``options`` are given.
        TypeError: ``model`` cannot be called.
        ValueError: there is no such mode or backend, or the budget is not between 0 and 1.

    Example:
        >>> import flambeau
        >>> from flambeau import jit
        >>> @jit.compile
        ... def step(x, rate):
        ...     return (x * rate + 1).relu()
        >>> step(flambeau.tensor([1.0, -2.0]), 3.0)
        tensor([4., 0.])
    """
    given = None if callable(backend) else backend
    name, budget = check_choices(given, mode, options), check_budget(options)
    if model is None:
        return partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend,
                       options=options, mode=mode, disable=disable, replay=replay,
                       check_every=check_every)
    if not callable(model) and not isinstance(model, classmethod):
        raise TypeError(f"jit.compile(): argument 'model' must be a function or a module, not "
                        f"{type(model).__name__}")
    if disable or os.environ.get("FLAMBEAU_COMPILE") == "0":
        return model
    if callable(backend):
        from flambeau.jit.replay.graphs import Graphed

        return wrap(model, partial(Graphed, backend=backend, fullgraph=fullgraph))
    if not BACKENDS[name]:
        return wrap(model, Eager)
    blocks: list[Callable[[], AbstractContextManager[Any]]] = []
    if fullgraph:
        blocks.append(partial(hear_reads, refuse_read))
    if budget is not None and budget < 1:
        blocks.append(partial(recompute_within, budget))
    ordinary: Any = partial(CompiledWithin, blocks=blocks) if blocks else Compiled
    if not replay and mode != "reduce-overhead":
        return wrap(model, ordinary if blocks or replay is False else automatic)
    from flambeau.jit.replay.call import Replayed

    return wrap(model, partial(Replayed, every=check_every, ordinary=ordinary))


def wrap(model: Any, make: Callable[[Any], Any]) -> Any:
    """A callable that calls ``model`` in its own way, of the same kind as ``model``.

    Args:
        model: see ``compile``.
        make: ``Compiled`` or the like.
    """
    from flambeau.jit.modules import base_of, wrapping_class

    if isinstance(model, staticmethod | classmethod):
        return type(model)(make(model.__func__))
    if isinstance(model, type):
        if "__call__" in dir(model):
            type.__setattr__(model, "__call__", make(model.__call__))
        return model
    base = base_of(model)
    if base is not None:
        return wrapping_class(base)(model, make)
    from flambeau.jit.steps import step_by_step

    return make(step_by_step(model, make))


class _Wrapper:
    """What both kinds of callables share: they look like the function."""

    fn: Any

    def __init__(self, fn: Any) -> None:
        super().__init__(fn)        # type: ignore[call-arg]
        update_wrapper(cast(Any, self), fn, updated=())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)

    @property
    def _torchdynamo_orig_callable(self) -> Any:
        """The function, where programs for PyTorch look whether one is compiled."""
        return self.fn

    def __repr__(self) -> str:
        return f"<compiled {self.fn!r}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return own_name(self) or (type(self), (self.fn,))


def own_name(compiled: Any) -> str | None:
    """The name under which a function's module has what the function was decorated to."""
    path: str = getattr(compiled, "__qualname__", "")
    found: Any = sys.modules.get(getattr(compiled, "__module__", ""))
    for part in path.split(".") if path else ():
        found = getattr(found, part, None)
    return path if path and found is compiled else None


def automatic(fn: Any) -> Compiled:
    """A compiled function whose calls are replayed where that is proved and gains time.

    Args:
        fn: the function.
    """
    made = Compiled(fn)
    made.calls_left = CALLS_BEFORE_REPLAYS
    return made


class Compiled(_Wrapper, DeferredCall):
    """What ``compile`` gives; inside another compiled function it is part of that one's loops.

    Args:
        fn: the function.
    """

    refusal = ""        # why calls are not replayed, where nobody asked for it

    def start_replaying(self) -> None:
        """Have calls replayed from now on where they may be."""
        from flambeau.jit.replay import automatic

        if automatic.may_replay(self.fn):
            self.replayer = automatic.start(self, Compiled)

    def __reduce__(self) -> str | tuple[Any, ...]:
        replays = self.calls_left or self.replayer
        return own_name(self) or (automatic if replays else type(self), (self.fn,))

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What ran in a call.

        Args:
            args: those of a call, which is made and measured: see ``measure``.
            kwargs: see there.

        Returns:
            Without arguments a text about the last call in which kernels waited: its loops, and
            what they were run for. With arguments what ``measure`` returns.
        """
        if args or kwargs:
            return self.measure(*args, **kwargs)
        lines = self.replayer.told() if self.replayer else [self.refusal] if self.refusal else []
        report = self.replayer.ordinary.report if self.replayer else None
        for plan, reason in zip(*(report or self.report or ((), ())), strict=True):
            lines.append(f"run {f'for {reason}' if reason else 'at the end'}:")
            lines += [f"    {line}" for line in plan.about]
        return "\n".join(lines) or "nothing waited: no tensor was large enough"

    def measure(self, *args: Any, **kwargs: Any) -> Explanation:
        """Call the function once, and tell what ran in this call.

        Loops are run several times over memory as it was before them, and so are their calls one by
        one, to compare the times; all else happens once. The peak of ``memory_stats`` begins anew.

        Returns:
            What ran, with file and line, times, memory, and the result. ``print`` shows it, and
            ``svg()`` is a picture.

        Example:
            >>> import flambeau
            >>> fn = flambeau.compile(lambda x: (x * 2 + 1) @ x)
            >>> found = fn.measure(flambeau.ones(100_000))
            >>> [event.is_loop for event in found.events], found.result
            ([True, False], tensor(300000.))
            >>> found.events[0].lines
            ['[100000]: mul add; reads 1, writes 1']
        """
        from flambeau.jit.explaining import measure

        return measure(partial(self, *args, **kwargs), getattr(self, "__qualname__", repr(self)))


    def guarded(self, run: Callable[[], Any]) -> Any:
        """Run something that calls the function, under what this promises of calls."""
        return run()


call_directly(Compiled)


class CompiledWithin(Compiled):
    """The same, where each call runs inside ``with`` blocks.

    Args:
        fn: the function.
        blocks: make the blocks.
    """

    def __init__(self, fn: Any, blocks: list[Callable[[], AbstractContextManager[Any]]]) -> None:
        super().__init__(fn)
        self.blocks = blocks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.guarded(partial(super().__call__, *args, **kwargs))

    def __reduce__(self) -> str | tuple[Any, ...]:
        return own_name(self) or (CompiledWithin, (self.fn, self.blocks))

    def guarded(self, run: Callable[[], Any]) -> Any:
        # No ExitStack: between entering a block and noting its end it calls Python, which may be
        # one call too many, and the block would stay open.
        second = self.blocks[1]() if len(self.blocks) > 1 else nullcontext()
        with self.blocks[0](), second:
            return run()


def recompute_within(budget: float) -> AbstractContextManager[Any]:
    """A block that keeps at most a part of what is saved for backward.

    Args:
        budget: the part, from 0 to 1.
    """
    try:
        from flambeau.autograd import _engine
    except ImportError:                 # nothing is saved
        return nullcontext()
    block: AbstractContextManager[Any] = _engine.recompute_within(budget)
    return block


class Eager(_Wrapper, EagerCall):
    """A function in whose calls no kernel waits.

    Args:
        fn: the function.
    """

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Why no loops ran; nothing is called."""
        return "nothing waited: that was turned off for this function"
