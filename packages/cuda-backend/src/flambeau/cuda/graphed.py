"""Functions that replay graphs of their forward and backward passes."""
from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from functools import cache
from typing import Any

import flambeau
import flambeau.cuda.runtime as runtime
from flambeau import rooms
from flambeau.core import _core
from flambeau.core.pytree import tree_flatten, tree_unflatten
from flambeau.cuda.graphs import CUDAGraph, graph, graph_pool_handle
from flambeau.cuda.streams import Event, Stream, current_stream

Tensor = Any


def make_graphed_callables(callables: Any, sample_args: Any, num_warmup_iters: int = 3,
                           allow_unused_input: bool = False, pool: Any = None) -> Any:
    """Functions that replay a graph of their forward pass, and one of their backward pass.

    A call copies its arguments to where the graph reads them, and returns copies of the results, so
    that these may be kept. Other calls run as they are: tensors of another shape, dtype or device,
    one that requires grad where the sample does not, a module in another mode (``train()``,
    ``eval()``) or whose parameters lie elsewhere by now, another autocast. Random numbers go on
    from replay to replay. ``backward`` has to come before the next call, whose values the graph
    keeps.

    Args:
        callables: A function or module, or a tuple of them. Modules keep their class: their
            ``forward`` is replaced.
        sample_args: Tensors such as it will be called with, which may stand in tuples, lists and
            dictionaries; those that require grad get gradients. A tuple of such tuples for a tuple.
        num_warmup_iters: How often to call before the capture.
        allow_unused_input: Whether results may not depend on all tensors that require grad.
        pool: The token of memory that graphs share. By default those of each callable have memory
            of their own, so that they may run in any order.

    Returns:
        A function, or a tuple of them, as ``callables`` is one.

    Raises:
        RuntimeError: a module has hooks, or buffers that require grad; autocast keeps casts of
            weights between calls; a function writes to its arguments.
        TypeError: an argument is not a tensor.

    Example:
        >>> import flambeau.cuda
        >>> layer = flambeau.cuda.make_graphed_callables(layer, (x,))       # doctest: +SKIP
        >>> layer(x).sum().backward()                                       # doctest: +SKIP
    """
    if _autocast() and flambeau.is_autocast_cache_enabled():
        raise RuntimeError("make_graphed_callables(): autocast keeps casts of weights between "
                           "calls, which a graph would not see change; write "
                           "flambeau.autocast(..., cache_enabled=False)")
    several = isinstance(callables, tuple)
    pairs = zip(callables, sample_args, strict=True) if several else [(callables, sample_args)]
    made = tuple(_graphed(f, args, num_warmup_iters, allow_unused_input, pool)
                 for f, args in pairs)
    return made if several else made[0]


def _graphed(function: Any, samples: tuple[Any, ...], warmup: int, unused: bool,
             pool: Any) -> Any:
    _check(function, samples)
    parameters = [x for x in _state(function) if x.requires_grad]
    graphs = Graphs(function, samples, parameters, unused, pool)
    known = _Known(function, samples)
    graphs.warm_up(warmup)
    graphs.capture()
    original = function.forward if _is_module(function) else function

    def replayed(*args: Any) -> Any:
        """The function, from its graphs where these do for the arguments."""
        return graphs.run(args) if known.fits(args) else original(*args)

    if not _is_module(function):
        return replayed
    function.forward = replayed
    return function


def _autocast() -> Any:
    """The dtype of autocast; nothing where it is off, or flambeau-autograd was never needed."""
    kind, autograd = runtime.device_type(), sys.modules.get("flambeau.autograd._autocast")
    if autograd is None or not autograd.is_autocast_enabled(kind):
        return None
    return autograd.get_autocast_dtype(kind)


def _is_module(function: Any) -> bool:
    return hasattr(function, "named_parameters") and hasattr(function, "forward")


def _check(function: Any, samples: tuple[Any, ...]) -> None:
    leaves = tree_flatten(samples)[0]
    for k, leaf in enumerate(leaves):
        if not _core.is_tensor(leaf):
            raise TypeError(f"make_graphed_callables(): sample_args may hold tensors only, got "
                            f"{type(leaf).__name__} at place {k}; bind it with functools.partial")
    if not _is_module(function):
        return
    hooks = [name for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                               "_backward_pre_hooks") if getattr(function, name, None)]
    if hooks:
        raise RuntimeError(f"make_graphed_callables(): {type(function).__name__} has hooks "
                           f"({', '.join(hooks)}), which replays would not call; register them "
                           "afterwards")
    for name, buffer in function.named_buffers():
        if buffer.requires_grad:
            raise RuntimeError(f"make_graphed_callables(): the buffer {name} requires grad; make "
                               "it a parameter")


def _state(function: Any) -> list[Tensor]:
    """The tensors of a module."""
    return [*function.parameters(), *function.buffers()] if _is_module(function) else []


def _place(tensor: Tensor) -> tuple[int, Any]:
    return _core.address_of(tensor), tensor.shape


class _Known:
    """What calls have to be like.

    Args:
        function: What is captured.
        samples: Its arguments.
    """

    def __init__(self, function: Any, samples: tuple[Any, ...]) -> None:
        leaves, self.structure = tree_flatten(samples)
        self.function = function
        self.kinds = [(x.shape, x.dtype, x.device, x.requires_grad) for x in leaves]
        self.state = [(x, _place(x)) for x in _state(function)]
        self.mode = self._mode()

    def _mode(self) -> tuple[Any, ...]:
        """What decides, beside arguments, which kernels run."""
        return getattr(self.function, "training", None), _autocast()

    def fits(self, args: tuple[Any, ...]) -> bool:
        """Whether a call with these arguments is such as was captured."""
        leaves, structure = tree_flatten(args)
        if structure != self.structure or not all(map(_core.is_tensor, leaves)):
            return False
        wants = flambeau.is_grad_enabled()
        return (all((x.shape, x.dtype, x.device) == kind[:3]
                    and (kind[3] or not (wants and x.requires_grad))
                    for x, kind in zip(leaves, self.kinds, strict=True))
                and self.mode == self._mode()
                and all(_place(x) == place for x, place in self.state))


class Graphs:
    """The graphs of one function, and the tensors that they read and write.

    Args:
        function: What is captured.
        samples: Its arguments.
        parameters: Other tensors that it reads and that require grad.
        unused: Whether gradients may be missing.
        pool: The token of the graphs' memory.
    """

    def __init__(self, function: Any, samples: tuple[Any, ...], parameters: Sequence[Tensor],
                 unused: bool = False, pool: Any = None) -> None:
        leaves, self.structure = tree_flatten(samples)
        self.function, self.unused, self.pool = function, unused, pool or graph_pool_handle()
        self.inputs = [x.detach().clone().requires_grad_(x.requires_grad) for x in leaves]
        self.parameters = list(parameters)
        self.surface = [x for x in (*self.inputs, *self.parameters) if x.requires_grad]
        device = (*self.inputs, *self.parameters)[0].device
        self.stream, self.done, self.number = Stream(device), Event(), 0
        self.forward_graph, self.backward_graph = CUDAGraph(), CUDAGraph()
        self.outputs: list[Tensor] = []
        self.grads: list[Tensor | None] = []
        self.by_surface: list[Tensor | None] = []
        self.pending: Any = None        # of the last call's history, while that may be walked

    def __del__(self) -> None:
        self.forward_graph.reset()      # waits for the streams that still use the tensors above
        self.backward_graph.reset()

    # ---- capture -------------------------------------------------------------------------------
    def warm_up(self, times: int) -> None:
        """Compile kernels and reserve libraries' memory, on a stream of its own."""
        self.stream.wait_stream(current_stream(self.stream.device))
        with self.stream:
            for _ in range(max(times, 1)):
                outputs = self._outputs()
                self._gradients(outputs, [flambeau.ones_like(y) if y.requires_grad else None
                                          for y in outputs])
        current_stream(self.stream.device).wait_stream(self.stream)

    def capture(self) -> None:
        """Keep both passes."""
        versions = [x._version for x in self.inputs]
        with graph(self.forward_graph, self.pool, self.stream):
            self.outputs = self._outputs()
        if [x._version for x in self.inputs] != versions:
            raise RuntimeError("make_graphed_callables(): the function writes to its arguments, "
                               "of which its graph has copies; write to clones and return them")
        self.grads = [flambeau.empty_like(y) if y.requires_grad else None for y in self.outputs]
        if any(y.requires_grad for y in self.outputs):
            with graph(self.backward_graph, self.pool, self.stream):
                self.by_surface = self._gradients(self.outputs, self.grads)
        self.outputs = [y.detach() for y in self.outputs]
        self.done.record()

    def _outputs(self) -> list[Tensor]:
        result = self.function(*tree_unflatten(self.inputs, self.structure))
        outputs, self.result_structure = tree_flatten(result)
        for y in outputs:
            if not _core.is_tensor(y):
                raise TypeError("make_graphed_callables(): the function returns a "
                                f"{type(y).__name__}, which a replay could not compute anew; "
                                "return tensors")
        return outputs

    def _gradients(self, outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Any]:
        pairs = [(y, g) for y, g in zip(outputs, grads, strict=True) if g is not None]
        if not pairs or not self.surface:
            return []
        found = rooms.enter("autograd").grad(
            [y for y, _ in pairs], self.surface, [g for _, g in pairs], allow_unused=self.unused)
        return list(found)

    # ---- replay --------------------------------------------------------------------------------
    def run_unless_busy(self, *args: Any) -> Any:
        """``run``, or None while the backward pass of the call before may come."""
        if self.pending is not None and self.pending() is not None:
            return None
        return self.run(args)

    def run(self, args: tuple[Any, ...]) -> Any:
        """Call the function by its graphs."""
        leaves = tree_flatten(args)[0]
        if flambeau.is_grad_enabled() and self.by_surface:
            outputs = _replay().apply(self, *leaves, *self.parameters)
        else:
            outputs = self.forward(leaves)
        return tree_unflatten(list(outputs), self.result_structure)

    def _replay(self, captured: CUDAGraph, targets: Sequence[Tensor | None],
                sources: Sequence[Tensor | None], results: Sequence[Tensor | None]) -> list[Any]:
        """Copy in, replay, copy out; after the replay before, whatever stream that was on."""
        stream = current_stream(self.stream.device)
        stream.wait_event(self.done)
        with flambeau.no_grad():
            for target, source in zip(targets, sources, strict=True):
                if target is not None and source is not None:
                    target.copy_(source)
            captured.replay()
            copies = [None if y is None else y.clone() for y in results]
        self.done.record(stream)
        return copies

    def forward(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """The results."""
        self.number += 1
        return self._replay(self.forward_graph, [x.detach() for x in self.inputs], leaves,
                            self.outputs)

    def backward(self, number: int, grads: Sequence[Tensor]) -> list[Tensor | None]:
        """Gradients by arguments and parameters that require grad, of call ``number``."""
        self.pending = None
        if number != self.number:
            raise RuntimeError(
                "backward(): a graphed callable was called again before the backward pass of this "
                "call, and keeps the values of its last call alone; call backward() first, or "
                "graph the callable once for each call")
        found = iter(self._replay(self.backward_graph, self.grads, grads, self.by_surface))
        return [next(found) if x.requires_grad else None for x in (*self.inputs, *self.parameters)]


class _Token:
    """Lives as long as the history of a call."""


@cache
def _replay() -> Any:
    autograd: Any = rooms.enter("autograd")

    class Replay(autograd.Function):
        """A call by graphs, for autograd."""

        @staticmethod
        def forward(ctx: Any, graphs: Graphs, *inputs: Tensor) -> tuple[Tensor, ...]:
            ctx.graphs = graphs
            outputs = tuple(graphs.forward(inputs[:len(graphs.inputs)]))
            ctx.number, ctx.token = graphs.number, _Token()
            graphs.pending = weakref.ref(ctx.token)
            ctx.mark_non_differentiable(*(y for y, g in zip(outputs, graphs.grads, strict=True)
                                          if g is None))
            return outputs

        @staticmethod
        @autograd.function.once_differentiable
        def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
            return None, *ctx.graphs.backward(ctx.number, grads)

    return Replay
