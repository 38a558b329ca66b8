"""Composite rows that move and join."""
from flambeau.core import _core
from flambeau.core.composites import creation

_op = _core.operators()
_view, _clone, _select, _narrow = _op["view"], _op["clone"], _op["select"], _op["narrow"]
_contiguous_copy, _filled_like = _op["contiguous_copy"], _op["filled_like"]


def _wrap(dim, ndim, what):
    limit = ndim if ndim > 0 else 1
    if not -limit <= dim < limit:
        raise IndexError(f"{what}(): Dimension out of range: dim={dim} for a tensor of {ndim} "
                         f"dimensions (expected to be in range of [{-limit}, {limit - 1}])")
    return dim + limit if dim < 0 else dim


def reshape(x, shape):
    if x.is_contiguous():
        return _view(x, shape)
    shape = complete_shape(x, shape)
    if _core.view_possible(x, shape):
        return _view(x, shape)
    return _view(_contiguous_copy(x), shape)


def complete_shape(x, shape):
    """A wanted shape with its -1 filled in."""
    if -1 not in shape:
        return shape
    known = 1
    for size in shape:
        if size != -1:
            known *= size
    if known == 0 or x.numel() % known:
        return shape
    return tuple([x.numel() // known if size == -1 else size for size in shape])


def flatten(x, start_dim, end_dim):
    if x.ndim == 0:
        return _view(x, (1,))
    start, end = _wrap(start_dim, x.ndim, "flatten"), _wrap(end_dim, x.ndim, "flatten")
    if start > end:
        raise RuntimeError(f"flatten(): start_dim {start_dim} must not come after end_dim "
                           f"{end_dim} (shape {list(x.shape)})")
    if start == end:
        return x
    sizes = list(x.shape)
    merged = 1
    for size in sizes[start:end + 1]:
        merged *= size
    return reshape(x, (*sizes[:start], merged, *sizes[end + 1:]))


def unflatten(x, dim, sizes):
    dim = _wrap(dim, x.ndim, "unflatten")
    shape = list(x.shape)
    known = 1
    for size in sizes:
        if size != -1:
            known *= size
    filled = [shape[dim] // known if size == -1 and known else size for size in sizes]
    total = 1
    for size in filled:
        total *= size
    if total != shape[dim]:
        raise RuntimeError(f"unflatten(): sizes {list(sizes)} don't multiply up to the size of dim "
                           f"{dim} ({shape[dim]})")
    return _view(x, (*shape[:dim], *filled, *shape[dim + 1:]))


def stack(tensors, dim):
    if not tensors:
        raise RuntimeError("stack(): expected a non-empty list of tensors")
    first = tensors[0].shape
    for i, t in enumerate(tensors):
        if t.shape != first:
            raise RuntimeError(f"stack(): stack expects each tensor to be equal size, but got "
                               f"{list(first)} at entry 0 and {list(t.shape)} at entry {i}")
    dim = _wrap(dim, tensors[0].ndim + 1, "stack")
    return _op["cat"]([_op["unsqueeze"](t, dim) for t in tensors], dim)


def split(x, split_size_or_sections, dim):
    dim = _wrap(dim, x.ndim, "split")
    size = x.shape[dim]
    sections = split_size_or_sections
    if isinstance(sections, int):
        step = sections
        if step < 0 or (step == 0 and size > 0):
            raise RuntimeError(f"split(): split_size must be positive, got {step}")
        sections = [min(step, size - i) for i in range(0, size, step or 1)] or [0]
    elif sum(sections) != size or min(sections, default=0) < 0:
        raise RuntimeError(f"split(): split_with_sizes expects split_sizes to sum exactly to "
                           f"{size} (input tensor's size at dimension {dim}), but got "
                           f"{list(sections)}")
    pieces, start = [], 0
    for length in sections:
        pieces.append(_narrow(x, dim, start, length))
        start += length
    return tuple(pieces)


def chunk(x, chunks, dim):
    if chunks <= 0:
        raise RuntimeError(f"chunk(): expects chunks to be greater than 0, got {chunks}")
    dim = _wrap(dim, x.ndim, "chunk")
    size = x.shape[dim]
    if size == 0 and chunks > 1 << 20:
        raise RuntimeError(f"chunk(): {chunks} chunks of a dimension of size 0 would all be empty; "
                           f"at most {1 << 20} are made")
    step = max(1, (size + chunks - 1) // chunks)
    return split(x, step, dim) if size else tuple([x] * chunks)


def unbind(x, dim):
    if x.ndim == 0:
        raise RuntimeError("unbind(): a 0-d tensor has no dimension to unbind")
    dim = _wrap(dim, x.ndim, "unbind")
    return tuple([_select(x, dim, i) for i in range(x.shape[dim])])


def movedim(x, source, destination):
    n = x.ndim
    if len(source) != len(destination):
        raise RuntimeError(f"movedim(): source {list(source)} and destination {list(destination)} "
                           "must name as many dimensions")
    source = [_wrap(d, n, "movedim") for d in source]
    destination = [_wrap(d, n, "movedim") for d in destination]
    if len(set(source)) != len(source) or len(set(destination)) != len(destination):
        raise RuntimeError("movedim(): dimensions must not be named twice")
    rest = [d for d in range(n) if d not in source]
    order = dict(zip(destination, source, strict=True))
    return _op["permute"](x, [order[i] if i in order else rest.pop(0) for i in range(n)])


def repeat(x, repeats):
    extra = len(repeats) - x.ndim
    if extra < 0:
        raise RuntimeError(f"repeat(): Number of dimensions of repeat dims {list(repeats)} can not "
                           f"be smaller than number of dimensions of tensor {list(x.shape)}")
    shape = [1] * extra + list(x.shape)
    x = reshape(x, [n for size in shape for n in (1, size)])
    x = _op["expand"](x, [n for size, r in zip(shape, repeats, strict=True) for n in (r, size)])
    return _view(_contiguous_copy(x), [r * size for size, r in zip(shape, repeats, strict=True)])


def argsort(x, dim, descending, stable):
    return _op["sort"](x, dim, descending, stable)[1]


def masked_fill(x, mask, value):
    if mask.dtype is not _core._dtype_named("bool"):
        raise RuntimeError(f"masked_fill(): mask must be a bool tensor, got {mask.dtype}; write "
                           "mask != 0")
    if isinstance(value, _core.Tensor) and value.ndim > 0:
        raise RuntimeError(f"masked_fill(): value must be a number or a 0-d tensor, got shape "
                           f"{list(value.shape)}")
    return _op["where"](mask, _in_dtype_of(x, value), x)


def _in_dtype_of(x, value):
    """A number or 0-d tensor that does not change the dtype of what it is written into."""
    if isinstance(value, _core.Tensor):
        return value if value.dtype is x.dtype else _op["cast"](value, x.dtype)
    if _core.result_type(x, value) is x.dtype:
        return value
    if isinstance(value, complex):
        raise RuntimeError(f"masked_fill(): value {value} is complex, but self is {x.dtype}; write "
                           "x.to(flambeau.complex64) first")
    return bool(value) if x.dtype.name == "bool" else int(value)


def expand_as(x, other):
    return _op["expand"](x, other.shape)


def view_as(x, other):
    return _view(x, other.shape)


def reshape_as(x, other):
    return reshape(x, other.shape)


def contiguous(x, memory_format):
    if memory_format in (None, "contiguous_format"):
        return x if x.is_contiguous() else _contiguous_copy(x)
    if memory_format == "preserve_format":
        raise RuntimeError("contiguous(): preserve memory format is unsupported by the contiguous "
                           "operator; name the format that is wanted")
    return x if x.is_contiguous(memory_format=memory_format) else _clone(
        x, memory_format=memory_format)


def _filled(x, value, dtype, device, memory_format):
    """A new tensor like ``x``, of one number or of nothing in particular.

    It keeps the order of ``x`` in memory where that is dense, or has that of a memory format.
    """
    plain = memory_format == "contiguous_format" or (
        x.is_contiguous() and memory_format in (None, "preserve_format"))
    if plain and device is None and x.is_cpu:
        return _filled_like(x, value, dtype)
    dtype, device = dtype or x.dtype, device or x.device
    if plain:
        blank = _op["empty"](x.shape, dtype=dtype, device=device)
    else:
        strides = _core.format_strides(x, memory_format or "preserve_format")
        blank = _op["empty_strided"](x.shape, strides, dtype=dtype, device=device)
    return blank if value is None else _op["fill_"](blank, value)


def _finish(result, requires_grad):
    _core._as_new(result)   # filling it was part of making it
    return result.requires_grad_(True) if requires_grad else result


def empty_like(x, dtype, device, requires_grad, memory_format):
    return _finish(_filled(x, None, dtype, device, memory_format), requires_grad)


def zeros_like(x, dtype, device, requires_grad, memory_format):
    return _finish(_filled(x, 0, dtype, device, memory_format), requires_grad)


def ones_like(x, dtype, device, requires_grad, memory_format):
    return _finish(_filled(x, 1, dtype, device, memory_format), requires_grad)


def full_like(x, fill_value, dtype, device, requires_grad, memory_format):
    return _finish(_filled(x, fill_value, dtype, device, memory_format), requires_grad)


def _drawn_like(row, x, scale, dtype, device, memory_format):
    """Numbers of a distribution; complex ones are drawn as pairs."""
    if not (dtype or x.dtype).is_complex:
        return _op[row](_filled(x, None, dtype, device, memory_format))
    return creation.drawn(_op[row], x.shape, scale, None, dtype or x.dtype, device or x.device)


def rand_like(x, dtype, device, requires_grad, memory_format):
    made = _drawn_like("random_uniform_", x, 1, dtype, device, memory_format)
    return _finish(made, requires_grad)


def randn_like(x, dtype, device, requires_grad, memory_format):
    made = _drawn_like("random_normal_", x, 0.5 ** 0.5, dtype, device, memory_format)
    return _finish(made, requires_grad)


def randint_like__low(x, low, high, dtype, device, requires_grad, memory_format):
    blank = _filled(x, None, dtype, device, memory_format)
    return _finish(_op["random_integers_"](blank, low, high), requires_grad)


def randint_like(x, high, dtype, device, requires_grad, memory_format):
    return randint_like__low(x, 0, high, dtype, device, requires_grad, memory_format)
