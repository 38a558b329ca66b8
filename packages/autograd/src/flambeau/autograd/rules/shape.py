"""Views, joins, rearrangements, borders: gradients go back to where elements came from."""
from flambeau.autograd._table import PARTS, rule
from flambeau.autograd.rules._help import reshaped, sum_to_shape, zeros
from flambeau.core import ops

# ---- the same elements in another order --------------------------------------------------------
rule("view", self=lambda g, self_shape: reshaped(g, self_shape))
rule("alias", self=lambda g: g)
rule("permute", self=lambda g, dims: g.permute(_inverse(dims)))
rule("transpose", self=lambda g, dim0, dim1: g.transpose(dim0, dim1))
rule("t", self=lambda g: g.t())
rule("squeeze", self=lambda g, self_shape: reshaped(g, self_shape))
rule("unsqueeze", self=lambda g, self_shape: reshaped(g, self_shape))
rule("expand", self=lambda g, self_shape: sum_to_shape(g, self_shape))
rule("view_as_real", self=lambda g: ops.view_as_complex(g.contiguous()))
rule("view_as_complex", self=lambda g: ops.view_as_real(g))


def _inverse(dims):
    """The permutation that undoes ``dims``."""
    n = len(dims)
    positions = [d % n for d in dims]
    return sorted(range(n), key=positions.__getitem__)


# ---- some of the elements: zeros elsewhere -----------------------------------------------------
def _into_zeros(g, shape, view):
    """Zeros with the gradient written where ``view`` looks."""
    whole = zeros(shape, g)
    ops.copy_(view(whole), g)
    return whole


rule("select", self=lambda g, self_shape, dim, index:
     _into_zeros(g, self_shape, lambda z: z.select(dim, index)))
rule("slice", self=lambda g, self_shape, dim, start, end, step:
     _into_zeros(g, self_shape, lambda z: ops.slice(z, dim, start, end, step)))
rule("narrow", self=lambda g, self_shape, dim, start, length:
     _into_zeros(g, self_shape, lambda z: z.narrow(dim, start, length)))
rule("diagonal", self=lambda g, self_shape, offset, dim1, dim2:
     _into_zeros(g, self_shape, lambda z: z.diagonal(offset, dim1, dim2)))

PARTS.update(("select", "slice", "narrow", "diagonal"))


# ---- all of the elements, in several views -------------------------------------------------------
def _all_arrived(grads):
    for g in grads:
        if g is None:
            return False
    return True


def _with_zeros(grads, shapes):
    """The gradients of the views, and zeros where none arrived."""
    given = next(g for g in grads if g is not None)
    blank = {s: zeros(s, given) for s, g in zip(shapes, grads, strict=True) if g is None}
    return [blank[s] if g is None else g for s, g in zip(shapes, grads, strict=True)]


def _unbind(grads, self_shape, dim):
    dim %= len(self_shape)
    if not _all_arrived(grads):
        shape = (*self_shape[:dim], *self_shape[dim + 1:])
        grads = _with_zeros(grads, [shape] * len(grads))
    if dim == 0 and len(self_shape) > 1:        # the same as stack, with fewer steps
        return reshaped(ops.cat(grads), self_shape)
    return ops.stack(grads, dim)


def _split(grads, self_shape, sizes, dim):
    if not _all_arrived(grads):
        dim %= len(self_shape)
        grads = _with_zeros(grads, [(*self_shape[:dim], n, *self_shape[dim + 1:]) for n in sizes])
    return ops.cat(grads, dim)


def _equal_sizes(total, step):
    return [min(step, total - start) for start in range(0, total, step)] if total else [0]


rule("unbind", self=_unbind)
rule("split", self=lambda grads, self_shape, split_size_or_sections, dim:
     _split(grads, self_shape, _equal_sizes(self_shape[dim], split_size_or_sections), dim))
rule("split_with_sizes", self=lambda grads, self_shape, split_sizes, dim:
     _split(grads, self_shape, split_sizes, dim))


# ---- windows, which may overlap ----------------------------------------------------------------
def _add_through(g, size, index):
    """A flat tensor of ``size`` elements: each gradient added at its element's number."""
    return zeros((size,), g).scatter_add_(0, index.reshape(-1), g.reshape(-1))


def _numbers(size, g):
    return ops.arange_of(0, size, 1, device=g.device)


def _unfold(g, self_shape, dimension, size, step):
    total = 1
    for n in self_shape:
        total *= n
    index = _numbers(total, g).reshape(self_shape).unfold(dimension, size, step)
    return _add_through(g, total, index).reshape(self_shape)


def _as_strided(g, self_geometry, size, stride, storage_offset):
    """Elements are numbered by their position in the memory that the base spans. Elements of the
    base that share memory share what arrives there: the view which made them adds it up again."""
    shape, strides, start = self_geometry
    if 0 in g.shape:
        return zeros(shape, g)
    span = 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    offset = (start if storage_offset is None else storage_offset) - start
    reach = offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
    first = min(0, offset)
    length = max(span, reach) - first
    index = ops.as_strided(_numbers(length, g), size, stride, offset - first)
    flat = _add_through(g, length, index)
    if _overlaps(shape, strides):
        own = ops.as_strided(_numbers(length, g), shape, strides, -first).reshape(-1)
        flat = flat / own.bincount(minlength=length).clamp_min(1)
    return ops.as_strided(flat, shape, strides, -first)


def _overlaps(shape, strides):
    """Whether elements may share memory."""
    reach = 0
    for step, n in sorted([(s, n) for n, s in zip(shape, strides, strict=True) if n != 1]):
        if step <= reach:
            return True
        reach += (n - 1) * step
    return False


rule("unfold", self=_unfold)
rule("as_strided", self=_as_strided)


# ---- rearrangements ----------------------------------------------------------------------------
rule("flip", self=lambda g, dims: g.flip(dims))
rule("tril", self=lambda g, diagonal: g.tril(diagonal))
rule("triu", self=lambda g, diagonal: g.triu(diagonal))


# ---- joins -------------------------------------------------------------------------------------
def _cat(g, tensors_shape, dim, needs):
    """Slices of the gradient, one per tensor; empty 1-d tensors took no room."""
    grads: list = []
    start = 0
    for shape, needed in zip(tensors_shape, needs, strict=True):
        if shape == (0,):
            grads.append(zeros(shape, g))
            continue
        grads.append(g.narrow(dim, start, shape[dim]) if needed else None)
        start += shape[dim]
    return grads


rule("cat", tensors=_cat)

# ---- borders -----------------------------------------------------------------------------------
rule("constant_pad_nd", self=lambda g, pad:
     ops.constant_pad_nd(g, [-n for n in pad]))
rule("pad_by", self=lambda g, self_shape, pad, mode: ops.pad_by_grad(g, pad, mode, self_shape))
rule("pad_by_grad", grad=lambda g, pad, mode: ops.pad_by(g, pad, mode))
