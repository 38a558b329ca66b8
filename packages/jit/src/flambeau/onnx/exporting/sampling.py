"""Images in another size, and at the points of a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flambeau.jit.dims import Dim, Size
from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits, refuse

#: mode -> ONNX's, where an element of the result lies, how its position is rounded
_FORMS = {
    "nearest": ("nearest", "asymmetric", "floor"),
    "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
    "bilinear": ("linear", "half_pixel", None),
    "linear": ("linear", "half_pixel", None),
    "trilinear": ("linear", "half_pixel", None),
    "cubic": ("cubic", "half_pixel", None),
    "smooth-linear": ("linear", "half_pixel", None),
    "smooth-cubic": ("cubic", "half_pixel", None),
}


@emits("resample")
def write_resample(
    b: Builder, node: Node, x: Value, size: Any, mode: Any, align: Any, scales: Any
) -> Name | list[Name]:
    """``Resize``, or no name where it computes something else: see ``rewritten``."""
    if mode not in _FORMS:
        refuse(node, f"interpolation of mode {mode!r} is not written")
    kind, where, rounding = _FORMS[mode]
    is_smooth = mode.startswith("smooth")
    if is_smooth and align:
        refuse(node, "antialias=True with align_corners=True is not written")
    sizes = node.outputs[0].shape
    axes = list(zip(x.shape[2:], sizes[2:], scales or [None] * len(sizes[2:]), strict=True))
    if kind == "nearest" and not all(map(_is_exact, *zip(*axes, strict=True))):
        return _picked(b, x, axes, 0.5 if mode == "nearest-exact" else 0.0)
    given = ("", b.shape(sizes))
    if scales is not None and not align and not all(
            _factor(before, after) == scale for before, after, scale in axes):
        if not all(map(_is_that, *zip(*axes, strict=True))):
            varies = any(isinstance(size, Dim) for size in (*x.shape[2:], *sizes[2:]))
            return _between(b, x, axes) if varies and kind == "linear" and not is_smooth else []
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


def _factor(size: Size, out: Size) -> float | None:
    """How many times larger a dimension becomes, where that is known."""
    if isinstance(size, Dim) and isinstance(out, Dim):
        before, after = size.terms[0][1], out.terms[0][1]
        return after / before if _times(size, after) == _times(out, before) else None
    return None if isinstance(size, Dim) or isinstance(out, Dim) else out / size


def _times(dim: Dim, factor: int) -> Dim:
    return Dim(tuple((name, n * factor) for name, n in dim.terms), dim.offset * factor)


def _is_that(size: Size, out: Size, scale: float) -> bool:
    """Whether a size times a factor is the other one, whoever rounds; and is not left as it is."""
    if isinstance(size, Dim) or isinstance(out, Dim):
        return False
    single = np.float32(scale)
    return out != size and int(np.float32(size) * single) == out == int(size * float(single))


def _is_exact(size: Size, out: Size, scale: float | None) -> bool:
    """Whether all positions are exact numbers, so that nobody rounds to another element."""
    factor = _factor(size, out)
    return factor is not None and math.frexp(factor)[0] == 0.5 and scale in (None, factor)


def _picked(b: Builder, x: Value, axes: Any, shift: float) -> Name:
    """Elements by their numbers, along one dimension after the other.

    Which one is nearest depends on how the position is rounded, and ``Resize`` divides by a factor
    where this library multiplies by its reciprocal: of 14 elements 2 would be others.
    """
    name = b.of(x)
    for axis, (size, out, scale) in enumerate(axes, 2):
        if isinstance(size, Dim) or isinstance(out, Dim):
            numbers = _numbers(b, size, out, scale, shift)
        else:
            ratio = np.float32(1 / scale) if scale else np.float32(size) / np.float32(out)
            at = np.floor((np.arange(out, dtype=np.float32) + np.float32(shift)) * ratio)
            numbers = b.constant(np.minimum(at.astype(np.int64), size - 1), "int64")
        name = b.add("Gather", name, numbers, axis=axis)
    return name


def _between(b: Builder, x: Value, axes: Any) -> Name:
    """Means of neighbours, along one dimension after the other: ``Resize`` may round the size."""
    name, zero = b.of(x), b.constant(0, "float32")
    for axis, (size, out, scale) in enumerate(axes, 2):
        centres = b.add("Add", _range(b, out), b.constant(0.5, "float32"))
        places = b.add("Sub", b.add("Mul", centres, b.constant(1 / scale, "float32")),
                       b.constant(0.5, "float32"))
        places = b.add("Max", places, zero)
        floor = b.add("Floor", places)
        last = b.add("Sub", b.operand(size, "int64"), b.constant(1, "int64"))
        first = b.add("Min", b.cast(floor, "float32", "int64"), last)
        second = b.add("Min", b.add("Add", first, b.constant(1, "int64")), last)
        part = b.add("Reshape", b.cast(b.add("Sub", places, floor), "float32", x.dtype),
                     b.whole(-1, *[1] * (len(x.shape) - 1 - axis)))
        one, other = (b.add("Gather", name, at, axis=axis) for at in (first, second))
        name = b.add("Add", one, b.add("Mul", b.add("Sub", other, one), part))
    return name


def _range(b: Builder, out: Size) -> Name:
    """The numbers from 0 on."""
    return b.cast(b.add("Range", *(b.operand(n, "int64") for n in (0, out, 1))), "int64",
                  "float32")


def _numbers(b: Builder, size: Size, out: Size, scale: float | None, shift: float) -> Name:
    """The same of sizes that vary, in float32 as well."""
    ratio = b.constant(1 / scale, "float32") if scale else b.add(
        "Div", b.operand(size, "float32"), b.operand(out, "float32"))
    positions = _range(b, out)
    if shift:
        positions = b.add("Add", positions, b.constant(shift, "float32"))
    at = b.cast(b.add("Floor", b.add("Mul", positions, ratio)), "float32", "int64")
    last = b.add("Sub", b.operand(size, "int64"), b.constant(1, "int64"))
    return b.add("Min", at, last)


@emits("grid_sampler")
def write_grid_sampler(b: Builder, node: Node, x: Value, grid: Value, mode: int = 0,
                       padding: int = 0, align: Any = False) -> Name:
    if len(x.shape) == 5 and b.opset < 20:
        refuse(node, "volumes are sampled from opset_version 20 on")
    words = ("bilinear", "nearest", "bicubic") if b.opset < 20 else ("linear", "nearest", "cubic")
    outside = ("zeros", "border", "reflection")[padding]
    return b.add("GridSample", b.of(x), b.of(grid), mode=words[mode], padding_mode=outside,
                 align_corners=int(bool(align)))
