"""``vmap``: a function of one sample, run on a batch."""
from __future__ import annotations

import functools
from collections.abc import Callable

from flambeau.autograd.transforms.batch import BatchLevel
from flambeau.autograd.transforms.captures import Inside
from flambeau.autograd.transforms.functions import expect_function
from flambeau.core import Tensor, ops
from flambeau.core.pytree import tree_flatten, tree_unflatten

__all__ = ["vmap"]

_RANDOMNESS = ("error", "different", "same")


def vmap(func: Callable, in_dims=0, out_dims=0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """A function that runs ``func`` on every sample of a batch at once.

    Args:
        func: a function of one sample; takes and returns tensors in lists, tuples and dicts.
        in_dims: which dimension of each input runs over the samples: an int for all, or a nested
            structure like the arguments; None for inputs that all samples share.
        out_dims: where the samples go in each output.
        randomness: what random operators do: ``"error"``, ``"different"`` numbers for each sample
            or the ``"same"`` for all.
        chunk_size: at most so many samples at a time; None for all.

    Returns:
        The function of batches.

    Raises:
        ValueError: ``in_dims`` or ``out_dims`` does not fit, or batches differ in size.
        RuntimeError: ``func`` looks at values, or draws random numbers in ``"error"`` mode.

    Example:
        >>> import flambeau
        >>> dot = flambeau.func.vmap(flambeau.dot)
        >>> dot(flambeau.ones(2, 3), flambeau.ones(2, 3))
        tensor([3., 3.])
    """
    expect_function(func, "vmap")
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or "
                           f"'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def batched(*args, **kwargs):
        values, dims, spec = _flat_inputs(func, in_dims, args)
        size = _batch_size(values, dims)
        moved = [v.movedim(d, 0) if d is not None else v
                 for v, d in zip(values, dims, strict=True)]
        bounds = [(0, size)] if chunk_size is None or size <= chunk_size else [
            (i, min(i + chunk_size, size)) for i in range(0, size, chunk_size)]
        rows = [_run(func, randomness, out_dims, _chunk(moved, dims, bound, size), dims, spec,
                     bound[1] - bound[0], kwargs) for bound in bounds]
        return _joined(rows)
    return batched


# ---- inputs ------------------------------------------------------------------------------------
def _name(func) -> str:
    return getattr(func, "__name__", repr(func))


def _flat_inputs(func, in_dims, args):
    """The arguments' leaves and the batch dimension of each."""
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int "
            "or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}.")
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported.")
    values, spec = tree_flatten(args)
    dims = _spread(in_dims, args)
    if dims is None or len(dims) != len(values):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible "
            f"with the structure of inputs. in_dims has structure {tree_flatten(in_dims)[1]} but "
            f"inputs has structure {spec}.")
    return values, [_checked_dim(func, in_dims, v, d) for v, d in zip(values, dims, strict=True)],\
        spec


def _spread(dims, tree):
    """``dims`` (a prefix of the tree) for each leaf of ``tree``; None where they do not fit."""
    if dims is None or isinstance(dims, int) and not isinstance(dims, bool):
        return [dims] * len(tree_flatten(tree)[0])
    if isinstance(dims, dict):
        if not isinstance(tree, dict) or set(dims) != set(tree):
            return None
        pairs = [(dims[key], tree[key]) for key in tree]
    elif isinstance(dims, (tuple, list)):
        if not isinstance(tree, (tuple, list)) or len(dims) != len(tree):
            return None
        pairs = list(zip(dims, tree, strict=True))
    else:
        return None
    flat = []
    for inner_dims, inner in pairs:
        part = _spread(inner_dims, inner)
        if part is None:
            return None
        flat.extend(part)
    return flat


def _checked_dim(func, in_dims, value, dim):
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input"
    if dim is None:
        return None
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{where} but the input is of type {type(value)}. We cannot vmap over non-Tensor "
            "arguments, please use None as the respective in_dim")
    if not -value.ndim <= dim < value.ndim:
        raise ValueError(
            f"{where}, but that input is a Tensor of dimensionality {value.ndim} so expected "
            f"in_dim to satisfy -{value.ndim} <= in_dim < {value.ndim}.")
    return dim % value.ndim


def _batch_size(values, dims) -> int:
    sizes = [v.shape[d] for v, d in zip(values, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one of the inputs must have a batch dimension: "
                         "in_dims is None for all of them")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension")
    return sizes[0]


def _chunk(values, dims, bound, size):
    """The samples of one chunk."""
    if bound == (0, size):
        return values
    return [v.narrow(0, bound[0], bound[1] - bound[0]) if d is not None else v
            for v, d in zip(values, dims, strict=True)]


# ---- outputs -----------------------------------------------------------------------------------
def _run(func, randomness, out_dims, values, dims, spec, size, kwargs):
    """Outputs of one chunk: whole batches, their dims, and their structure."""
    with BatchLevel(size, randomness) as level:
        inside = [level.wrap(v, True) if d is not None else v
                  for v, d in zip(values, dims, strict=True)]
        with Inside(level):
            outputs = func(*tree_unflatten(inside, spec), **kwargs)
        flat, out_spec = tree_flatten(outputs)
        alone = isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
        places = _spread(out_dims[0] if alone else out_dims, outputs)
        if places is None or len(places) != len(flat):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with "
                f"the structure of outputs. out_dims has structure {tree_flatten(out_dims)[1]} "
                f"but outputs has structure {out_spec}.")
        pairs = [level.unwrap(_checked_output(func, v, place))
                 for v, place in zip(flat, places, strict=True)]
    whole = [_whole(func, out_dims, v, batched, place, size)
             for (v, batched), place in zip(pairs, places, strict=True)]
    return whole, places, out_spec


def _checked_output(func, value, place):
    if place is not None and not isinstance(value, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type "
            f"{type(value)}. Did you mean to set out_dims= to None for output?")
    return value


def _whole(func, out_dims, value, batched, place, size):
    """An output with its batch where it is wanted; one that all samples share is repeated."""
    if place is None:
        if batched:
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims=None was given for an "
                "output that differs between the samples: say where its batch dimension goes")
        return value
    value = value if batched else value.expand(size, *value.shape)
    return value if place == 0 else value.movedim(0, place)


def _joined(rows):
    first, places, spec = rows[0]
    if len(rows) == 1:
        return tree_unflatten(first, spec)
    columns = zip(*[row[0] for row in rows], strict=True)
    return tree_unflatten([_joined_column(column, place)
                           for column, place in zip(columns, places, strict=True)], spec)


def _joined_column(column, place):
    return column[0] if place is None else ops.cat(list(column), place)
