"""Every dtype to every other, from memory of every layout, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
LAYOUTS = {
    "contiguous": lambda x: x,
    "rows apart": lambda x: x[:, :13],
    "transposed": lambda x: x.swapaxes(0, 1),
    "every second": lambda x: x[:, ::2],
    "every third": lambda x: x[1:, ::3],
    "every second row, transposed": lambda x: x[::2].swapaxes(0, 1),
    "longer than a tile": lambda x: x.reshape(-1)[::2],
}


def _numbers(dtype):
    """Small integers, which every dtype holds but bool: 130 x 41, longer than several tiles."""
    values = np.arange(130 * 41).reshape(130, 41) * 7 % 120
    return values.astype(dtype)


def _astype(x, dtype):
    real = x.real if dtype[:7] != "complex" and dtype != "bool" else x
    return real.astype(dtype)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_read(source, layout):
    numbers = _numbers(source)
    tensor, view = flambeau.from_numpy(numbers), LAYOUTS[layout](numbers)
    for target in DTYPES:
        result = LAYOUTS[layout](tensor).to(getattr(flambeau, target))
        np.testing.assert_array_equal(result.numpy(), _astype(view, target), err_msg=target)


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_written(target, layout):
    for source in DTYPES:
        expected, tensor = (
            np.ones((130, 41), target),
            flambeau.ones(130, 41).to(getattr(flambeau, target)),
        )
        numbers = np.ascontiguousarray(LAYOUTS[layout](_numbers(source)))
        LAYOUTS[layout](tensor).copy_(flambeau.from_numpy(numbers))
        LAYOUTS[layout](expected)[...] = _astype(numbers, target)
        np.testing.assert_array_equal(tensor.numpy(), expected, err_msg=source)


@pytest.mark.parametrize("source", DTYPES)
def test_promoted_and_broadcast(source):
    """Operands of a pointwise operator, read by the tile in another dtype than that of memory."""
    numbers = _numbers(source)
    row = np.linspace(0, 1, 41)
    wide = numbers.astype("complex128" if source.startswith("complex") else "float64")
    tensor = flambeau.from_numpy(numbers)
    column = flambeau.from_numpy(np.ascontiguousarray(numbers[:, :1]))
    result = column + flambeau.from_numpy(row)
    np.testing.assert_array_equal(result.numpy(), wide[:, :1] + row)
    result = tensor.swapaxes(0, 1) + flambeau.from_numpy(row).reshape(41, 1)
    np.testing.assert_array_equal(result.numpy(), wide.T + row[:, None])
