"""``vmap``: a function of one sample, run on a batch."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from flambeau.autograd.transforms.batch import BatchLevel
from flambeau.autograd.transforms.captures import Inside
from flambeau.autograd.transforms.functions import expect_function
from flambeau.core import Tensor, ops
from flambeau.core.backends import keep_random
from flambeau.core.pytree import tree_flatten, tree_unflatten

__all__ = ["chunk_vmap", "spread", "vmap"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_RANDOMNESS = ("error", "different", "same")


def vmap(func: Callable[_P, _R], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[_P, _R]:
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
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    return _in_chunks(func, in_dims, out_dims, randomness, lambda size: chunk_size or size)


def chunk_vmap(func: Callable[_P, _R], in_dims: Any = 0, out_dims: Any = 0,
               randomness: str = "error", chunks: int = 2) -> Callable[_P, _R]:
    """``vmap`` over a batch that is cut into chunks, one after the other; see :func:`vmap`.

    Args:
        func: a function of one sample.
        in_dims: which dimension of each input runs over the samples.
        out_dims: where the samples go in each output.
        randomness: what random operators do.
        chunks: how many chunks; fewer where they would be empty.

    Returns:
        The function of batches.

    Raises:
        ValueError: ``chunks`` is not positive, or what :func:`vmap` raises.

    Example:
        >>> import flambeau
        >>> flambeau.func.chunk_vmap(flambeau.sum, chunks=2)(flambeau.ones(3, 2))
        tensor([2., 2., 2.])
    """
    expect_function(func, "chunk_vmap")
    if chunks <= 0:
        raise ValueError(f"chunk_vmap: chunks should be greater than 0. (got {chunks})")
    return _in_chunks(func, in_dims, out_dims, randomness, lambda size: -(-size // chunks))


def _in_chunks(func, in_dims, out_dims, randomness, samples_of_chunk):
    """The function of batches, which are cut as ``samples_of_chunk`` says of their size."""
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or "
                           f"'same'. Got {randomness}")

    @functools.wraps(func)
    def batched(*args, **kwargs):
        values, dims, spec = _flat_inputs(func, in_dims, args)
        size = _batch_size(values, dims)
        moved = [v.movedim(d, 0) if d else v         # what is in front already stays itself
                 for v, d in zip(values, dims, strict=True)]
        step = max(samples_of_chunk(size), 1)
        bounds = [(i, min(i + step, size)) for i in range(0, max(size, 1), step)]
        # all samples draw the same numbers, so each chunk begins where the first one does
        start_again = keep_random() if randomness == "same" and len(bounds) > 1 else None
        rows = []
        for bound in bounds:
            if start_again is not None:
                start_again()
            rows.append(_run(func, randomness, out_dims, _chunk(moved, dims, bound, size), dims,
                             spec, bound[1] - bound[0], kwargs))
        given = {(id(m), d): v for m, d, v in zip(moved, dims, values, strict=True)}
        return _joined(rows, given)
    return batched


# ---- inputs ------------------------------------------------------------------------------------
def _name(func) -> str:
    return getattr(func, "__name__", repr(func))


def _flat_inputs(func, in_dims, args):
    """The arguments' leaves and the batch dimension of each."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int "
            "or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}.")
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported.")
    values, spec = tree_flatten(args)
    dims = spread(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible "
            f"with the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but "
            f"inputs has structure {spec}.")
    return values, [_checked_dim(func, in_dims, v, d) for v, d in zip(values, dims, strict=True)],\
        spec


def spread(dims, spec):
    """``dims`` (a prefix of a tree) for each leaf of the tree; None where they do not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * spec.num_leaves
    kind = tree_flatten(dims)[1].type
    if kind is not spec.type or kind is None:
        return None
    children = _children(dims, spec)
    if children is None or len(children) != spec.num_children:
        return None
    flat = []
    for child, inner in zip(children, spec.children(), strict=True):
        part = spread(child, inner)
        if part is None:
            return None
        flat.extend(part)
    return flat


def _children(dims, spec):
    """The parts of a node of dims, in the order of the tree's; None where they are others."""
    if isinstance(dims, dict):
        keys = spec.context[1] if isinstance(spec.context, tuple) else spec.context
        return [dims[key] for key in keys] if set(dims) == set(keys) else None
    if isinstance(dims, (list, tuple)):
        return list(dims)
    return None


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
        inside = [level.placed(v, d) if d is not None else v
                  for v, d in zip(values, dims, strict=True)]
        with Inside(level):
            outputs = func(*tree_unflatten(inside, spec), **kwargs)
        flat, out_spec = tree_flatten(outputs)
        alone = isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
        indices = spread(out_dims[0] if alone else out_dims, out_spec)
        if indices is None:
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with "
                f"the structure of outputs. out_dims has structure {tree_flatten(out_dims)[1]} "
                f"but outputs has structure {out_spec}.")
        pairs = [level.unwrap(_checked_output(func, v, index))
                 for v, index in zip(flat, indices, strict=True)]
    whole = [_whole(func, out_dims, v, batched, index, size)
             for (v, batched), index in zip(pairs, indices, strict=True)]
    return whole, indices, out_spec


def _checked_output(func, value, index):
    if index is not None and not isinstance(value, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type "
            f"{type(value)}. Did you mean to set out_dims= to None for output?")
    return value


def _whole(func, out_dims, value, batched, index, size):
    """An output with its batch in front; one that all samples share is repeated."""
    if index is None:
        if batched:
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims=None was given for an "
                "output that differs between the samples: say where its batch dimension goes")
        return value
    return value if batched else value.expand(size, *value.shape)


def _moved_back(value, index, given):
    """The batch where it is wanted; an input that comes back as it was is itself."""
    if not index:
        return value
    back = given.get((id(value), index))
    return value.movedim(0, index) if back is None else back


def _joined(rows, given):
    """The outputs of all chunks; ``given`` are the inputs by what they were moved to and whence."""
    first, indices, spec = rows[0]
    if len(rows) == 1:
        return tree_unflatten([_moved_back(v, index, given)
                               for v, index in zip(first, indices, strict=True)], spec)
    columns = zip(*[row[0] for row in rows], strict=True)
    return tree_unflatten([_joined_column(column, index)
                           for column, index in zip(columns, indices, strict=True)], spec)


def _joined_column(column, index):
    return column[0] if index is None else _moved_back(ops.cat(list(column), 0), index, {})
