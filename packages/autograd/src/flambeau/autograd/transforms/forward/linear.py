"""Linear operators, and products."""
from __future__ import annotations

from flambeau.autograd.transforms.stack import zeros_at_levels
from flambeau.core import Tensor, _core, ops

__all__ = ["LINEAR", "PRODUCTS", "linear_tangents", "product_tangents"]

_SELF = ("self",)
#: Definition -> the inputs that it is linear in, taken together.
LINEAR: dict[str, tuple[str, ...]] = dict.fromkeys((
    # views, for any strides, and copies
    "permute", "transpose", "t", "expand", "squeeze", "unsqueeze", "select", "slice", "narrow",
    "diagonal", "unfold", "alias", "view_as_real", "clone", "contiguous_copy", "cast",
    "to_device", "flip", "tril", "triu", "constant_pad_nd", "pad_by", "index_select",
    "gather", "index", "masked_select", "scatter.value", "adaptive_mean",
    # sums
    "sum", "mean", "cumsum", "im2col", "col2im", "avg_pool2d", "fft_c2c", "fft_r2c", "fft_c2r",
    "neg", "positive", "conj", "real_part"), _SELF) | {
    "cat": ("tensors",), "index_add": ("self", "source"), "scatter_add": ("self", "src"),
    "scatter.src": ("self", "src"), "index_put": ("self", "values"),
    "index_copy": ("self", "source"), "copy": ("src",), "masked_scatter": ("self", "source"),
    "resample": ("input",), "resample_grad": ("grad",), "pad_by_grad": ("grad",),
    "max_pool2d_grad": ("grad",), "avg_pool2d_grad": ("grad",), "adaptive_mean_grad": ("grad",),
    "embedding_lookup": ("weight",), "embedding_grad": ("grad",), "nll_loss_grad": ("grad",),
}
#: Parameters whose value belongs to a constant part, and what takes its place.
_CONSTANT_PARTS = {"constant_pad_nd": ("value", 0), "scatter.value": ("value", 0)}
#: Definition -> inputs that it does not depend on, or only through others that have no tangent
#: then.
_FLAT = {"nll_loss_grad": ("self", "total_weight")}
#: Definition -> factors that it is linear in one by one, and a summand.
PRODUCTS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "matmul": (("self", "other"), None), "linear": (("input", "weight"), "bias"),
}
for _name in ("conv2d", "conv3d"):
    PRODUCTS[_name] = (("input", "weight"), "bias")
    PRODUCTS[f"{_name}_input_grad"] = (("grad", "weight"), None)
    PRODUCTS[f"{_name}_weight_grad"] = (("grad", "input"), None)


def _zeros_like(value: Tensor) -> Tensor:
    return zeros_at_levels(value.shape, value)


def linear_tangents(op, primals, tangents, results):
    """The definition itself, of tangents; inputs without one count as zeros."""
    names = LINEAR[op.key]
    args = list(primals)
    for i, name in enumerate(op.params):
        if name in names:
            args[i] = _filled(primals[i], tangents[i])
        elif name == _CONSTANT_PARTS.get(op.key, ("",))[0]:
            args[i] = _CONSTANT_PARTS[op.key][1]
    if not _moves_other(op, (*names, *_FLAT.get(op.key, ())), tangents):
        return (_core.call(op, args),)
    return None


def _moves_other(op, names, tangents) -> bool:
    """Whether another input has a tangent."""
    return any(t is not None and name not in names
               for name, t in zip(op.params, tangents, strict=True))


def _filled(value, tangent):
    if isinstance(value, list):
        tangent = tangent or [None] * len(value)
        return [_zeros_like(v) if t is None else t for v, t in zip(value, tangent, strict=True)]
    return tangent if tangent is not None else _zeros_like(value)


def product_tangents(op, primals, tangents, results):
    """One product for each factor that has a tangent."""
    factors, summand = PRODUCTS[op.key]
    at = {name: i for i, name in enumerate(op.params)}
    plain = list(primals)
    if summand is not None:
        plain[at[summand]] = None
    total = None
    for name in factors:
        if tangents[at[name]] is not None:
            args = list(plain)
            args[at[name]] = tangents[at[name]]
            part = _core.call(op, args)
            total = part if total is None else ops.add(total, part)
    if summand is not None and tangents[at[summand]] is not None:
        total = _with_summand(op, tangents[at[summand]], total, results[0])
    return (total,)


def _with_summand(op, part, total, result):
    """A bias belongs to the last dimension, of a convolution to the channels."""
    if op.key != "linear":
        spatial = int(op.key[4])
        part = part.reshape(-1, *[1] * spatial)
    return part.expand(result.shape) if total is None else ops.add(total, part)
