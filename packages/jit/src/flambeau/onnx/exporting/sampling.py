"""Images in another size, and at the points of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.jit.dims import Dim
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits, refuse


@emits("resample")
def write_resample(
    b: Builder, node: Node, x: Value, size: Any, mode: Any, align: Any, scales: Any
) -> Name:
    forms = {
        "nearest": ("nearest", "asymmetric", "floor"),
        "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
        "bilinear": ("linear", "half_pixel", None),
        "linear": ("linear", "half_pixel", None),
        "trilinear": ("linear", "half_pixel", None),
        "cubic": ("cubic", "half_pixel", None),
        "smooth-linear": ("linear", "half_pixel", None),
        "smooth-cubic": ("cubic", "half_pixel", None),
    }
    if mode not in forms:
        refuse(node, f"interpolation of mode {mode!r} is not written")
    kind, where, rounding = forms[mode]
    is_smooth = mode.startswith("smooth")
    if is_smooth and align:
        refuse(node, "antialias=True with align_corners=True is not written")
    sizes = node.outputs[0].shape
    given = ("", b.shape(sizes))
    if scales is not None and not align and _are_those(x.shape[2:], scales, sizes[2:]):
        given = (b.constant([1, 1, *scales], "float32"), "")
    return b.add(
        "Resize",
        b.of(x),
        "",
        *given,
        mode=kind,
        coordinate_transformation_mode="align_corners" if align else where,
        nearest_mode=rounding,
        cubic_coeff_a=(-0.5 if is_smooth else -0.75) if kind == "cubic" else None,
        antialias=1 if is_smooth else None,
        exclude_outside=1 if is_smooth else None,
    )


def _are_those(sizes: Any, scales: Any, wanted: Any) -> bool:
    """Whether sizes times factors are rounded to the same sizes in float32."""
    return all(isinstance(size, Dim) or isinstance(out, Dim)
               or int(np.float32(size) * np.float32(scale)) == out
               for size, scale, out in zip(sizes, scales, wanted, strict=True))


@emits("grid_sampler")
def write_grid_sampler(b: Builder, node: Node, x: Value, grid: Value, mode: int = 0,
                       padding: int = 0, align: Any = False) -> Name:
    if len(x.shape) == 5 and b.opset < 20:
        refuse(node, "volumes are sampled from opset_version 20 on")
    words = ("bilinear", "nearest", "bicubic") if b.opset < 20 else ("linear", "nearest", "cubic")
    outside = ("zeros", "border", "reflection")[padding]
    return b.add("GridSample", b.of(x), b.of(grid), mode=words[mode], padding_mode=outside,
                 align_corners=int(bool(align)))
