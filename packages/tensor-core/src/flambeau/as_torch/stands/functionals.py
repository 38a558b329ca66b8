"""What libraries take from private parts of `torch.autograd.functional` and the distributions."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau.core import Tensor
from flambeau.utils import _pytree


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
          allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """`torch.vmap`; results that are None may pass."""
    return flambeau.vmap(func, in_dims, out_dims)


def _as_tuple(inp: Any, arg_name: str | None = None,
              fn_name: str | None = None) -> tuple[bool, Any]:
    """Whether something is a tuple, and the tuple that it is, or that holds it alone.

    Without names it is taken for a tuple as it is.
    """
    if arg_name is None and fn_name is None:
        return True, inp
    found = inp if isinstance(inp, tuple) else (inp,)
    for i, each in enumerate(found):
        if not isinstance(each, Tensor):
            where = f"element {i}" if isinstance(inp, tuple) else "it"
            raise TypeError(f"The {arg_name} given to {fn_name} must be either a Tensor or a tuple "
                            f"of Tensors but {where} has type {type(each)}.")
    return isinstance(inp, tuple), found


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """The first of each tuple whose flag says that there was no tuple."""
    if isinstance(to_unpack, tuple):
        if not to_unpack[1]:
            res = tuple(each[0] for each in res)
        to_unpack = to_unpack[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors without history, unless a graph shall be made."""
    if isinstance(inputs, Tensor):
        return inputs if create_graph else inputs.detach()
    return tuple(_grad_postprocess(each, create_graph) for each in inputs)


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Products of matrices and vectors, whose leading dimensions are broadcast."""
    return (bmat @ bvec[..., None])[..., 0]


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """Squares of the lengths that vectors have by matrices' triangular factors.

    Args:
        bL: Lower triangular matrices, [..., n, n].
        bx: Vectors, [..., n], with the matrices' leading dimensions after others of their own.
    """
    solved = flambeau.linalg.solve_triangular(bL, bx[..., None], upper=False)
    return solved[..., 0].square().sum(-1)


def _construct_standard_basis_for(tensors: Sequence[Tensor],
                                  tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """The unit vectors of all elements together, in a part for each tensor.

    Args:
        tensors: Whose dtypes and devices the parts have.
        tensor_numels: How many elements each has.

    Returns:
        Tensors of shapes (all elements, elements of one).
    """
    whole, start, parts = sum(tensor_numels), 0, []
    for tensor, size in zip(tensors, tensor_numels, strict=True):
        part = flambeau.zeros(whole, size, dtype=tensor.dtype, device=tensor.device)
        part.diagonal(-start).fill_(1)
        parts.append(part)
        start += size
    return tuple(parts)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of a matrix's inverse, without the inverse.

    Args:
        P: Positive definite, of shape (..., n, n).

    Source: the factor of ``P`` with rows and columns reversed, reversed, is upper; its inverse
    transposed is what is asked for.
    """
    factor = flambeau.linalg.cholesky(P.flip(-2, -1))
    upper = factor.flip(-2, -1).mT
    eye = flambeau.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return flambeau.linalg.solve_triangular(upper, eye, upper=False)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The logistic function, kept off 0 and 1."""
    limits = flambeau.finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int,
                     reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """What an associative function makes of the first 1, 2, ... slices.

    Args:
        combine_fn: Combines two trees of tensors.
        xs: A tree of tensors of one size along ``dim``.
        dim: The dimension of the slices.
        reverse: Begin at the end.
        combine_mode: Has no effect: slices are combined one after the other.
    """
    leaves, form = _pytree.tree_flatten(xs)
    size = leaves[0].shape[dim]
    order = range(size)[::-1] if reverse else range(size)
    found: list[list[Tensor]] = []
    for i in order:
        now = _pytree.tree_unflatten([each.narrow(dim, i, 1) for each in leaves], form)
        if found:
            now = combine_fn(_pytree.tree_unflatten(found[-1], form), now)
        found.append(_pytree.tree_flatten(now)[0])
    steps = found[::-1] if reverse else found
    return _pytree.tree_unflatten(
        [flambeau.cat(each, dim) for each in zip(*steps, strict=True)], form)
