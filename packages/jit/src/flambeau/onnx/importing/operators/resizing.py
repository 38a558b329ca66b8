"""Images of another size: a matrix for each dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes, given_axes


@computes("Upsample", host=(1,))
def upsample(call: Call, x: fl.Tensor, scales: list[float] | None = None) -> fl.Tensor:
    """An enlarged image."""
    factors = call.get("scales") if scales is None else scales
    inner = Call(call.op, call.name, call.opset,
                 {"mode": call.get("mode", "nearest"), "nearest_mode": "floor",
                  "coordinate_transformation_mode": "asymmetric"}, call.outputs)
    return resize(inner, x, None, factors, None)


@computes("Resize", host=(1, 2, 3))
def resize(call: Call, x: fl.Tensor, roi: list[float] | None = None,
           scales: list[float] | None = None, wanted: list[int] | None = None) -> fl.Tensor:
    """An image of another size."""
    if call.opset == 10:
        roi, scales = None, roi
        call = Call(call.op, call.name, 10, {
            **call.attributes, "nearest_mode": "floor",
            "coordinate_transformation_mode": "asymmetric"}, call.outputs)
    axes = [axis % x.ndim for axis in given_axes(call, None) or range(x.ndim)]
    factors, lengths = _targets(call, [x.shape[axis] for axis in axes], scales or None,
                                wanted or None)
    if _is_plain(call, x, axes, factors, lengths):
        given = dict(zip(axes, lengths, strict=True))
        size = [given.get(axis, x.shape[axis]) for axis in (2, 3)]
        aligned = call.get("coordinate_transformation_mode") == "align_corners"
        return F.interpolate(x, size, mode=_PLAIN[call.get("mode")], align_corners=aligned)
    for k, axis in enumerate(axes):
        n = x.shape[axis]
        ends = (roi[k], roi[k + len(axes)]) if roi else (0.0, 1.0)
        cropped = call.get("coordinate_transformation_mode") == "tf_crop_and_resize"
        if factors[k] == 1 and lengths[k] == n and not cropped:
            continue
        x = _along(call, x, axis, _coordinates(call, n, lengths[k], factors[k], ends), factors[k])
    return x


#: What PyTorch calls the modes that are the same there.
_PLAIN = {"linear": "bilinear", "cubic": "bicubic"}


def _is_plain(call: Call, x: fl.Tensor, axes: list[int], factors: list[float],
              lengths: list[int]) -> bool:
    """Whether it is PyTorch's interpolation of an image."""
    image = [k for k, axis in enumerate(axes) if axis > 1]
    return (x.ndim == 4 and x.is_floating_point() and call.get("mode") in _PLAIN
            and call.get("coordinate_transformation_mode", "half_pixel") in (
                "half_pixel", "align_corners")
            and call.get("cubic_coeff_a", -0.75) == -0.75
            and not (call.get("antialias") or call.get("exclude_outside"))
            and all(lengths[k] == x.shape[axis] for k, axis in enumerate(axes) if axis < 2)
            and all(abs(factors[k] * x.shape[axes[k]] - lengths[k]) < 1e-6 for k in image))


def _targets(call: Call, image: list[int], scales: list[float] | None,
             wanted: list[int] | None) -> tuple[list[float], list[int]]:
    if wanted is None:
        if scales is None:
            raise call.refuse("neither scales nor sizes are given")
        return scales, [math.floor(n * s) for n, s in zip(image, scales, strict=True)]
    factors = [out / n for out, n in zip(wanted, image, strict=True)]
    policy = call.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return factors, wanted
    factor = min(factors) if policy == "not_larger" else max(factors)
    lengths = [math.floor(factor * n + 0.5) for n in image]
    return [factor] * len(image), lengths


def _coordinates(call: Call, n: int, length: int, factor: float, ends: tuple[float, float]) -> Any:
    """Where each new element lies among the old ones."""
    at = np.arange(length, dtype=np.float64)
    mode = call.get("coordinate_transformation_mode", "half_pixel")
    exact = factor * n
    if mode == "asymmetric":
        return at / factor
    if mode == "half_pixel":
        return (at + 0.5) / factor - 0.5
    if mode == "pytorch_half_pixel":
        return (at + 0.5) / factor - 0.5 if length > 1 else at * 0
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / factor
    if mode == "align_corners":
        return at * (n - 1) / (exact - 1) if exact != 1 else at * 0
    if mode == "half_pixel_symmetric":
        adjustment = length / exact
        center = n / 2
        return center * (1 - adjustment) + (at + 0.5) / factor - 0.5
    if mode == "tf_crop_and_resize":
        first, last = ends
        if length > 1:
            return first * (n - 1) + at * (last - first) * (n - 1) / (length - 1)
        return at * 0 + 0.5 * (first + last) * (n - 1)
    raise call.refuse(f"coordinate_transformation_mode {mode!r} is unknown")


def _along(call: Call, x: fl.Tensor, axis: int, at: Any, factor: float) -> fl.Tensor:
    n = x.shape[axis]
    mode = call.get("mode", "nearest")
    outside = (at < 0) | (at > n - 1)
    if mode == "nearest":
        index = np.clip(_nearest(call, at), 0, n - 1).astype(np.int64)
        found = x.index_select(axis, fl.from_numpy(index).to(x.device))
    elif mode in ("linear", "cubic"):
        matrix = fl.from_numpy(_weights(call, at, n, factor, mode))
        dtype = x.dtype if x.is_floating_point() else fl.float32
        matrix = matrix.to(device=x.device, dtype=dtype)
        found = fl.matmul(x.to(dtype).transpose(axis, -1), matrix.T).transpose(axis, -1)
        found = found if dtype == x.dtype else fl.round(found).to(x.dtype)
    else:
        raise call.refuse(f"mode {mode!r} is none of nearest, linear and cubic")
    if call.get("coordinate_transformation_mode") == "tf_crop_and_resize" and outside.any():
        mask = fl.from_numpy(outside).to(x.device).reshape(-1, *[1] * (x.ndim - 1 - axis))
        other = fl.full_like(found, call.get("extrapolation_value", 0.0))
        found = fl.where(mask, other, found)
    return found


def _nearest(call: Call, at: Any) -> Any:
    mode = call.get("nearest_mode", "round_prefer_floor")
    if mode == "floor":
        return np.floor(at)
    if mode == "ceil":
        return np.ceil(at)
    return np.ceil(at - 0.5) if mode == "round_prefer_floor" else np.floor(at + 0.5)


def _weights(call: Call, at: Any, n: int, factor: float, mode: str) -> Any:
    """The matrix that makes the new elements of the old ones."""
    shrink = min(factor, 1.0) if call.get("antialias") else 1.0
    reach = math.ceil((1 if mode == "linear" else 2) / shrink)
    steps = np.arange(-reach, reach + 1)
    places = np.floor(at)[:, None] + steps
    distance = np.abs(at[:, None] - places) * shrink
    weights = _linear(distance) if mode == "linear" else _cubic(
        distance, call.get("cubic_coeff_a", -0.75))
    if call.get("exclude_outside"):
        weights = np.where((places < 0) | (places > n - 1), 0, weights)
    total = weights.sum(1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    matrix = np.zeros((len(at), n))
    rows = np.broadcast_to(np.arange(len(at))[:, None], places.shape)
    np.add.at(matrix, (rows, np.clip(places, 0, n - 1).astype(np.int64)), weights)
    return matrix


def _linear(d: Any) -> Any:
    return np.maximum(1 - d, 0)


def _cubic(d: Any, a: float) -> Any:
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))
