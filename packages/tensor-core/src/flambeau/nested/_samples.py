"""Calls with nested tensors of the strided layout: they run sample by sample."""
from __future__ import annotations

from typing import Any

from flambeau.core import _core, functions
from flambeau.nested._calls import STRIDED, first_nested, handles
from flambeau.nested._strided import StridedNestedTensor, of_samples
from flambeau.nested._tensor import Nested

_op = {**functions, **_core.operators()}

#: Calls with the dimension that they are about, counted with that of samples: (position, name).
_DIMS = {"softmax": 1, "log_softmax": 1, "sum": 1, "mean": 1, "amax": 1, "amin": 1, "unsqueeze": 1,
         "squeeze": 1, "select": 1, "narrow": 1, "cumsum": 1, "glu": 1, "unflatten": 1}
_SAME = frozenset("linear layer_norm rms_norm embedding matmul bmm group_norm "
                  "scaled_dot_product_attention transpose".split())


def broadcast_over(like: StridedNestedTensor, dense: Any) -> Any:
    """A dense tensor as a vector of an element for each of the nested tensor's."""
    count = len(like._sizes)
    per_sample = dense.ndim == like.ndim
    if per_sample and dense.shape[0] not in (1, count):
        raise RuntimeError(f"a tensor of shape {tuple(dense.shape)} does not broadcast over "
                           f"{count} samples")
    parts = []
    for i, size in enumerate(like._sizes):
        one = dense[i if dense.shape[0] > 1 else 0] if per_sample else dense
        parts.append(one.expand(size).reshape(-1))
    return _op["cat"](parts) if parts else dense.new_zeros(0)


def _moved(name: str, x: Any, dim: Any) -> Any:
    """A dimension of samples, counted as their own."""
    if isinstance(dim, (tuple, list)):
        return [_moved(name, x, d) for d in dim]
    if not isinstance(dim, int):
        return dim
    extra = 1 if name == "unsqueeze" else 0
    at = dim % (x.ndim + extra)
    if at == 0:
        raise RuntimeError(f"{name}(): not supported for nested tensors on dimension 0, which "
                           "counts samples; write it for x.unbind()")
    return at - 1


def sample_by_sample(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call on each sample, and nest the results.

    Args:
        func: What is called.
        name: Its name.
        args: By position.
        kwargs: By name.

    Raises:
        NotImplementedError: The call has no meaning for nested tensors.
    """
    if name not in _DIMS and name not in _SAME:
        raise NotImplementedError(
            f"{name}() is not implemented for nested tensors: write "
            f"[{name}(x) for x in nested.unbind()], or x.to_padded_tensor(0.0) and a mask")
    first = first_nested(args, kwargs)
    given, named = list(args), dict(kwargs)
    if name in _DIMS and len(given) > 1:
        given[1] = _moved(name, first, given[1])
    if name in _DIMS and "dim" in named:
        named["dim"] = _moved(name, first, named["dim"])
    if name == "transpose":
        given[1:3] = [_moved(name, first, d) for d in given[1:3]]
    count = len(first)
    columns = [_samples_of(value, count, name) for value in given]
    by_name = {key: _samples_of(value, count, name) for key, value in named.items()}
    results = [func(*[column[i] for column in columns],
                    **{key: column[i] for key, column in by_name.items()}) for i in range(count)]
    return of_samples(results, first._values)


def _samples_of(value: Any, count: int, name: str) -> list[Any]:
    if isinstance(value, Nested):
        return list(value._parts())
    batched = name in ("matmul", "bmm", "scaled_dot_product_attention")
    if batched and isinstance(value, _core.Tensor) and value.ndim > 2 and value.shape[0] == count:
        return list(value.unbind(0))
    return [value] * count


@handles("to_padded_tensor", "nested_to_padded_tensor", into=STRIDED)
def to_padded_tensor(x: StridedNestedTensor, padding: float, output_size: Any = None) -> Any:
    """A dense tensor in which smaller samples are filled up."""
    most = [max(column) for column in zip(*x._sizes, strict=True)]
    wanted = most if output_size is None else list(output_size)[1:]
    if len(wanted) != len(most) or any(w < m for w, m in zip(wanted, most, strict=True)):
        raise RuntimeError(f"Value in output_size is less than NestedTensor padded size: "
                           f"{output_size} for samples of at most {most}")
    filled = []
    for part in x._parts():
        behind: list[int] = []
        for size, target in zip(reversed(part.shape), reversed(wanted), strict=True):
            behind += [0, target - size]
        filled.append(_op["constant_pad_nd"](part, behind, padding))
    return _op["stack"](filled) if filled else x._values.new_zeros((0, *wanted))


@handles("getitem", into=STRIDED)
def getitem(x: StridedNestedTensor, index: Any) -> Any:
    """Samples by number, and indices inside all of them behind ``:`` or ``...``."""
    given = index if isinstance(index, tuple) else (index,)
    parts = x._parts()
    if not given or given[0] is Ellipsis:
        return of_samples([part[given] for part in parts], x._values)
    if isinstance(given[0], int):
        part = parts[given[0]]
        return part[given[1:]] if len(given) > 1 else part
    numbers = _core.tensor(list(range(len(parts))))[given[0]].tolist()
    return of_samples([parts[i][given[1:]] for i in numbers], x._values)


@handles("contiguous", into=STRIDED)
def contiguous(x: StridedNestedTensor, memory_format: Any = None) -> StridedNestedTensor:
    """The tensor itself."""
    return x


@handles("chunk", into=STRIDED)
def chunk(x: StridedNestedTensor, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of a dimension of all samples."""
    at = _moved("chunk", x, dim)
    pieces = [part.chunk(chunks, at) for part in x._parts()]
    return tuple(of_samples(list(column), x._values) for column in zip(*pieces, strict=True))


@handles("view", "reshape", into=STRIDED)
def reshape(x: StridedNestedTensor, *size: Any) -> StridedNestedTensor:
    """Samples in another shape; -1 keeps a size, or is what is left in every sample."""
    sizes = list(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    if not sizes or sizes[0] not in (-1, len(x)):
        raise RuntimeError(f"view(): the first of the sizes {sizes} must be {len(x)}, the number "
                           "of samples")
    results = []
    for part in x._parts():
        inner = list(sizes[1:])
        kept = [d for d, n in enumerate(inner) if n == -1 and d < part.ndim]
        for d in kept[:-1] if len([n for n in inner if n == -1]) > 1 else []:
            inner[d] = part.shape[d]
        results.append(part.reshape(inner))
    return of_samples(results, x._values)


@handles("equal", into=STRIDED)
def equal(x: Any, y: Any) -> bool:
    """Whether samples have the same sizes and elements."""
    return isinstance(x, StridedNestedTensor) and isinstance(y, StridedNestedTensor) \
        and x._sizes == y._sizes and bool(_op["equal"](x._values, y._values))


@handles("is_same_size", into=STRIDED)
def is_same_size(x: Any, y: Any) -> bool:
    """Whether both are nested, with samples of the same sizes."""
    return isinstance(x, StridedNestedTensor) and isinstance(y, StridedNestedTensor) \
        and x._sizes == y._sizes
