"""``grad``, ``value_and_grad``, ``vjp``, ``jacrev`` and ``hessian``: the tape as transforms.

All transforms of reverse mode share one tape. Each differentiates by variables of its own, so that
they nest without getting mixed up; inside ``vmap`` and ``jvp`` the variables are tensors of that
level, which have a history of their own.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, overload

from flambeau.autograd._engine import (
    enable_grad,
    end_variables,
    is_grad_enabled,
    needs_grad,
    only_leads_to,
    run_grad,
)
from flambeau.autograd.transforms.captures import call_guarded, without_saved_hooks
from flambeau.autograd.transforms.functions import (
    basis,
    check_aux,
    check_outputs,
    check_real,
    chosen_argnums,
    expect_function,
)
from flambeau.autograd.transforms.stack import (
    has_history,
    has_history_below,
    lifted,
    zeros_at_levels,
)
from flambeau.core import Tensor, _core, ops
from flambeau.core.pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["grad", "grad_and_value", "jacrev", "value_and_grad", "vjp"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


# ---- variables ---------------------------------------------------------------------------------
class Variables:
    """The tensors of some trees, made anew to be differentiated by."""

    def __init__(self, trees, what: str) -> None:
        self.leaves, self.spec = tree_flatten(trees)
        for leaf in self.leaves:
            _check_variable(leaf, what)
        self.tensors = [_variable(leaf) for leaf in self.leaves]
        #: Those without a history from outside.
        self.own = [x for x in self.tensors if x.is_leaf]

    def trees(self):
        """The trees, of variables."""
        return tree_unflatten(self.tensors, self.spec)

    def end(self) -> None:
        """The function has returned: what leads here alone has no history for anyone else."""
        end_variables(self.own)

    def belongs_outside(self, outputs) -> bool:
        """Whether outputs depend on something else that is being differentiated by."""
        return not only_leads_to(outputs, self.own)

    def closed(self, value):
        """An output without the history that ends at these variables."""
        if isinstance(value, Tensor) and needs_grad(value) and not self.belongs_outside([value]):
            return _without_history(value)
        return value

    def gradients(self, outputs, weights, keep: bool):
        """Gradients by the variables, with a history only where someone outside asks for it."""
        pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if needs_grad(y)]
        if not pairs:
            return [_zeros(x) for x in self.tensors]
        roots = [y for y, _ in pairs]
        seeds = [w for _, w in pairs]
        further = is_grad_enabled() and (
            self.belongs_outside(roots) or any(has_history_below(y) for y in roots)
            or any(s is not None and has_history(s) for s in seeds))
        grads = run_grad(roots, seeds, self.tensors, keep or further, further)
        grads = [_zeros(x) if g is None else g
                 for g, x in zip(grads, self.tensors, strict=True)]
        return [self.closed(g) for g in grads] if further else grads


def _check_variable(leaf, what: str) -> None:
    if not isinstance(leaf, Tensor):
        raise ValueError(f"{what}: Expected to be differentiated by a Tensor or a structure of "
                         f"Tensors, got {type(leaf).__name__}; close over other values")
    if not (leaf.is_floating_point() or leaf.is_complex()):
        raise RuntimeError(f"{what}: only floating-point and complex tensors can be "
                           f"differentiated by, got {leaf.dtype}; write x.float()")


def _variable(tensor: Tensor) -> Tensor:
    """A tensor of its own for this transform, linked to a history from outside."""
    tensor = lifted(tensor)
    if needs_grad(tensor):
        return ops.alias(tensor)
    return _core.requiring(_without_history(tensor))


def _without_history(tensor: Tensor) -> Tensor:
    """Cut off at the innermost level alone: outer transforms keep theirs."""
    from flambeau.autograd._engine import alias_of

    return alias_of(tensor)


def _zeros(tensor: Tensor) -> Tensor:
    return zeros_at_levels(tensor.shape, tensor)


# ---- grad --------------------------------------------------------------------------------------
def grad(func: Callable[_P, Any], argnums: int | tuple[int, ...] = 0,
         has_aux: bool = False) -> Callable[_P, Any]:
    """The gradient of a function that returns a scalar.

    Args:
        func: returns a tensor of one element; with ``has_aux`` a pair of it and something else.
        argnums: the argument to differentiate by, or a tuple of them; arguments may be nested.
        has_aux: whether ``func`` returns a pair.

    Returns:
        A function of the same arguments that gives the gradient, one per argument for a tuple;
        with ``has_aux`` a pair of that and the something else.

    Raises:
        RuntimeError: the result is no scalar tensor.

    Example:
        >>> import flambeau
        >>> cube = lambda x: x ** 3
        >>> flambeau.func.grad(flambeau.func.grad(cube))(flambeau.tensor(2.0))
        tensor(12.)
    """
    expect_function(func, "grad")

    @functools.wraps(func)
    def gradient(*args, **kwargs):
        grads, (_, aux) = _grad_and_value(func, argnums, has_aux, args, kwargs, "grad")
        return (grads, aux) if has_aux else grads
    return gradient


def grad_and_value(func: Callable[_P, Any], argnums: int | tuple[int, ...] = 0,
                   has_aux: bool = False) -> Callable[_P, tuple[Any, Any]]:
    """The gradient of a function and its value.

    Args:
        func: as for :func:`grad`.
        argnums: as for :func:`grad`.
        has_aux: as for :func:`grad`.

    Returns:
        A function that gives ``(gradient, value)``; with ``has_aux``
        ``(gradient, (value, something else))``.

    Example:
        >>> import flambeau
        >>> flambeau.func.grad_and_value(lambda x: x ** 3)(flambeau.tensor(2.0))
        (tensor(12.), tensor(8.))
    """
    expect_function(func, "grad_and_value")

    @functools.wraps(func)
    def gradient(*args, **kwargs):
        grads, (value, aux) = _grad_and_value(func, argnums, has_aux, args, kwargs,
                                              "grad_and_value")
        return (grads, (value, aux)) if has_aux else (grads, value)
    return gradient


def value_and_grad(func: Callable[_P, Any], argnums: int | tuple[int, ...] = 0,
                   has_aux: bool = False) -> Callable[_P, tuple[Any, Any]]:
    """The value of a function and its gradient.

    Args:
        func: as for :func:`grad`.
        argnums: as for :func:`grad`.
        has_aux: as for :func:`grad`.

    Returns:
        A function that gives ``(value, gradient)``; with ``has_aux``
        ``((value, something else), gradient)``.

    Example:
        >>> import flambeau
        >>> flambeau.func.value_and_grad(lambda x: x ** 3)(flambeau.tensor(2.0))
        (tensor(8.), tensor(12.))
    """
    expect_function(func, "value_and_grad")

    @functools.wraps(func)
    def gradient(*args, **kwargs):
        grads, (value, aux) = _grad_and_value(func, argnums, has_aux, args, kwargs,
                                              "value_and_grad")
        return ((value, aux), grads) if has_aux else (value, grads)
    return gradient


def _grad_and_value(func, argnums, has_aux, args, kwargs, what):
    outer = is_grad_enabled()
    with enable_grad(), without_saved_hooks():
        variables, inside = _at_argnums(args, argnums, what)
        output = call_guarded(variables, func, inside, kwargs)
        variables.end()
        output, aux = _with_aux(output, has_aux, what)
        _check_scalar(output, what)
    with _mode(outer):
        flat = variables.gradients([output], [None], False)
        grads = tree_unflatten(flat, variables.spec)
        return grads, (_closed(variables, output, outer),
                       tree_map(lambda v: _closed(variables, v, outer), aux))


def _mode(enabled: bool):
    from flambeau.autograd._engine import no_grad

    return enable_grad() if enabled else no_grad()


def _closed(variables, value, outer: bool):
    """A result as the caller sees it: without history where the caller records none."""
    if not outer and isinstance(value, Tensor) and needs_grad(value):
        return _without_history(value)
    return variables.closed(value)


def _at_argnums(args, argnums, what):
    """Variables for the chosen arguments, and all arguments with those put in."""
    single = isinstance(argnums, int)
    chosen = chosen_argnums(argnums, len(args), what)
    trees = args[chosen[0]] if single else tuple([args[n] for n in chosen])
    variables = Variables(trees, what)
    inside = list(args)
    fresh = variables.trees()
    for n, tree in zip(chosen, (fresh,) if single else fresh, strict=True):
        inside[n] = tree
    return variables, inside


def _with_aux(output, has_aux: bool, what: str):
    if not has_aux:
        return output, None
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(f"{what}(f)(*args): output of function f should be a tuple: "
                           "(output, aux) if has_aux is True")
    check_aux(output[1], what)
    return output


def _check_scalar(output, what: str) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"{what}(f)(*args): Expected f(*args) to return a Tensor, got "
                           f"{type(output).__name__}; give other results with has_aux=True")
    if output.ndim != 0:
        raise RuntimeError(
            f"{what}(f)(*args): Expected f(*args) to return a scalar tensor, got tensor with "
            f"{output.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
    if output.is_complex():
        raise RuntimeError(f"{what}(f)(*args): Expected f(*args) to return a real number, got "
                           f"{output.dtype}; return its abs() or real part, or use vjp")


def _check_differentiable(outputs, what: str) -> None:
    for value in outputs:
        if not (value.is_floating_point() or value.is_complex()):
            raise RuntimeError(f"{what}: All outputs of f must be floating-point or complex "
                               f"Tensors, got Tensor with dtype {value.dtype}; return it with "
                               "has_aux=True")


# ---- vjp ---------------------------------------------------------------------------------------
@overload
def vjp(func: Callable[..., _R], *primals: Any,
        has_aux: Literal[False] = False) -> tuple[_R, Callable[..., Any]]: ...
@overload
def vjp(func: Callable[..., Any], *primals: Any,
        has_aux: Literal[True]) -> tuple[Any, Callable[..., Any], Any]: ...
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function and what multiplies its Jacobian from the left.

    Args:
        func: takes and returns tensors, or nested structures of them.
        primals: its arguments.
        has_aux: whether ``func`` returns a pair of outputs and something else.

    Returns:
        ``(outputs, vjp_fn)``: ``vjp_fn`` takes cotangents in the structure of the outputs and gives
        one gradient per primal, a tuple unless there is one; with ``has_aux`` a third item, the
        something else.

    Example:
        >>> import flambeau
        >>> value, pull = flambeau.func.vjp(lambda x: x * x, flambeau.tensor([1.0, 2.0]))
        >>> pull(flambeau.tensor([1.0, 1.0]))
        (tensor([2., 4.]),)
    """
    expect_function(func, "vjp")
    outer = is_grad_enabled()
    with enable_grad(), without_saved_hooks():
        variables = Variables(primals, "vjp")
        outputs, aux = _with_aux(call_guarded(variables, func, variables.trees()), has_aux, "vjp")
        variables.end()
        flat, spec = tree_flatten(outputs)
        check_outputs(flat, "vjp")
        _check_differentiable(flat, "vjp")

    def pull(cotangents, retain_graph: bool = True, create_graph: bool | None = None):
        seeds, seed_spec = tree_flatten(cotangents)
        if seed_spec != spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {seed_spec}, primal output: {spec}")
        return tree_unflatten(variables.gradients(flat, seeds, retain_graph), variables.spec)

    shown = tree_unflatten([_closed(variables, y, outer) for y in flat], spec)
    if not has_aux:
        return shown, pull
    return shown, pull, tree_map(lambda v: _closed(variables, v, outer), aux)


# ---- jacrev ------------------------------------------------------------------------------------
def jacrev(func: Callable[_P, Any], argnums: int | tuple[int, ...] = 0, *, has_aux: bool = False,
           chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable[_P, Any]:
    """The Jacobian of a function, a row of it for each element of the output at once.

    Args:
        func: takes and returns tensors, or nested structures of them.
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: whether ``func`` returns a pair of outputs and something else.
        chunk_size: how many rows to compute at a time; None for all.

    Returns:
        A function that gives, for each output, the structure of the arguments, of Jacobians of
        the output's shape followed by the argument's.

    Example:
        >>> import flambeau
        >>> flambeau.func.jacrev(lambda x: x * x)(flambeau.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    expect_function(func, "jacrev")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        outer = is_grad_enabled()
        with enable_grad(), without_saved_hooks():
            variables, inside = _at_argnums(args, argnums, "jacrev")
            check_real(variables.tensors, "jacrev", "inputs")
            output = call_guarded(variables, func, inside, kwargs)
            outputs, aux = _with_aux(output, has_aux, "jacrev")
            variables.end()
            flat, spec = tree_flatten(outputs)
            check_outputs(flat, "jacrev")
            _check_differentiable(flat, "jacrev")
            check_real(flat, "jacrev", "outputs")
        with _mode(outer):
            rows = _rows(variables, flat, chunk_size)
        result = tree_unflatten([tree_unflatten(row, variables.spec) for row in rows], spec)
        if has_aux:
            return result, tree_map(lambda v: _closed(variables, v, outer), aux)
        return result
    return jacobian


def _rows(variables, flat, chunk_size):
    """For each output the Jacobians by all variables."""
    from flambeau.autograd.transforms.vectorize import vmap

    count = sum([y.numel() for y in flat])
    if count == 0:
        return [[_zeros_of(y, x) for x in variables.tensors] for y in flat]

    def pull(*seeds):
        return tuple(variables.gradients(flat, seeds, True))

    if chunk_size == 1:
        rows = [pull(*[s[i] for s in basis(flat)]) for i in range(count)]
        columns = [ops.stack(list(column)) for column in zip(*rows, strict=True)]
    else:
        columns = vmap(pull, chunk_size=chunk_size, randomness="same")(*basis(flat))
    parts = [column.split([y.numel() for y in flat], 0) for column in columns]
    return [[part[i].reshape((*y.shape, *x.shape))
             for part, x in zip(parts, variables.tensors, strict=True)]
            for i, y in enumerate(flat)]


def _zeros_of(y, x):
    return ops.full_of((*y.shape, *x.shape), 0, dtype=x.dtype, device=x.device)
