"""``jvp``, ``jacfwd``, ``hessian`` and ``linearize``: forward mode as transforms."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, ParamSpec, TypeVar, overload

from flambeau.autograd._engine import enable_grad, is_grad_enabled, needs_grad, run_grad
from flambeau.autograd.transforms.captures import call_guarded
from flambeau.autograd.transforms.dual import DualLevel, LinearLevel
from flambeau.autograd.transforms.functions import (
    basis,
    check_outputs,
    check_real,
    chosen_argnums,
    expect_function,
)
from flambeau.autograd.transforms.reverse import (
    Variables,
    _check_variable,
    _closed,
    _with_aux,
    _zeros,
    jacrev,
)
from flambeau.autograd.transforms.stack import has_history, has_history_below, lifted
from flambeau.core import Tensor, _core, ops
from flambeau.core.pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["hessian", "jacfwd", "jvp", "linearize"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


@overload
def jvp(func: Callable[..., _R], primals: tuple[Any, ...], tangents: tuple[Any, ...], *,
        strict: bool = False, has_aux: Literal[False] = False) -> tuple[_R, _R]: ...
@overload
def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *,
        strict: bool = False, has_aux: Literal[True]) -> tuple[Any, Any, Any]: ...
def jvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *,
        strict: bool = False, has_aux: bool = False) -> Any:
    """The value of a function and its Jacobian times a direction, in one pass forward.

    Args:
        func: takes and returns tensors, or nested structures of them.
        primals: its arguments, a tuple.
        tangents: the direction, in the structure of the primals.
        strict: raise when an output does not depend on the inputs, instead of giving zeros.
        has_aux: whether ``func`` returns a pair of outputs and something else.

    Returns:
        ``(outputs, tangents of the outputs)``; with ``has_aux`` a third item, the something else.

    Raises:
        RuntimeError: primals and tangents do not have the same structure, shapes and dtypes.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([1.0, 2.0])
        >>> flambeau.func.jvp(lambda x: x * x, (x,), (flambeau.ones(2),))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    return _push_forward(func, primals, tangents, strict, has_aux, ())


def _push_forward(func, primals, tangents, strict, has_aux, others):
    """``jvp`` of a function that brings ``others`` along, which it may write to."""
    expect_function(func, "jvp")
    values, directions, spec = _checked_pairs(primals, tangents)
    with DualLevel() as level:
        duals = [level.wrap(x, t) for x, t in zip(values, directions, strict=True)]
        outputs, aux = _with_aux(
            call_guarded(level, func, tree_unflatten(duals, spec), others=others), has_aux, "jvp")
        flat, out_spec = tree_flatten(outputs)
        check_outputs(flat, "jvp")
        pairs = [level.unwrap(y) for y in flat]
        aux = tree_map(lambda v: level.unwrap(v)[0], aux)
    if strict and any(t is None for _, t in pairs):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent "
                           "of the inputs. This is not allowed when strict=True")
    shown = tree_unflatten([y for y, _ in pairs], out_spec)
    moved = tree_unflatten([_or_zeros(y, t) for y, t in pairs], out_spec)
    return (shown, moved, aux) if has_aux else (shown, moved)


def _or_zeros(value, tangent):
    return ops.zeros_like(value).detach() if tangent is None else tangent


def _checked_pairs(primals, tangents):
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a tuple, got "
                           f"{type(primals).__name__}: write (x,) for one argument")
    values, spec = tree_flatten(primals)
    directions, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the "
                           f"same python structure. primals: {spec}, tangents: {tangent_spec}")
    if not values:
        raise RuntimeError("jvp(f, primals, tangents): Expected at least one Tensor in primals")
    for x, t in zip(values, directions, strict=True):
        _check_pair(x, t)
    return values, [_fitting(x, t) for x, t in zip(values, directions, strict=True)], spec


def _check_pair(x, t) -> None:
    if not isinstance(x, Tensor) or not isinstance(t, Tensor):
        raise RuntimeError("jvp(f, primals, tangents): Expected only Tensors in primals and "
                           f"tangents, got {type(x).__name__} and {type(t).__name__}")
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError("jvp(f, primals, tangents): only floating-point and complex primals "
                           f"have tangents, got {x.dtype}; write x.float()")
    if x.shape != t.shape:
        raise RuntimeError("jvp(f, primals, tangents): a tangent has the shape of its primal, got "
                           f"{list(t.shape)} for {list(x.shape)}")


def _fitting(x, t):
    return t if t.dtype is x.dtype else t.to(x.dtype)


# ---- jacfwd ------------------------------------------------------------------------------------
def jacfwd(func: Callable[_P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *,
           randomness: str = "error", chunk_size: int | None = None) -> Callable[_P, Any]:
    """The Jacobian of a function, a column of it for each element of the input at once.

    Args:
        func: takes and returns tensors, or nested structures of them.
        argnums: the argument to differentiate by, or a tuple of them.
        has_aux: whether ``func`` returns a pair of outputs and something else.
        randomness: what random operators do, as for :func:`vmap`.
        chunk_size: how many columns to compute at a time; None for all.

    Returns:
        A function that gives, for each output, the structure of the arguments, of Jacobians of
        the output's shape followed by the argument's.

    Example:
        >>> import flambeau
        >>> flambeau.func.jacfwd(lambda x: x * x)(flambeau.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    expect_function(func, "jacfwd")

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        from flambeau.autograd.transforms.vectorize import vmap

        single = isinstance(argnums, int)
        chosen = chosen_argnums(argnums, len(args), "jacfwd")
        tree = args[chosen[0]] if single else tuple([args[n] for n in chosen])
        inputs, spec = tree_flatten(tree)
        _check_inputs(inputs)
        known: dict = {}

        def push(*directions):
            def of_chosen(*values):
                inside = list(args)
                fresh = tree_unflatten(list(values), spec)
                for n, value in zip(chosen, (fresh,) if single else fresh, strict=True):
                    inside[n] = value
                return func(*inside, **kwargs)
            found = _push_forward(of_chosen, tuple(inputs), directions, False, has_aux,
                                  (args, kwargs))
            flat, known["spec"] = tree_flatten(found[1])
            check_real(flat, "jacfwd", "outputs")
            aux = tree_leaves_of(found[2]) if has_aux else []
            if has_aux:
                known["aux"] = tree_flatten(found[2])[1]
            return tuple(flat), tuple(aux)

        columns, aux = vmap(push, randomness=randomness, chunk_size=chunk_size)(*basis(inputs))
        rows = [_by_inputs(column, inputs) for column in columns]
        result = tree_unflatten([tree_unflatten(row, spec) for row in rows], known["spec"])
        if has_aux:
            return result, tree_unflatten([a[0] for a in aux], known["aux"])
        return result
    return jacobian


def _check_inputs(inputs) -> None:
    for value in inputs:
        if not isinstance(value, Tensor):
            raise RuntimeError("jacfwd: Expected to be differentiated by a Tensor or a structure "
                               f"of Tensors, got {type(value).__name__}; close over other values")
    check_real(inputs, "jacfwd", "inputs")


def tree_leaves_of(tree) -> list:
    """The tensors of a structure."""
    return tree_flatten(tree)[0]


def _by_inputs(column, inputs):
    """A stack of tangents, one per element of the inputs, as Jacobians by each input."""
    shape = column.shape[1:]
    parts = column.split([x.numel() for x in inputs], 0)
    return [part.movedim(0, -1).reshape((*shape, *x.shape))
            for part, x in zip(parts, inputs, strict=True)]


def hessian(func: Callable[_P, Any],
            argnums: int | tuple[int, ...] = 0) -> Callable[_P, Any]:
    """The second derivatives of a function: forward mode over reverse mode.

    Args:
        func: takes and returns tensors, or nested structures of them.
        argnums: the argument to differentiate by, or a tuple of them.

    Returns:
        A function that gives the Hessian.

    Example:
        >>> import flambeau
        >>> flambeau.func.hessian(lambda x: (x ** 3).sum())(flambeau.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    expect_function(func, "hessian")
    return jacfwd(jacrev(func, argnums), argnums)


# ---- linearize ---------------------------------------------------------------------------------
def linearize(func: Callable[..., _R], *primals: Any) -> tuple[_R, Callable[..., _R]]:
    """The value of a function at a point, and its Jacobian there as a function of directions.

    Args:
        func: takes and returns tensors, or nested structures of them.
        primals: its arguments.

    Returns:
        ``(outputs, jvp_fn)``: ``jvp_fn`` takes tangents, one per primal, and gives those of the
        outputs. It runs no part of ``func`` again.

    Example:
        >>> import flambeau
        >>> x = flambeau.tensor([1.0, 2.0])
        >>> value, push = flambeau.func.linearize(lambda x: x * x, x)
        >>> push(flambeau.ones(2))
        tensor([2., 4.])
    """
    expect_function(func, "linearize")
    outer = is_grad_enabled()
    with enable_grad():
        flat, variables, spec, pairs = _run_linear(func, primals)
        roots = [t for _, t in pairs if t is not None and needs_grad(t)]
        seeds = [_core.requiring(lifted(ops.zeros_like(y.detach()))) for y in roots]
        variables.own.extend(seeds)
        variables.end()
        grads = run_grad(roots, seeds, variables.tensors, True, True) if roots else \
            [None] * len(variables.tensors)

    def push(*tangents):
        values, tangent_spec = tree_flatten(tangents)
        if tangent_spec != variables.spec:
            raise RuntimeError("linearize: expected tangents of the structure of the primals, "
                               f"{variables.spec}, got {tangent_spec}")
        for x, t in zip(flat, values, strict=True):
            _check_pair(x, t)
            if t.dtype is not x.dtype:
                raise RuntimeError(f"linearize: a tangent has the dtype of its primal, {x.dtype}, "
                                   f"got {t.dtype}: write tangent.to(primal.dtype)")
        used = [(g, _fitting(g, t)) for g, t in zip(grads, values, strict=True)
                if g is not None and needs_grad(g)]
        further = is_grad_enabled() and (
            variables.belongs_outside(roots) or any(has_history_below(y) for y in roots)
            or any(has_history(t) for _, t in used))
        found = iter(run_grad([g for g, _ in used], [t for _, t in used], seeds, True,
                              further) if used else [None] * len(roots))
        moved = [_or_zeros(y, next(found) if t is not None and needs_grad(t) else None)
                 for y, t in pairs]
        return tree_unflatten([variables.closed(t) for t in moved], spec)

    return tree_unflatten([_closed(variables, y, outer) for y, _ in pairs], spec), push


def _run_linear(func, primals):
    """The primals, their tangents as variables, and the outputs with tangents that are linear in
    those: recorded in forward mode, they do not depend on what the function itself records."""
    flat, spec = tree_flatten(primals)
    for x in flat:
        _check_variable(x, "linearize")
    variables = Variables(tree_unflatten([_zeros(x) for x in flat], spec), "linearize")
    with LinearLevel() as level:
        duals = [level.wrap(x, t) for x, t in zip(flat, variables.tensors, strict=True)]
        outputs, out_spec = tree_flatten(func(*tree_unflatten(duals, spec)))
        check_outputs(outputs, "linearize")
        return flat, variables, out_spec, [level.unwrap(y) for y in outputs]
