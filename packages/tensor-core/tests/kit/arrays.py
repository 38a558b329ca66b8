"""Test data as NumPy arrays, and their way into Flambeau and PyTorch."""

from __future__ import annotations

import numpy

import flambeau

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
          "bfloat16", "float16", "float32", "float64", "complex64", "complex128")
INTEGERS = DTYPES[1:9]
FLOATS = ("bfloat16", "float16", "float32", "float64")
KIND = {"bool": "bool", **dict.fromkeys(INTEGERS, "int"), **dict.fromkeys(FLOATS, "float"),
        "complex64": "complex", "complex128": "complex"}

#: Shapes that meet vector tails, scalars, single elements and nothing at all.
SHAPES = ((2, 3, 37), (), (1,), (0, 3))

LAYOUTS = ("contiguous", "strided", "transposed", "shifted")


def carrier(dtype: str) -> str:
    """The NumPy dtype that holds values of this dtype exactly."""
    return "float32" if dtype == "bfloat16" else dtype


def make(shape, dtype: str = "float32", domain=(-3.0, 3.0), seed: int = 0) -> numpy.ndarray:
    """Numbers of a dtype, from an interval that integers widen to integers."""
    rng = numpy.random.default_rng([seed, *numpy.atleast_1d(shape).astype(int)])
    kind = KIND[dtype]
    if kind == "bool":
        return numpy.asarray(rng.random(shape) < 0.5)
    if kind == "int":
        low = 0 if dtype.startswith("uint") else -7
        return numpy.asarray(rng.integers(low, 9, shape), dtype=dtype)
    real = rng.uniform(*domain, shape)
    if kind == "complex":
        return numpy.asarray(real + 1j * rng.uniform(*domain, shape), dtype=dtype)
    return narrow(numpy.asarray(real, dtype=carrier(dtype)), dtype)


def narrow(array: numpy.ndarray, dtype: str) -> numpy.ndarray:
    """Values that the dtype holds exactly (bfloat16: the upper half of float32)."""
    if dtype != "bfloat16":
        return array
    bits = numpy.atleast_1d(array).view(numpy.uint32) & numpy.uint32(0xFFFF0000)
    return bits.view(numpy.float32).reshape(array.shape)


def tensor(array: numpy.ndarray, dtype: str | None = None, lib=flambeau):
    """An array as a tensor with memory of its own."""
    made = lib.from_numpy(numpy.array(array, order="C"))
    return made.to(getattr(lib, dtype)) if dtype else made


def lay_out(x, layout: str, lib=flambeau):
    """The same values with other strides or another offset."""
    if layout == "contiguous" or x.ndim == 0:
        return x
    if layout == "transposed":
        order = tuple(range(x.ndim))[::-1]
        return x.permute(order).contiguous().permute(order)
    if layout == "shifted":
        room = lib.empty(x.numel() + 3, dtype=x.dtype)
        y = room[3:].view(tuple(x.shape))
    else:
        room = lib.empty([2 * n + 1 for n in x.shape], dtype=x.dtype)
        y = room[tuple(slice(1, None, 2) for _ in x.shape)]
    y.copy_(x)
    return y


def values(x) -> numpy.ndarray:
    """A tensor of either library as an array (bfloat16 widened)."""
    if str(x.dtype).endswith("bfloat16"):
        x = x.float()
    return x.detach().numpy()


def name_of(x) -> str:
    """Name of a tensor's dtype in either library."""
    return str(x.dtype).split(".")[-1]
