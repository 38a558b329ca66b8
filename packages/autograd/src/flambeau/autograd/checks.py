"""Checking derivatives against finite differences, in double precision."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.autograd._engine import enable_grad, no_grad, run_grad
from flambeau.core import Tensor, ops

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative differs from the finite difference."""


def gradcheck(fn: Callable, inputs: Tensor | Sequence[object], *, eps: float = 1e-6,
              atol: float = 1e-6, rtol: float = 1e-4, raise_exception: bool = True) -> bool:
    """Compare the derivatives of a function with central differences.

    Every element of every output is differentiated by every element of every input that
    requires grad: ``(f(x + eps) - f(x - eps)) / (2 eps)``. Complex numbers are checked along
    the real and the imaginary axis.

    Args:
        fn: from the inputs to a tensor or a tuple of tensors.
        inputs: its arguments; those to check are float64 or complex128 and require grad.
        eps: the step.
        atol: absolute tolerance.
        rtol: relative tolerance; a rule that is wrong by a thousandth is caught.
        raise_exception: raise where they differ, instead of giving False.

    Returns:
        Whether all derivatives agree.

    Raises:
        GradcheckError: they differ; the text names the entry.
        ValueError: nothing to check, or an input of too low a precision.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([0.5, 2.0], dtype=flambeau.float64, requires_grad=True)
        >>> flambeau.autograd.gradcheck(lambda x: x ** 3, x)
        True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    try:
        _check(fn, args, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(fn: Callable, inputs: Tensor | Sequence[object],
                  grad_outputs: Sequence[Tensor] | None = None, *, eps: float = 1e-6,
                  atol: float = 1e-6, rtol: float = 1e-4, raise_exception: bool = True) -> bool:
    """Compare second derivatives with central differences of the first.

    Args:
        fn: from the inputs to a tensor or a tuple of tensors.
        inputs: its arguments; those to check are float64 or complex128 and require grad.
        grad_outputs: gradients of the outputs (by default, fixed numbers around 1).
        eps: the step.
        atol: absolute tolerance.
        rtol: relative tolerance; a rule that is wrong by a thousandth is caught.
        raise_exception: raise where they differ, instead of giving False.

    Returns:
        Whether all second derivatives agree.

    Raises:
        GradcheckError: they differ.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([0.5, 2.0], dtype=flambeau.float64, requires_grad=True)
        >>> flambeau.autograd.gradgradcheck(lambda x: x ** 3, x)
        True
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    count = len(args)
    if grad_outputs is None:
        with no_grad():
            grad_outputs = [_weights(y) for y in _outputs(fn, args)]

    def first(*values):
        own, weights = values[:count], values[count:]
        outputs = _outputs(fn, own)
        wanted = [x for x in own if _is_checked(x)]
        grads = run_grad(outputs, list(weights), wanted, True, True)
        return tuple([g for g in grads if g is not None and g.requires_grad])

    return gradcheck(first, (*args, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception)


def _is_checked(x: object) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _outputs(fn, args) -> list[Tensor]:
    """The outputs that carry gradients."""
    result = fn(*args)
    values = [result] if isinstance(result, Tensor) else list(result)
    return [y for y in values if y.is_floating_point() or y.is_complex()]


def _weights(y):
    """Numbers between 0.5 and 1.5, all different, as a gradient to start from."""
    steps = ops.linspace(0.5, 1.5, max(y.numel(), 1), dtype=y.dtype)
    return steps[:y.numel()].reshape(y.shape).requires_grad_()


def _check(fn, args, eps, atol, rtol) -> None:
    checked = [i for i, x in enumerate(args) if _is_checked(x)]
    if not checked:
        raise ValueError("gradcheck(): none of the inputs requires grad; write "
                         "x.requires_grad_() on those to check")
    for i in checked:
        if str(args[i].dtype).rpartition(".")[2] not in ("float64", "complex128"):
            raise ValueError(f"gradcheck(): input {i} is {args[i].dtype}; finite differences need "
                             "float64 or complex128: x.double()")
    with enable_grad():
        outputs = [(n, y) for n, y in enumerate(_outputs(fn, args)) if y.requires_grad]
    for i in checked:
        numeric = _numeric(fn, args, i, eps)
        for n, y in outputs:
            _compare(n, i, _analytic(y, args[i]), numeric[n], atol, rtol)


def _analytic(y, x) -> list[list[float]]:
    """Rows of derivatives of each real component of ``y`` by each real component of ``x``."""
    rows = []
    for k in range(y.numel()):
        for unit in _units(y):
            seed = ops.full_of((y.numel(),), 0, dtype=y.dtype)
            seed[k] = unit
            grad, = run_grad([y], [seed.reshape(y.shape)], [x], True, False)
            rows.append([0.0] * (x.numel() * len(_units(x))) if grad is None else _parts(grad))
    return rows


def _units(t):
    return (1.0, 1j) if t.is_complex() else (1.0,)


def _parts(t) -> list[float]:
    """All real components, in order."""
    values = t.detach().reshape(-1).tolist()
    if t.is_complex():
        return [part for v in values for part in (v.real, v.imag)]
    return values


def _numeric(fn, args, i, eps) -> list[list[list[float]]]:
    """Per output, columns of central differences by each real component of input ``i``."""
    columns = []
    x = args[i].detach()
    for k in range(x.numel()):
        for unit in _units(x):
            high, low = (_at(fn, args, i, k, unit * step) for step in (eps, -eps))
            columns.append([[(a - b) / (2 * eps) for a, b in zip(h, w, strict=True)]
                            for h, w in zip(high, low, strict=True)])
    count = len(columns[0]) if columns else len(_outputs(fn, args))
    return [[column[n] for column in columns] for n in range(count)]


def _at(fn, args, i, k, step):
    """All outputs with element ``k`` of input ``i`` moved by a step."""
    flat = args[i].detach().reshape(-1).clone()
    flat[k] = flat[k] + step
    moved = ops.as_strided(_like_layout(args[i]), args[i].shape, args[i].stride(), 0)
    ops.copy_(moved, flat.reshape(args[i].shape))
    values = list(args)
    values[i] = moved.requires_grad_()
    with enable_grad():
        return [_parts(y) for y in _outputs(fn, values)]


def _like_layout(x):
    """Memory for a tensor with the strides of ``x``."""
    span = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True))
    return ops.full_of((max(span, 1),), 0, dtype=x.dtype)


def _compare(n, i, analytic, numeric, atol, rtol) -> None:
    for row, values in enumerate(analytic):
        for column, value in enumerate(values):
            expected = numeric[column][row]
            if abs(value - expected) <= atol + rtol * abs(expected):
                continue
            if value != value and expected != expected:
                continue
            raise GradcheckError(
                f"gradcheck(): the derivative of output {n} (component {row}) by input {i} "
                f"(component {column}) is {value:.9g}, but finite differences give "
                f"{expected:.9g}: the rule of one of the operators in between is wrong, or the "
                "function is not smooth here")
