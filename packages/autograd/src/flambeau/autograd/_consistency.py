"""Further checks of ``gradcheck``: batches of gradients, and gradients that are not there."""
from __future__ import annotations

import warnings
from functools import partial

from flambeau.autograd import _differences as D
from flambeau.autograd._engine import run_grad
from flambeau.autograd.function import Function
from flambeau.core import ops

__all__ = ["GradcheckError", "check_batched_backward", "check_batched_tangents",
           "check_undefined_gradients", "check_undefined_tangents"]

_BATCH = 2


class GradcheckError(RuntimeError):
    """A derivative differs from the finite difference."""


def _seeds(like):
    """A batch of different gradients, or tangents."""
    count = D.components(like).numel()
    steps = ops.linspace(0.5, 1.5, max(_BATCH * count, 1), dtype=D.components(like).dtype)
    rows = [steps[k * count:(k + 1) * count] for k in range(_BATCH)]
    return ops.stack([D.from_components(row, like) for row in rows])


def _check_close(found, expected, options, what) -> None:
    off = (D.components(found) - D.components(expected)).abs()
    limit = options.atol + options.rtol * D.components(expected).abs()
    if not (off <= limit).all().item():
        raise GradcheckError(f"gradcheck(): {what} gives something else with vmap than in a loop "
                             f"over the batch, by up to {off.max().item():.3g}")


def _run_batched(function, *args):
    try:
        return function(*args)
    except RuntimeError as error:
        raise GradcheckError(f"gradcheck(): a batch of gradients cannot be computed with vmap: "
                             f"{error}") from error


def check_batched_backward(outputs, xs, options) -> None:
    """A vmap over gradients of each output against a loop."""
    from flambeau.autograd.functional import _batched

    for n, y in enumerate(outputs):
        seeds = _seeds(y)
        found = _run_batched(_batched, [y], [seeds], xs, True, False)
        rows = [run_grad([y], [seed], xs, True, False) for seed in seeds]
        for i, g in enumerate(found):
            expected = [value for row in rows if (value := row[i]) is not None]
            if g is not None and expected:
                _check_close(g, ops.stack(expected), options,
                             f"the gradient of output {n} by checked input {i}")


def _of_batch(push, seeds):
    """A vmap, without what ``func.vmap`` asks of custom functions: their jvp is what is checked."""
    from flambeau.autograd.transforms.batch import BatchLevel

    with BatchLevel(_BATCH, "error") as level:
        pairs = [level.unwrap(t) for t in push(level.wrap(seeds, True))]
    return [t if batched else t.expand(_BATCH, *t.shape) for t, batched in pairs]


def check_batched_tangents(fn, args, checked, options) -> None:
    """A vmap over tangents of each input against a loop."""
    for i in checked:
        seeds = _seeds(args[i])

        def push(t, i=i):
            return tuple(D.tangents_of(fn, args, {i: t}))
        rows = [push(seed) for seed in seeds]
        for n, found in enumerate(_run_batched(_of_batch, push, seeds)):
            _check_close(found, ops.stack([row[n] for row in rows]), options,
                         f"the tangent of output {n} by input {i}")


class _Undefined(Function):
    """The same values; no gradient comes back."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


def _is_nothing(g) -> bool:
    return g is None or not (D.components(g) != 0).any().item()


def check_undefined_gradients(outputs, xs) -> None:
    """Outputs without gradients, all of them or one, beside zeros for the others."""
    blank = [_Undefined.apply(y) for y in outputs]
    cases = [blank]
    if len(outputs) > 1:
        cases += [[b if k == n else y for k, (b, y) in enumerate(zip(blank, outputs, strict=True))]
                  for n in range(len(outputs))]
    for case in cases:
        zeros = [ops.zeros_like(y).detach() for y in case]
        _expect_nothing(partial(run_grad, case, zeros, xs, True, False))


def _expect_nothing(backward) -> None:
    try:
        grads = backward()
    except (RuntimeError, TypeError, AttributeError) as error:
        _warn_of_check()
        raise GradcheckError(
            "gradcheck(): Expected backward function to handle undefined output grads: it "
            f"raised {type(error).__name__}: {error}. A custom function that sets "
            "ctx.set_materialize_grads(False) gets None for them") from error
    grads = grads if isinstance(grads, (list, tuple)) else (grads,)
    if not all(_is_nothing(g) for g in grads):
        _warn_of_check()
        raise GradcheckError("gradcheck(): Expected all input grads to be undefined or zero "
                             "when all output grads are undefined or zero")


def _warn_of_check() -> None:
    warnings.warn("Backwards compatibility: New undefined gradient support checking feature is "
                  "enabled by default, but it may break existing callers of this function: "
                  "check_undefined_grad=False leaves it out", UserWarning, stacklevel=2)


def check_undefined_tangents(fn, args, checked, options) -> None:
    """An input without a tangent counts as one whose tangent is zero."""
    others = {i: _seeds(args[i])[0] for i in checked}
    for i in checked:
        given = others | {i: ops.zeros_like(args[i]).detach()}
        found = D.tangents_of(fn, args, given)
        for n, (t, expected) in enumerate(zip(found, D.tangents_of(fn, args, given, (i,)),
                                              strict=True)):
            _check_zero(n, i, t, expected, options, alone=len(checked) == 1)


def _check_zero(n, i, found, expected, options, alone) -> None:
    if alone and not _is_nothing(found):
        raise GradcheckError(f"gradcheck(): Expected all output tangents to be zero when all "
                             f"input tangents are zero, but that of output {n} is not")
    off = (D.components(found) - D.components(expected)).abs()
    if not (off <= options.atol + options.rtol * D.components(expected).abs()).all().item():
        raise GradcheckError(
            f"gradcheck(): Mismatch in tangent values for output with index: {n} when input: {i} "
            f"has a tangent of zeros vs. None: they differ by up to {off.max().item():.3g}")
