"""Checkpoints: save memory by computing a part of the forward pass again in the backward pass.

Inside a checkpoint nothing is saved for backward. When a backward pass asks for the first of
the tensors, the function runs once more with the same random numbers, and what it saves then is
what the pass gets: the same operators on the same numbers, so gradients are equal bit for bit.
"""
from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autograd._engine import (
    AutocastBlock,
    KeptTensor,
    enable_grad,
    is_grad_enabled,
    open_autocasts,
    pass_number,
    refuse_derivative,
)
from flambeau.autograd.graph import saved_tensors_hooks
from flambeau.autograd.transforms.stack import Moment, outlives_level
from flambeau.core import Tensor
from flambeau.core.backends import keep_random
from flambeau.utils._checkpoint_log import RunLog
from flambeau.utils._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = ["CheckpointError", "CheckpointPolicy", "SelectiveCheckpointContext", "checkpoint",
           "checkpoint_sequential", "create_selective_checkpoint_contexts", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

_stops_early = True
_debug: bool | None = None              # in place of what checkpoint() is told
_Contexts = tuple[contextlib.AbstractContextManager, contextlib.AbstractContextManager]


class _Hooks(saved_tensors_hooks):
    """Checkpoints work inside transforms."""

    _ours = True


class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""


class _Stop(Exception):
    """Everything that was saved the first time has been saved again."""


def noop_context_fn() -> _Contexts:
    """Two context managers that do nothing: the default of ``context_fn``."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class set_checkpoint_early_stop:
    """Choose whether second runs end as soon as all that is needed was computed.

    Args:
        enable: whether they do.

    Example:
        >>> from flambeau.utils.checkpoint import set_checkpoint_early_stop
        >>> with set_checkpoint_early_stop(False):
        ...     pass
    """

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        global _stops_early
        self._before, _stops_early = _stops_early, self.enable

    def __exit__(self, *exception: object) -> None:
        global _stops_early
        _stops_early = self._before


class set_checkpoint_debug_enabled:
    """Choose for a block whether checkpoints are made as with ``debug=True``.

    Args:
        enabled: whether they are; None leaves it to each of them.

    Example:
        >>> from flambeau.utils.checkpoint import set_checkpoint_debug_enabled
        >>> with set_checkpoint_debug_enabled(True):
        ...     pass
    """

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        global _debug
        self._before, _debug = _debug, self.enabled

    def __exit__(self, *exception: object) -> None:
        global _debug
        _debug = self._before


def checkpoint(function: Callable, *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], _Contexts] = noop_context_fn,
               determinism_check: str = "default", preserve_rng_state: bool = True,
               debug: bool = False, early_stop: bool | None = None, **kwargs: Any) -> Any:
    """Run a function without keeping what its backward needs; it is computed again then.

    Args:
        function: what to run; the second run must do the same operations.
        args: its arguments. Tensors among them are kept, guarded against writes.
        use_reentrant: accepted as in PyTorch; both values mean the variant without restrictions
            (PyTorch's ``False``). With True, results that do not require grad although an
            argument does raise in the backward pass.
        context_fn: gives a context manager for the first run and one for the second.
        determinism_check: ``"default"`` compares shapes, dtypes and devices of what is saved,
            ``"none"`` compares nothing.
        preserve_rng_state: draw the same random numbers again.
        debug: note what both runs execute, for the error that says that they differ.
        early_stop: end the second run when nothing more is needed; None takes what
            :class:`set_checkpoint_early_stop` says.
        kwargs: its keyword arguments.

    Returns:
        What the function returns.

    Raises:
        CheckpointError: in the backward pass, when the second run saves something else.
        ValueError: an unknown ``determinism_check``; ``debug`` together with ``context_fn``.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.checkpoint import checkpoint
        >>> x = flambeau.tensor([0.5, 1.0], requires_grad=True)
        >>> y = checkpoint(lambda x: x.exp().sin(), x)
        >>> y.sum().backward()
        >>> x.grad
        tensor([-0.1283, -2.4783])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], "
                         f"but got {determinism_check}")
    debug = debug if _debug is None else _debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn: leave one of "
                         "the two out")
    first, second = context_fn()
    if not is_grad_enabled() or outlives_level():   # a level cannot be entered again
        with first:
            return function(*args, **kwargs)
    stops = _stops_early if early_stop is None else early_stop
    frame = _Frame(function, args, kwargs, second, preserve_rng_state, stops,
                   determinism_check == "default", RunLog(debug))
    with _Hooks(frame.pack, frame.unpack), frame.log.recorded(False), first:
        result = function(*args, **kwargs)
    frame.complete = True
    return _refusing(result, args) if use_reentrant else result


def _refusing(result: Any, args: tuple) -> Any:
    """Results that do not depend on what requires grad raise in the backward pass, as PyTorch's
    variant with restrictions has it: such a checkpoint saves nothing."""
    inputs = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    outputs = result if isinstance(result, tuple) else (result,)
    if not inputs or any(isinstance(o, Tensor) and o.requires_grad for o in outputs):
        return result
    outputs = tuple([refuse_derivative(None, o.detach(), "checkpoint", inputs, _NEEDLESS)
                     if isinstance(o, Tensor) else o for o in outputs])
    return outputs if isinstance(result, tuple) else outputs[0]


_NEEDLESS = ("none of output has requires_grad=True, this checkpoint() is not necessary: call the "
             "function itself, or write use_reentrant=False")


def checkpoint_sequential(functions: Any, segments: int, input: Any,
                          use_reentrant: bool | None = None, preserve_rng_state: bool = True,
                          **kwargs: Any) -> Any:
    """Run functions one after another in checkpointed segments; the last segment is kept.

    Args:
        functions: a ``Sequential``, or functions in the order they run.
        segments: how many.
        input: the argument of the first.
        use_reentrant: as in :func:`checkpoint`.
        preserve_rng_state: as in :func:`checkpoint`.
        kwargs: further arguments of :func:`checkpoint`.

    Returns:
        What the last function returns.

    Raises:
        ValueError: more segments than functions, or none.

    Example:
        >>> import flambeau
        >>> from flambeau.utils.checkpoint import checkpoint_sequential
        >>> x = flambeau.tensor(0.5, requires_grad=True)
        >>> checkpoint_sequential([flambeau.exp, flambeau.sin, flambeau.exp], 2, x).backward()
        >>> x.grad
        tensor(-0.3478)
    """
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(len(steps), 1):
        raise ValueError(f"checkpoint_sequential(): segments must be between 1 and the number of "
                         f"functions, {len(steps)}, not {segments}")
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(_chain(steps[start:start + size]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve_rng_state, **kwargs)
    return _chain(steps[size * (segments - 1):])(input)


def _chain(steps: Sequence[Callable]) -> Callable:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


class _Holder:
    """Stands in for one saved tensor."""

    __slots__ = ("__weakref__", "facts", "index", "once", "read_in")

    def __init__(self, index: int, facts: tuple) -> None:
        self.index = index
        self.facts = facts
        self.once = False               # of a custom function, which reads all it saved at once
        self.read_in = 0                # the last pass in which it did


class _Frame:
    """One checkpointed call: how to run it again, and what the second run gave."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict,
                 context: contextlib.AbstractContextManager, keeps_random: bool,
                 stops_early: bool, compares: bool, log: RunLog) -> None:
        self.function = function
        # Made under the hooks of an outer checkpoint, which then keeps no argument of this one.
        self.args = [KeptTensor(a) if isinstance(a, Tensor) else a for a in args]
        self.kwargs = kwargs
        self.context = context
        self.random = keep_random() if keeps_random else None
        self.casts = open_autocasts()
        self.moment = Moment()
        self.stops_early = stops_early
        self.compares = compares
        self.log = log
        self.complete = False
        self.count = 0
        self.holders: list[weakref.ref[_Holder]] = []
        self.found: weakref.WeakKeyDictionary[_Holder, Tensor] = weakref.WeakKeyDictionary()
        self.found_in = -1

    def pack(self, tensor: Tensor) -> _Holder:
        """Keep the position of a tensor in the order of saving, and not the tensor."""
        holder = _Holder(self.count, (tuple(tensor.shape), tensor.dtype, tensor.device))
        self.holders.append(weakref.ref(holder))
        self.count += 1
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        """The tensor: from the second run of this pass, which is made when there was none."""
        try:
            return self._recomputed(holder)
        except CheckpointError as error:
            if not self.log.enabled:
                raise
            raise CheckpointError(self.log.explain(str(error))) from None

    def _recomputed(self, holder: _Holder) -> Tensor:
        number = pass_number()
        if holder.once and holder.read_in == number > 0:
            raise CheckpointError(_READ_TWICE)
        if number != self.found_in or holder not in self.found:
            self.found = weakref.WeakKeyDictionary()
            self._run_again()
            self.found_in = number
        tensor = self.found.get(holder)
        if tensor is None:
            raise CheckpointError(
                f"checkpoint(): the second run saved fewer tensors than the first ({self.count}): "
                "the function must do the same operations when it runs again in the backward "
                "pass. Does it depend on a global that has changed?")
        if number == 0:                 # asked for outside of a pass: nobody else will
            self.found.clear()
        elif holder.once:               # its memory need not wait for the end of the pass
            holder.read_in = number
            del self.found[holder]
        return tensor

    def _run_again(self) -> None:
        seen = 0

        def collect(tensor: Tensor) -> Tensor:
            nonlocal seen
            index, seen = seen, seen + 1
            if index >= self.count:
                if self.compares and self.complete:
                    raise CheckpointError(
                        f"checkpoint(): the second run saves more tensors than the first "
                        f"({self.count}): the function must do the same operations each time")
                return tensor
            holder = self.holders[index]()
            if holder is not None:
                self._check(holder, tensor)
                self.found[holder] = tensor
            if seen == self.count and self.stops_early:
                raise _Stop
            return tensor

        with contextlib.ExitStack() as stack:
            if self.random is not None:
                stack.callback(keep_random())
                self.random()
            for device, dtype, enabled in _casts_to_restore(self.casts):
                stack.enter_context(AutocastBlock(device, dtype, enabled, True))
            stack.enter_context(enable_grad())
            stack.enter_context(self.moment)
            args = [a.unpack(None) if isinstance(a, KeptTensor) else a for a in self.args]
            stack.enter_context(_Hooks(collect, _same))
            stack.enter_context(self.log.recorded(True))
            stack.enter_context(self.context)
            with contextlib.suppress(_Stop):
                self.function(*args, **self.kwargs)

    def _check(self, holder: _Holder, tensor: Tensor) -> None:
        facts = (tuple(tensor.shape), tensor.dtype, tensor.device)
        if self.compares and facts != holder.facts:
            raise CheckpointError(
                "checkpoint(): Recomputed values for the following tensors have different "
                f"metadata than during the forward pass: number {holder.index} was (shape, dtype, "
                f"device) {holder.facts} and is {facts}. The function must do the same each time")


_READ_TWICE = (
    "checkpoint(): Unpack is being triggered for a tensor that was already unpacked "
    "once: what a checkpoint computes again is given up as soon as backward() has read it. Read "
    "ctx.saved_tensors once and keep what it gives, a, b = ctx.saved_tensors")


def _casts_to_restore(wanted: list) -> list:
    """The autocast blocks of the first run; where only the backward pass has one, a block
    without casts."""
    known = {device for device, _, _ in wanted}
    return wanted + [(device, dtype, False) for device, dtype, _ in open_autocasts()
                     if device not in known]


def _same(tensor: Tensor) -> Tensor:
    return tensor
