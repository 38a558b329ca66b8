"""Custom functions: a forward and a backward written by the user.

Example:
    >>> import flambeau
    >>> class Cube(flambeau.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return g * 3 * x ** 2
    >>> x = flambeau.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from flambeau.autograd._context import BackwardCFunction, FunctionCtx
from flambeau.autograd._engine import (
    KeptTensor,
    NodeFunction,
    attach_function,
    holders_of,
    is_grad_enabled,
    needs_grad,
    no_grad,
    node_type,
    refusing,
    tie_written,
)
from flambeau.autograd._once_differentiable import once_differentiable
from flambeau.autograd.transforms.stack import STATE
from flambeau.core import Tensor, ops

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

class _Backward(NodeFunction):
    """The function's node: calls the user's ``backward``."""

    def __init__(self, cls: type[Function], ctx: FunctionCtx) -> None:
        self.cls = cls
        self.ctx = ctx
        self.runs_without_grads = True

    def run(self, node, grads, needs):
        ctx = self.ctx
        before, ctx._node = ctx._node, node
        try:
            if ctx.materialize_grads:
                grads = _materialized(grads, node._output_shapes)
            if ctx._hidden is None or not is_grad_enabled():
                result = _backward_of(self.cls)(ctx, *grads)
            else:
                with _hidden_shown(ctx):
                    result = _backward_of(self.cls)(ctx, *grads)
        finally:
            ctx._node = before
        result = result if isinstance(result, tuple) else (result,)
        return _without_surplus(result, len(needs))

    def release(self) -> None:
        if self.ctx._saved:
            self.ctx._saved = None


def _backward_of(cls: type[Function]) -> Callable:
    """The method that gives a custom function's gradients: ``backward``, or ``vjp``.

    Args:
        cls: the custom function.

    Raises:
        RuntimeError: it has both.
    """
    if cls.vjp is Function.vjp:
        return cls.backward
    if cls.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            f"should only implement one of them: they are two names of one method, and "
            f"{cls.__name__} would ignore one; remove it")
    return cls.vjp


def _materialized(grads: tuple, shapes: Sequence) -> tuple:
    """Zeros for the gradients of outputs that were not used."""
    return tuple([g if g is not None or facts is None
                  else ops.full_of(facts[0], 0, dtype=facts[1], device=facts[2])
                  for g, facts in zip(grads, shapes, strict=True)])


def _without_surplus(grads: tuple, count: int) -> tuple:
    """More values than inputs are fine when the surplus is None."""
    surplus = grads[count:]
    return grads[:count] if surplus and all(g is None for g in surplus) else grads


class _NodeType:
    """Looks up the type of a function's nodes by their name."""

    def __get__(self, instance, cls):
        return node_type(f"{cls.__name__}Backward")


class Function:
    """Base class of custom functions: write ``forward`` and ``backward``, call ``apply``.

    ``forward(ctx, *args)`` computes; ``backward(ctx, *grads)`` gives one gradient per argument,
    None for those without. With ``setup_context(ctx, inputs, output)`` defined, ``forward``
    takes no ctx.
    """

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the result; runs with recording switched off."""
        raise NotImplementedError("a custom Function needs a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple, output) -> None:
        """Fill the ctx after ``forward``; defining it takes ctx out of ``forward``."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: FunctionCtx, *grads):
        """Gradients of the inputs from the gradients of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD: a static method "
            "backward(ctx, *grads) that returns one gradient (or None) for each argument of "
            "forward")

    #: Another name of ``backward``; a function has one of them.
    vjp = backward

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents):
        """Tangents of the outputs from the tangents of the inputs, for forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD: a static method jvp(ctx, *tangents)")

    @staticmethod
    def vmap(info, in_dims: tuple, *args):
        """The function of a batch: gives the output and the index of its batch dimension."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True.")

    #: Let vmap run ``forward``, ``backward`` and ``jvp`` on batches, as they are.
    generate_vmap_rule = False

    #: The type of the nodes that calls of the function leave in the graph.
    _backward_cls = _NodeType()

    def __init__(self) -> None:
        name = type(self).__name__
        warnings.warn(f"{name} should not be instantiated: the methods of a custom function are "
                      f"static, and an object of it is good for nothing. Call {name}.apply(...)",
                      DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        """What functions were called by before ``apply``; raises."""
        name = type(self).__name__
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            f"new-style autograd function with static forward method: call {name}.apply(...) and "
            "mark forward and backward with @staticmethod")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run the function and record it.

        Args:
            args: passed to ``forward`` after ctx.
            kwargs: passed to ``forward``; they get no gradients.

        Returns:
            What ``forward`` returns, its tensors tied into the graph.
        """
        if STATE.depth or STATE.running:
            from flambeau.autograd.transforms import custom

            return custom.apply_inside(cls, args, kwargs)
        return _applied(cls, args, kwargs)[0]


class InplaceFunction(Function):
    """Base class of custom functions that write to their input; ``mark_dirty`` is what counts.

    Args:
        inplace: kept as an attribute.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _run_forward(cls: type[Function], ctx: FunctionCtx, args: tuple, kwargs: dict):
    """What ``forward`` returns; no method, for programs call theirs ``_forward`` and the like."""
    if cls.setup_context is Function.setup_context:
        return cls.forward(ctx, *args, **kwargs)
    output = cls.forward(*args, **kwargs)
    cls.setup_context(ctx, args, output)
    return output


def _applied(cls: type[Function], args: tuple, kwargs: dict):
    """The recorded output, and the context."""
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple([needs_grad(a) for a in args])
    records = is_grad_enabled() and any(ctx.needs_input_grad)
    with no_grad():
        output = _run_forward(cls, ctx, args, kwargs)
    return _tie(cls, ctx, args, output, records), ctx


def _tie(cls: type[Function], ctx: FunctionCtx, args: tuple, output, records: bool):
    """Hang the function's node on its outputs."""
    single = not isinstance(output, (tuple, list))
    outputs = [output] if single else list(output)
    _check_returned(cls, ctx, outputs)
    _forget_others(cls, ctx, args)
    outputs = [_as_output(cls, ctx, args, o) for o in outputs]
    if records:
        _attach(cls, ctx, args, outputs)
        ctx._hidden = _hidden_attributes(cls, ctx, args, outputs)
    ctx._to_save = ()
    return outputs[0] if single else tuple(outputs)


def _attach(cls, ctx, args, outputs) -> None:
    """Make the node; inputs that were written to are tied last, for they may be views."""
    wanted = [_carries_grad(ctx, o) for o in outputs]
    fresh = [None if o is None or _is_among(o, ctx._dirty) else o for o in wanted]
    facts = None
    if any(o is None for o in fresh):
        facts = [(tuple(o.shape), o.dtype, o.device) if _gets_zeros(ctx, o) else None
                 for o in outputs]
    saved, ctx._to_save = ctx._wanted(), ()
    hidden = _hidden(saved, 0, args, outputs, ctx) if saved else []
    kind = "GeneratedBackward" if STATE.running else "Backward"
    node = attach_function(cls.__name__ + kind, _Backward(cls, ctx), ctx, list(args), fresh, facts)
    for number, o in enumerate(wanted):
        if o is not None and fresh[number] is None:
            index = next(i for i, a in enumerate(args) if a is o)
            tie_written(o, node, number, len(wanted), index, cls.__name__)
    ctx._saved = tuple([_saved(cls, t, outputs, h) for t, h in zip(saved, hidden, strict=True)])


def _gets_zeros(ctx, output) -> bool:
    """Whether ``backward`` is given zeros for an output without gradient."""
    return isinstance(output, Tensor) and (
        ctx._materialize_non_diff_grads or not _is_among(output, ctx._constant))


def _check_returned(cls, ctx, outputs) -> None:
    if not all(_is_among(t, outputs) for t in ctx._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            f"The inputs that are modified inplace must all be outputs of the Function: return "
            f"them from {cls.__name__}.forward()")


def _forget_others(cls, ctx, args) -> None:
    """Tensors that are not inputs have no history before the function: writes to them are its
    own affair."""
    own = tuple([t for t in ctx._dirty if _is_among(t, args)])
    if len(own) < len(ctx._dirty):
        ctx._dirty = own
        warnings.warn(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            f"there is no need to pass it to mark_dirty(): {cls.__name__}.forward() passed what "
            "it made itself", UserWarning, stacklevel=2)


def _as_output(cls, ctx, args, value):
    """An input that is returned unchanged becomes a view of it, so that it can have a history."""
    if not isinstance(value, Tensor):
        return value
    if _is_among(value, ctx._dirty):
        _check_dirty(cls, value)
        return value
    if not _is_among(value, args):
        return value
    with no_grad():                         # as views that forward takes: not to be written to
        view = ops.alias(value)
    if _is_among(value, ctx._constant):
        ctx._constant = (*ctx._constant, view)
    return view


def _check_dirty(cls, tensor) -> None:
    if is_grad_enabled() and tensor.is_leaf and tensor.requires_grad:
        raise RuntimeError(
            f"a leaf Variable that requires grad is being used in an in-place operation. "
            f"{cls.__name__}.forward() wrote to a leaf and marked it dirty: write to a clone()")


def _carries_grad(ctx, value):
    """The output if a gradient may come back to it, else None."""
    if not isinstance(value, Tensor) or _is_among(value, ctx._constant):
        return None
    return value if value.is_floating_point() or value.is_complex() else None


def _is_among(value, others: Sequence) -> bool:
    return any(value is o for o in others)


def _saved(cls, tensor, outputs, hidden):
    if tensor is None:
        return None
    if hidden:
        return KeptTensor(tensor, -1, _refusal(cls, "with save_for_backward()"), True)
    number = next((i for i, o in enumerate(outputs) if o is tensor), -1)
    return KeptTensor(tensor, number, None, True)


# ---- intermediates that the author hid -----------------------------------------------------------
# What forward computes on the way has no history, for forward is not recorded. A backward that
# uses such a tensor is right, but the derivative of that backward would take it for a constant.
# So while a backward is recorded, hidden tensors carry a history that raises when a gradient
# comes to it. Tensors that others hold, too, were made elsewhere: they are constants.

_alone = 0  # references to a tensor that its tuple alone holds; counted on first use


def _hidden(values: tuple, more: int, args, outputs, ctx) -> list[bool]:
    """Which of some values forward made and nobody but their tuple and ``more`` others holds."""
    global _alone
    possible = [_may_be_hidden(value, args, outputs, ctx) for value in values]
    if not any(possible):
        return possible
    if not _alone:
        _alone = _references((ops.full_of((1,), 0),))[0]
    return [may and count <= _alone + more
            for may, count in zip(possible, _references(values), strict=True)]


def _references(values: tuple) -> list[int]:
    return [holders_of(value) for value in values]


def _may_be_hidden(value, args, outputs, ctx) -> bool:
    if value is None or _is_among(value, args) or _is_among(value, outputs):
        return False
    if not (value.is_floating_point() or value.is_complex()):
        return False
    return not (value.requires_grad or _is_among(value, ctx._constant))


#: What a ctx has before its forward runs: what __init__ and apply() set.
_OWN_ATTRIBUTES = len(FunctionCtx().__dict__) + 1


def _hidden_attributes(cls, ctx, args, outputs) -> dict[str, str] | None:
    """Names of attributes of ctx that hold hidden tensors, and the error of each."""
    if len(ctx.__dict__) <= _OWN_ATTRIBUTES:
        return None
    names = [name for name, value in ctx.__dict__.items()
             if name[0] != "_" and isinstance(value, Tensor)]
    if not names:
        return None
    hidden = _hidden(tuple([ctx.__dict__[name] for name in names]), 1, args, outputs, ctx)
    return {name: _refusal(cls, f"as ctx.{name}")
            for name, found in zip(names, hidden, strict=True) if found}


def _refusal(cls, how: str) -> str:
    return (f"{cls.__name__}: double backward passes through a tensor that forward() computed on "
            f"the way and kept {how}. How it depends on the inputs was not recorded, so the second "
            "derivative would be wrong. Return it as an output of forward() too and save that, or "
            "compute it again in backward() from the saved inputs; if it does not depend on the "
            "inputs (a mask), say so: ctx.mark_non_differentiable(it)")


class _hidden_shown:
    """While a backward is recorded, hidden attributes are replaced by tensors that refuse."""

    def __init__(self, ctx: FunctionCtx) -> None:
        self.ctx = ctx
        self.kept: dict = {}

    def __enter__(self) -> None:
        ctx = self.ctx
        for name, message in (ctx._hidden or {}).items():
            value = ctx.__dict__.get(name)
            if isinstance(value, Tensor):
                self.kept[name] = value
                ctx.__dict__[name] = refusing(value, message, ctx._node)

    def __exit__(self, *exception) -> None:
        self.ctx.__dict__.update(self.kept)
