"""Checking derivatives against finite differences."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import flambeau
from flambeau.autograd import _differences as D
from flambeau.autograd._consistency import (
    GradcheckError,
    check_batched_backward,
    check_batched_tangents,
    check_undefined_gradients,
    check_undefined_tangents,
)
from flambeau.autograd._engine import enable_grad, run_grad
from flambeau.core import Tensor, _core, ops

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


#: atol and rtol by the name that programs import this library under: those that are written for
#: PyTorch count on its own. Ours find a rule that is wrong by a thousandth.
_TOLERANCES = {"flambeau": (1e-6, 1e-4), "torch": (1e-5, 1e-3)}


class _Options(NamedTuple):
    """What the two functions share."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    undefined: bool
    dtypes: bool
    batched: bool
    batched_forward: bool
    forward: bool
    backward: bool
    fast: bool


def gradcheck(func: Callable, inputs: Tensor | Sequence[object], *, eps: float = 1e-6,
              atol: float | None = None, rtol: float | None = None,
              raise_exception: bool = True, nondet_tol: float = 0.0,
              check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True,
              fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Compare the derivatives of a function with central differences.

    Every element of every output is differentiated by every element of every input that
    requires grad: ``(f(x + eps) - f(x - eps)) / (2 eps)``. Complex numbers are checked along
    the real and the imaginary axis. Inputs are moved in place and put back, so that a function
    may reach them through a closure, such as a module's parameters.

    Args:
        func: from the inputs to a tensor or a tuple of tensors.
        inputs: its arguments; those to check require grad, and are best float64 or complex128.
        eps: the step.
        atol: absolute tolerance: 1e-6, or PyTorch's 1e-5 in programs of PyTorch's.
        rtol: relative tolerance: 1e-4, or PyTorch's 1e-3 in programs of PyTorch's.
        raise_exception: raise where they differ, instead of giving False.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: outputs without a gradient must give the inputs none, or zeros.
        check_grad_dtypes: gradients must have the dtype of their input.
        check_batched_grad: a ``vmap`` over gradients must give what a loop gives.
        check_batched_forward_grad: likewise for tangents.
        check_forward_ad: check forward mode.
        check_backward_ad: check the backward pass.
        fast_mode: compare along one random direction only, which costs two calls per input.
        masked: whether elements that sparse inputs and outputs do not store count for nothing.

    Returns:
        Whether all derivatives agree.

    Raises:
        GradcheckError: they differ; the text names the entry.
        ValueError: no input requires grad.
        AssertionError: the checks that are asked for exclude each other.
        RuntimeError: an input has overlapping elements.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([0.5, 2.0], dtype=flambeau.float64, requires_grad=True)
        >>> flambeau.autograd.gradcheck(lambda x: x ** 2, x)
        True
    """
    _check_choices(check_forward_ad, check_backward_ad, check_batched_grad,
                   check_batched_forward_grad)
    usual = _TOLERANCES[_core.shown_package[0]]
    options = _Options(eps, usual[0] if atol is None else atol, usual[1] if rtol is None else rtol,
                       nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
                       check_batched_forward_grad, check_forward_ad, check_backward_ad, fast_mode)
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    func, args = _of_dense(func, args, bool(masked))
    try:
        _check(func, args, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable, inputs: Tensor | Sequence[object],
                  grad_outputs: Tensor | Sequence[Tensor] | None = None, *, eps: float = 1e-6,
                  atol: float | None = None, rtol: float | None = None,
                  gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Compare second derivatives with central differences of the first.

    Args:
        func: from the inputs to a tensor or a tuple of tensors.
        inputs: its arguments, as for :func:`gradcheck`.
        grad_outputs: gradients of the outputs (by default, fixed numbers around 1).
        eps: the step.
        atol: as for :func:`gradcheck`.
        rtol: as for :func:`gradcheck`.
        gen_non_contig_grad_outputs: make the gradients that are not given with gaps in memory.
        raise_exception: raise where they differ, instead of giving False.
        nondet_tol: as for :func:`gradcheck`.
        check_undefined_grad: as for :func:`gradcheck`.
        check_grad_dtypes: as for :func:`gradcheck`.
        check_batched_grad: as for :func:`gradcheck`.
        check_fwd_over_rev: check forward mode over the backward pass.
        check_rev_over_rev: check the backward pass of the backward pass.
        fast_mode: as for :func:`gradcheck`.
        masked: as for :func:`gradcheck`.

    Returns:
        Whether all second derivatives agree.

    Raises:
        GradcheckError: they differ.
        ValueError: as for :func:`gradcheck`.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([0.5, 2.0], dtype=flambeau.float64, requires_grad=True)
        >>> flambeau.autograd.gradgradcheck(lambda x: x ** 2, x)
        True
    """
    _check_choices(check_fwd_over_rev, check_rev_over_rev, check_batched_grad, False)
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    func, args = _of_dense(func, args, masked)
    count = len(args)
    if grad_outputs is None:
        outputs = [y for y in D.outputs_of(func, args) if y.requires_grad]
        grad_outputs = [_weights(y, gen_non_contig_grad_outputs) for y in outputs]
    weights = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first(*values):
        wanted = [x.requires_grad_() for x, a in zip(values, args, strict=False) if _is_checked(a)]
        outputs = [y for y in D.outputs_of(func, values[:count]) if y.requires_grad]
        grads = run_grad(outputs, list(values[count:]), wanted, True, True)
        return tuple([g for g in grads if g is not None])

    return gradcheck(first, (*args, *weights), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
                     check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
                     fast_mode=fast_mode)


def _of_dense(func: Callable, args: tuple, masked: bool) -> tuple[Callable, tuple]:
    """The function as one of the values of its sparse arguments, where it has some."""
    if not any(_core.is_sparse_object(x) for x in args):
        return func, args
    from flambeau.sparse._checking import of_values

    return of_values(func, args, masked)


def _check_choices(forward, backward, batched, batched_forward) -> None:
    if not forward and not backward:
        raise AssertionError("gradcheck(): expected at least one of check_forward_ad and "
                             "check_backward_ad to be True")
    if batched and not backward:
        raise AssertionError("gradcheck(): check_batched_grad=True requires "
                             "check_backward_ad=True")
    if batched_forward and not forward:
        raise AssertionError("gradcheck(): check_batched_forward_grad=True requires "
                             "check_forward_ad=True")


def _is_checked(x: object) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _weights(y, gaps: bool):
    """Numbers between 0.5 and 1.5, all different, as a gradient to start from."""
    steps = ops.linspace(0.5, 1.5, max(y.numel(), 1), dtype=y.dtype)
    steps = steps[:y.numel()].reshape(y.shape)
    if gaps:
        steps = ops.stack([steps, steps], -1)[..., 0]
    return _core.requiring(steps.detach())


# ---- the checks ----------------------------------------------------------------------------------
def _check(fn, args, options) -> None:
    checked = [i for i, x in enumerate(args) if _is_checked(x)]
    _check_inputs(args, checked)
    with enable_grad():
        outputs = D.outputs_of(fn, args)
    directions = {i: _directions(args[i], options.fast, i) for i in checked}
    numeric = {i: D.differences(fn, args, args[i], directions[i], options.eps) for i in checked}
    if options.forward:
        _check_forward(fn, args, checked, directions, numeric, options)
        if options.batched_forward:
            check_batched_tangents(fn, args, checked, options)
        if options.undefined:
            check_undefined_tangents(fn, args, checked, options)
    if options.backward:
        _check_backward(outputs, args, checked, directions, numeric, options)
        found = [y for y in outputs if y.requires_grad]
        xs = [args[i] for i in checked]
        if options.batched and found:
            check_batched_backward(found, xs, options)
        if options.undefined and found:
            check_undefined_gradients(found, xs)


def _check_inputs(args, checked) -> None:
    if not checked:
        raise ValueError("gradcheck(): none of the inputs requires grad; write "
                         "x.requires_grad_() on those to check")
    for i in checked:
        x = args[i]
        if x.dtype not in (flambeau.float64, flambeau.complex128):
            warnings.warn(f"gradcheck(): input {i} is {x.dtype}, not a double precision floating "
                          "point or complex: finite differences of it are inexact, so that the "
                          "check will likely fail; write x.double()", UserWarning, stacklevel=4)
        if any(n > 1 and s == 0 for n, s in zip(x.shape, x.stride(), strict=True)):
            raise RuntimeError(f"gradcheck(): input {i} has a dimension with stride 0, so that "
                               "elements of it share memory and cannot be moved one by one; "
                               "write x.clone()")


def _directions(x, fast: bool, seed: int) -> list[Tensor]:
    return [_direction(D.components(x).numel(), seed)] if fast else D.units(x)


def _direction(count: int, seed: int) -> Tensor:
    """A vector of length 1 that is random, and the same in every run."""
    generator = flambeau.Generator().manual_seed(seed)
    vector = flambeau.rand(count, dtype=flambeau.float64, generator=generator) + 0.1
    return vector / vector.square().sum().sqrt() if count else vector


def _check_forward(fn, args, checked, directions, numeric, options) -> None:
    for i in checked:
        found = D.by_forward(fn, args, i, directions[i])
        for n, (a, b) in enumerate(zip(found, numeric[i], strict=True)):
            _compare(n, i, a.t(), b.t(), options, "forward mode gives",
                     directions[i] if options.fast else ())


def _check_backward(outputs, args, checked, directions, numeric, options) -> None:
    for n, y in enumerate(outputs):
        weights = _directions(y, options.fast, n) if y.requires_grad else []
        for i in checked:
            expected = numeric[i][n].t()
            if not y.requires_grad:
                _check_constant(n, i, expected, options)
                continue
            found = D.by_backward(y, args[i], weights)
            _check_repeatable(n, i, y, args[i], options)
            if options.fast:
                found = found @ directions[i][0].unsqueeze(1)
                expected = weights[0].unsqueeze(0) @ expected
            _compare(n, i, found, expected, options, "the derivative is",
                     (*weights, *directions[i]) if options.fast else ())
            if options.dtypes:
                _check_dtype(n, i, y, args[i])


def _check_constant(n, i, expected, options) -> None:
    if not (expected.abs() <= options.atol).all().item():
        raise GradcheckError(
            f"gradcheck(): output {n} does not require grad, but it depends on input {i}: finite "
            "differences are not zero. One of the operators in between has no derivative, or the "
            "function detaches")


def _check_repeatable(n, i, y, x, options) -> None:
    weight = [_direction(D.components(y).numel(), n + 1)]
    off = (D.by_backward(y, x, weight) - D.by_backward(y, x, weight)).abs()
    if off.numel() and off.max().item() > options.nondet_tol:
        raise GradcheckError(
            f"gradcheck(): Backward is not reentrant: two backward passes from output {n} to input "
            f"{i} differ by {off.max().item():.3g}, more than nondet_tol={options.nondet_tol}; "
            "something in them is random or keeps a state")


def _check_dtype(n, i, y, x) -> None:
    grad, = run_grad([y], [ops.ones_like(y).detach()], [x], True, False)
    if grad is not None and grad.dtype is not x.dtype:
        raise GradcheckError(f"gradcheck(): Gradient has dtype mismatch: that of output {n} by "
                             f"input {i} is {grad.dtype}, the input {x.dtype}")


def _compare(n, i, found, expected, options, what, along) -> None:
    """Rows are components of the output, columns of the input; or all is one sum along directions.

    The absolute tolerance is that of one component: of a sum it is the sum of theirs.
    """
    off = (found - expected).abs()
    atol = options.atol * math.prod([vector.sum().item() for vector in along])
    good = (off <= atol + options.rtol * expected.abs()) | (found == expected)
    bad = ~(good | ((found != found) & (expected != expected)))
    if not bad.any().item():
        return
    row, column = bad.nonzero()[0].tolist()
    where = "along a random direction (fast_mode)" if along else f"(component {row})"
    by = "" if along else f" (component {column})"
    raise GradcheckError(
        f"gradcheck(): of output {n} {where} by input {i}{by}, {what} "
        f"{found[row, column].item():.9g}, but finite differences give "
        f"{expected[row, column].item():.9g}: the rule of one of the operators in between is "
        "wrong, or the function is not smooth here")
