"""Custom functions in forward mode: calls ``jvp``, and checks that what it gives goes together
with what ``forward`` gave. Values that share memory must have tangents that share memory, or a
later write to one of them would leave the other with the tangent of a value that is gone."""
from __future__ import annotations

from flambeau.autograd._engine import attach_function, is_grad_enabled, needs_grad
from flambeau.autograd.function import Function, _applied
from flambeau.autograd.transforms.dual import Passed
from flambeau.autograd.transforms.forward.twice import jvp_by_gradients
from flambeau.core import Tensor, _core, ops
from flambeau.core.pytree import tree_map

__all__ = ["OtherContext", "pushed_forward"]


def pushed_forward(cls, level, args: tuple, kwargs: dict):
    """The outputs of a custom function, duals of a level.

    Args:
        cls: the custom function.
        level: the forward mode.
        args: its arguments, tensors of the level among them.
        kwargs: its keyword arguments.

    Raises:
        RuntimeError: ``jvp`` is absent or gives what does not fit.
    """
    pairs = [level.unwrap(a) if isinstance(a, Tensor) else (_values(level, a), None)
             for a in args]
    primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
    if cls.jvp is Function.jvp or all(t is None for t in tangents):
        output, dirty = _without_jvp(cls, primals, kwargs)
        outputs = _as_tuple(output)
        moved = (None,) * len(outputs)
        if any(t is not None for t in tangents):
            _expect_no_writes(cls, dirty)
            moved = jvp_by_gradients(lambda a: _as_tuple(cls.apply(*a, **kwargs)), primals,
                                     tangents)
    else:
        output, context = _applied(cls, tuple(primals), kwargs)
        outputs, dirty = _as_tuple(output), context._dirty
        tangents = _with_room(level, args, primals, tangents, dirty)
        writes = _Writes(primals, tangents, dirty)
        moved = _moved(cls, context, primals, tangents, outputs)
        writes.check(cls)
    whole = tuple([_paired(cls, level, args, (primals, tangents), (y, t), dirty)
                   for y, t in zip(outputs, moved, strict=True)])
    return whole if isinstance(output, (tuple, list)) else whole[0]


def _values(level, argument):
    """An argument that is no tensor; tensors in it are constants to the function."""
    return tree_map(lambda v: level.unwrap(v)[0] if isinstance(v, Tensor) else v, argument)


def _as_tuple(output):
    return tuple(output) if isinstance(output, (tuple, list)) else (output,)


def _without_jvp(cls, primals, kwargs):
    """The output, and the inputs that were written to."""
    before = [p._version if isinstance(p, Tensor) else 0 for p in primals]
    output = cls.apply(*primals, **kwargs)
    return output, [p for p, version in zip(primals, before, strict=True)
                    if isinstance(p, Tensor) and p._version != version]


def _expect_no_writes(cls, dirty) -> None:
    if dirty:
        raise RuntimeError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            f"forward mode AD: {cls.__name__}.forward() writes to its input, so the tangent cannot "
            "be had from backward(), which needs the values before the write")


def _with_room(level, args, primals, tangents, dirty):
    """The tangents, those of inputs that were written to in memory that ``jvp`` may write to."""
    found = list(tangents)
    for i, primal in enumerate(primals):
        if tangents[i] is not None and any(primal is d for d in dirty):
            level.make_room(args[i])
            found[i] = level.unwrap(args[i])[1]
    return found


class OtherContext:
    """The user's context, with saved tensors that are samples again."""

    def __init__(self, inner, saved) -> None:
        self._inner = inner
        self.saved_tensors = self.saved_for_forward = tuple(saved)

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __delattr__(self, name) -> None:
        delattr(self._inner, name)      # what forward kept and is used up


class _Writes:
    """Tangents of inputs that were written to, which ``jvp`` has to write to."""

    def __init__(self, primals, tangents, dirty) -> None:
        self.before = [(t, t._version) for p, t in zip(primals, tangents, strict=True)
                       if t is not None and any(p is d for d in dirty)]

    def check(self, cls) -> None:
        if any(t._version == version for t, version in self.before):
            _refuse_other_tangent(cls)


def _refuse_other_tangent(cls):
    raise RuntimeError(
        "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
        "forward is modifying an input inplace, then the jvp function must modify the "
        f"corresponding gradient inplace: {cls.__name__}.jvp() has to write to the tangent that "
        "it is given (t.mul_(2)) and return it")


# ---- what jvp gives ------------------------------------------------------------------------------
def _moved(cls, context, primals, tangents, outputs):
    """Tangents of the outputs, one for each."""
    given = [ops.zeros_like(p) if t is None and context.materialize_grads and _can_move(p) else t
             for p, t in zip(primals, tangents, strict=True)]
    moved = _as_tuple(cls.jvp(OtherContext(context, context._to_forward), *given))
    if len(moved) != len(outputs):
        raise RuntimeError(
            f"{cls.__name__}.jvp() returned {len(moved)} tangents, but forward() returned "
            f"{len(outputs)} outputs: return one for each, None for those without")
    for y, t in zip(outputs, moved, strict=True):
        _check_tangent(cls, context, y, t)
    return tuple([None if t is None else t.to(y.dtype)
                  for y, t in zip(outputs, moved, strict=True)])


def _can_move(value) -> bool:
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _check_tangent(cls, context, output, tangent) -> None:
    if tangent is None:
        return
    if not _can_move(output) or any(output is c for c in context._constant):
        raise RuntimeError(
            f"{cls.__name__}.jvp() returned a tangent for an output that is not differentiable. "
            "You should return None at that position instead")
    if not isinstance(tangent, Tensor) or tangent.shape != output.shape:
        shown = list(tangent.shape) if isinstance(tangent, Tensor) else type(tangent).__name__
        raise RuntimeError(
            f"{cls.__name__}.jvp() returned a tangent of an invalid size: an output of shape "
            f"{list(output.shape)} has a tangent of that shape, not {shown}")


# ---- values with their tangents ------------------------------------------------------------------
def _paired(cls, level, args, given, pair, dirty):
    """An output as a dual; one that was written to is the argument itself."""
    output, tangent = pair
    if not isinstance(output, Tensor):
        return output
    primals, tangents = given
    index = _index_of(output, primals)
    if index is not None and any(output is d for d in dirty):
        return _rewritten(cls, level, args[index], output, tangents[index], tangent)
    base = None
    if index is not None and tangents[index] is not None and tangent is not None:
        _check_view(cls, primals[index], tangents[index], output, tangent)
        base = args[index]
    dual = level.wrap(output, tangent, base)
    return _with_history(level, output, dual)


def _with_history(level, output, dual):
    if level.is_block and is_grad_enabled() and needs_grad(output):
        attach_function("MakeDualBackward", Passed(), None, [output], [dual])
    return dual


def _index_of(output, primals):
    """Which input an output is, or shows a part of."""
    for i, primal in enumerate(primals):
        if output is primal:
            return i
    for i, primal in enumerate(primals):
        if isinstance(primal, Tensor) and _is_view_of(output, primal):
            return i
    return None


def _is_view_of(output, primal) -> bool:
    """An input that is returned as it is comes as an alias, which knows no base."""
    if output._base is not None:
        return output._base is primal or output._base is primal._base
    return _core._storage_of(output) is _core._storage_of(primal)


def _rewritten(cls, level, argument, output, before, tangent):
    if before is not None and tangent is not before:
        _refuse_other_tangent(cls)
    if before is None and tangent is not None:
        level.make_room(argument)
        ops.copy_(level.unwrap(argument)[1], tangent)
    return _with_history(level, output, argument)


def _check_view(cls, primal, before, output, tangent) -> None:
    what = "A custom Function's forward is returning a view (or an input as-is)"
    if tangent._base is None:
        raise RuntimeError(f"{what} but the jvp is not returning a view: {cls.__name__}.jvp() "
                           "has to do to the tangent what forward() does to the input, "
                           "t.view_as(t) where that returns the input itself")
    if tangent._base is before or tangent._base is before._base:
        return
    if output._base is not None and output._base is primal._base:
        raise RuntimeError(f"{what} but the jvp is not returning a view of the same base as the "
                           f"given grad input: {cls.__name__}.jvp() returned a view of something "
                           "else")
    raise RuntimeError(f"{what} but the jvp is not returning a view of the given grad input: "
                       f"{cls.__name__}.jvp() returned a view of something else")
