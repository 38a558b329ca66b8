"""Jacobians, Hessians and products with them: what ``autograd.functional`` has.

``flambeau.func`` has the same as transforms of functions, which nest.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.autograd._engine import enable_grad, needs_grad, refuse_inside, run_grad
from flambeau.core import Tensor, ops

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ---- inputs and outputs ------------------------------------------------------------------------
def _as_tuple(value, what: str, function: str) -> tuple[tuple[Tensor, ...], bool]:
    """Tensors as a tuple, and whether a tuple was given."""
    given = isinstance(value, tuple)
    values = value if given else (value,)
    for i, item in enumerate(values):
        if not isinstance(item, Tensor):
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of "
                            f"Tensors but the value at index {i} has type {type(item).__name__}.")
    return values, given


def _inputs(inputs, function: str) -> tuple[tuple[Tensor, ...], bool]:
    """The inputs as a tuple, and whether a tuple was given."""
    refuse_inside(f"Tensor.requires_grad_(), which autograd.functional.{function}() needs,",
                  "Use the transforms of flambeau.func, which nest")
    return _as_tuple(inputs, "inputs", function)


def _variables(inputs, create_graph: bool):
    """Inputs to differentiate by; linked to their history where that is wanted."""
    return tuple([x.view_as(x) if create_graph and x.requires_grad
                  else x.detach().requires_grad_() for x in inputs])


def _fitting(v, like, what: str, function: str):
    """The given vector, or ones for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{function}: the vector {what} can only be None if the "
                               f"{'user-provided function returns' if what == 'v' else 'input is'}"
                               " a single Tensor with a single element")
        return (ops.ones_like(like[0]).detach(),)
    vectors, _ = _as_tuple(v, "v", function)
    if len(vectors) != len(like):
        raise RuntimeError(f"{function}: v is a tuple of invalid length: should be {len(like)} but "
                           f"got {len(vectors)}")
    for i, (a, b) in enumerate(zip(vectors, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"{function}: v has invalid size: entry {i} should be "
                               f"{list(b.shape)} but got {list(a.shape)}")
    return vectors


def _grads(outputs, inputs, weights, create_graph: bool):
    """Gradients, None where there are none; outputs without a history count for nothing."""
    pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if needs_grad(y)]
    if not pairs:
        return [None] * len(inputs)
    return run_grad([y for y, _ in pairs], [w for _, w in pairs], list(inputs), True, create_graph)


def _filled(grads, like, strict: bool, create_graph: bool, what: str):
    """Zeros for what does not depend on the inputs, or an error when that is asked for."""
    results = []
    for i, (g, x) in enumerate(zip(grads, like, strict=True)):
        if g is None and strict:
            raise RuntimeError(f"The output of the user-provided function is independent of input "
                               f"{i}. This is not allowed in strict mode.")
        if g is not None and strict and create_graph and not needs_grad(g):
            raise RuntimeError(f"The {what} of the user-provided function is independent of input "
                               f"{i}. This is not allowed in strict mode when create_graph=True.")
        results.append(ops.zeros_like(x).detach() if g is None else g)
    return tuple(results)


def _strict_outputs(outputs, strict: bool) -> None:
    for i, y in enumerate(outputs):
        if strict and not needs_grad(y):
            raise RuntimeError(f"Output {i} of the user-provided function does not require "
                               "gradients. The outputs must be computed in a differentiable manner "
                               "from the input when running in strict mode.")


def _shown(values, given: bool, create_graph: bool):
    """The results in the form of what was given."""
    values = values if create_graph else tuple([v.detach() for v in values])
    return values if given else values[0]


# ---- products ----------------------------------------------------------------------------------
def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """A vector times the Jacobian of a function.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: its arguments, a tensor or a tuple.
        v: of the shapes of the outputs; None for ones, if there is a single element.
        create_graph: record, so that both results can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Returns:
        ``(outputs, product)``.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd.functional import vjp
        >>> vjp(lambda x: (x ** 2).sum(), flambeau.tensor([1.0, 2.0]))
        (tensor(5.), tensor([2., 4.]))
    """
    inputs, given = _inputs(inputs, "vjp")
    with enable_grad():
        xs = _variables(inputs, create_graph)
        outputs, out_given = _as_tuple(func(*xs), "outputs of the user-provided function", "vjp")
        _strict_outputs(outputs, strict)
        vectors = _fitting(v, outputs, "v", "vjp")
    found = _filled(_grads(outputs, xs, vectors, create_graph), xs, strict, create_graph,
                    "jacobian")
    return _shown(outputs, out_given, create_graph), _shown(found, given, create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The Jacobian of a function times a vector, by differentiating its gradient.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: its arguments, a tensor or a tuple.
        v: of the shapes of the inputs; None for ones, if there is a single element.
        create_graph: record, so that both results can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.

    Returns:
        ``(outputs, product)``. ``flambeau.func.jvp`` needs one pass instead of three.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd.functional import jvp
        >>> x = flambeau.tensor([1.0, 2.0])
        >>> jvp(lambda x: x ** 2, x, flambeau.ones(2))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    inputs, _ = _inputs(inputs, "jvp")
    with enable_grad():
        xs = _variables(inputs, create_graph)
        vectors = _fitting(v, xs, "v (of the input)", "jvp")
        outputs, out_given = _as_tuple(func(*xs), "outputs of the user-provided function", "jvp")
        _strict_outputs(outputs, strict)
        seeds = tuple([ops.zeros_like(y).detach().requires_grad_() for y in outputs])
        grads = _filled(_grads(outputs, xs, seeds, True), xs, strict, False, "jacobian")
    found = _filled(_grads(grads, seeds, vectors, create_graph), outputs, strict, create_graph,
                    "jacobian")
    return _shown(outputs, out_given, create_graph), _shown(found, out_given, create_graph)


def _scalar(func, inputs, create_graph, strict, function):
    """Variables, the scalar, and its gradient with a history."""
    xs = _variables(inputs, create_graph)
    outputs, given = _as_tuple(func(*xs), "outputs of the user-provided function", function)
    if len(outputs) != 1 or outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should "
                           "contain a single element")
    _strict_outputs(outputs, strict)
    weights = tuple([ops.ones_like(y).detach() for y in outputs])
    grads = _filled(_grads(outputs, xs, weights, True), xs, strict, False, "jacobian")
    return xs, outputs, given, grads


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """A vector times the Hessian of a scalar function.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs: its arguments, a tensor or a tuple.
        v: of the shapes of the inputs; None for ones, if there is a single element.
        create_graph: record, so that both results can be differentiated.
        strict: raise where something does not depend on an input, instead of giving zeros.

    Returns:
        ``(output, product)``.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd.functional import vhp
        >>> vhp(lambda x: (x ** 3).sum(), flambeau.tensor([1.0, 2.0]), flambeau.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    inputs, given = _inputs(inputs, "vhp")
    with enable_grad():
        xs, outputs, out_given, grads = _scalar(func, inputs, create_graph, strict, "vhp")
        vectors = _fitting(v, xs, "v (of the input)", "vhp")
    found = _filled(_grads(grads, xs, vectors, create_graph), xs, strict, create_graph, "hessian")
    return _shown(outputs, out_given, create_graph), _shown(found, given, create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """The Hessian of a scalar function times a vector: the same as ``vhp``, one pass dearer.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs: its arguments, a tensor or a tuple.
        v: of the shapes of the inputs; None for ones, if there is a single element.
        create_graph: record, so that both results can be differentiated.
        strict: raise where something does not depend on an input, instead of giving zeros.

    Returns:
        ``(output, product)``.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd.functional import hvp
        >>> hvp(lambda x: (x ** 3).sum(), flambeau.tensor([1.0, 2.0]), flambeau.ones(2))
        (tensor(9.), tensor([ 6., 12.]))
    """
    inputs, given = _inputs(inputs, "hvp")
    with enable_grad():
        xs, outputs, out_given, grads = _scalar(func, inputs, create_graph, strict, "hvp")
        vectors = _fitting(v, xs, "v (of the input)", "hvp")
        seeds = tuple([ops.zeros_like(x).detach().requires_grad_() for x in xs])
        turned = _filled(_grads(grads, xs, seeds, True), xs, strict, False, "hessian")
    found = _filled(_grads(turned, seeds, vectors, create_graph), xs, strict, create_graph,
                    "hessian")
    return _shown(outputs, out_given, create_graph), _shown(found, given, create_graph)


# ---- whole matrices ----------------------------------------------------------------------------
def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False,
             strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode") -> Any:
    """The Jacobian of a function.

    Args:
        func: takes tensors, returns a tensor or a tuple of them.
        inputs: its arguments, a tensor or a tuple.
        create_graph: record, so that the Jacobian can be differentiated.
        strict: raise where an output does not depend on an input, instead of giving zeros.
        vectorize: all rows (or columns) at once, through ``vmap``.
        strategy: ``"reverse-mode"``, or ``"forward-mode"`` with ``vectorize``.

    Returns:
        A tensor of the output's shape followed by the input's; tuples of them, first by outputs,
        then by inputs, where those are tuples.

    Raises:
        RuntimeError: ``strict`` with ``vectorize``, or something does not depend on an input.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd.functional import jacobian
        >>> jacobian(lambda x: x ** 2, flambeau.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    _check_strategy(strategy, strict, vectorize, create_graph)
    inputs, given = _inputs(inputs, "jacobian")
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, given)
    with enable_grad():
        xs = _variables(inputs, create_graph)
        outputs, out_given = _as_tuple(func(*xs), "outputs of the user-provided function",
                                       "jacobian")
        _strict_outputs(outputs, strict)
        rows = (_vectorized_rows if vectorize else _rows)(outputs, xs, create_graph, strict)
        shown = tuple([_shown(row, given, create_graph) for row in rows])
    return shown if out_given else shown[0]


def _check_strategy(strategy, strict, vectorize, create_graph) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError('Expected strategy to be either "forward-mode" or "reverse-mode", got '
                         f"{strategy!r}")
    if strict and vectorize:
        raise RuntimeError("strict=True and vectorize=True are not supported together: leave "
                           "vectorize out")
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError("create_graph=True is not supported with "
                                  'strategy="forward-mode": use flambeau.func.jacfwd, which can '
                                  "be differentiated")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError('Computing Jacobian using forward-AD or forward-over-reverse '
                                  "Hessian is only implemented for `vectorize=True`.")


def _rows(outputs, xs, create_graph, strict):
    """One pass for each element of the outputs."""
    for y in outputs:
        rows = []
        for i in range(y.numel()):
            seed = ops.zeros_like(y).detach().reshape(-1)
            seed[i] = 1
            grads = _grads((y,), xs, (seed.reshape(y.shape),), create_graph)
            rows.append(_filled(grads, xs, strict, create_graph, "jacobian"))
        if not rows:
            yield tuple([ops.full_of((*y.shape, *x.shape), 0, dtype=x.dtype) for x in xs])
            continue
        yield tuple([ops.stack(list(column)).reshape((*y.shape, *x.shape))
                     for column, x in zip(zip(*rows, strict=True), xs, strict=True)])


def _vectorized_rows(outputs, xs, create_graph, strict):
    from flambeau.autograd.transforms.functions import basis
    from flambeau.autograd.transforms.vectorize import vmap

    for y in outputs:
        if y.numel() == 0 or not needs_grad(y):
            yield tuple([ops.full_of((*y.shape, *x.shape), 0, dtype=x.dtype) for x in xs])
            continue

        def pull(seed, y=y):
            return _filled(_grads((y,), xs, (seed,), create_graph), xs, False, False, "jacobian")
        columns = vmap(pull, randomness="same")(*basis([y]))
        yield tuple([c.reshape((*y.shape, *x.shape)) for c, x in zip(columns, xs, strict=True)])


def _forward_jacobian(func, inputs, given):
    from flambeau.autograd.transforms.tangents import jacfwd

    xs = tuple([x.detach() for x in inputs])
    found = jacfwd(func, tuple(range(len(xs))))(*xs)
    if isinstance(found[0], tuple):
        return tuple([_shown(row, given, False) for row in found])
    return _shown(found, given, False)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False,
            strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a scalar function.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs: its arguments, a tensor or a tuple.
        create_graph: record, so that the Hessian can be differentiated.
        strict: raise where something does not depend on an input, instead of giving zeros.
        vectorize: all rows at once, through ``vmap``.
        outer_jacobian_strategy: ``"reverse-mode"``, or ``"forward-mode"`` with ``vectorize``.

    Returns:
        A tensor of the input's shape twice; a tuple of tuples of them for a tuple of inputs.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd.functional import hessian
        >>> hessian(lambda x: (x ** 3).sum(), flambeau.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    inputs, given = _inputs(inputs, "hessian")
    forward = outer_jacobian_strategy == "forward-mode"

    def scalar(*xs):
        output, was_tuple = _as_tuple(func(*xs), "outputs of the user-provided function",
                                      "hessian")
        if was_tuple or output[0].numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should "
                               "contain a single element")
        return output[0].squeeze()

    def gradient(*xs):
        if forward:
            from flambeau.autograd.transforms.reverse import jacrev

            return jacrev(scalar, tuple(range(len(xs))))(*xs)
        return jacobian(scalar, xs, create_graph=True, strict=strict)

    found = jacobian(gradient, inputs, create_graph=create_graph, strict=strict,
                     vectorize=vectorize, strategy=outer_jacobian_strategy)
    return found if given else found[0][0]
