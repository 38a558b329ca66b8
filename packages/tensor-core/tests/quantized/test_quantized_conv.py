"""Convolutions of integers: bit for bit what integers of 64 bits give, rounded once."""
from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import flambeau
from flambeau.core import ops
from flambeau.core.quantized.packing import Layout
from flambeau.testing.reference.quantized import quantized_conv as by_hand

F32 = np.float32


def exact(x, weight, stride, padding, dilation, groups, zero):
    """Sums of ``(x - zero) * weight`` in int64, tap by tap."""
    n = weight.ndim - 2
    sides = [(0, 0), (0, 0), *((p, p) for p in padding)]
    wide = np.pad(x.astype(np.int64), sides, constant_values=zero)
    counts = [(s - d * (k - 1) - 1) // t + 1 for s, k, d, t in zip(
        wide.shape[2:], weight.shape[2:], dilation, stride, strict=True)]
    found = np.zeros((x.shape[0], weight.shape[0], *counts), np.int64)
    outputs, channels = weight.shape[0] // groups, weight.shape[1]
    for tap in np.ndindex(*weight.shape[2:]):
        where = tuple(slice(t * d, t * d + (c - 1) * s + 1, s)
                      for t, d, c, s in zip(tap, dilation, counts, stride, strict=True))
        met = wide[(..., *where)].astype(np.int64) - zero
        for g in range(groups):
            rows = weight[(slice(g * outputs, (g + 1) * outputs), slice(None), *tap)]
            found[:, g * outputs:(g + 1) * outputs] += np.einsum(
                "nc...,oc->no...", met[:, g * channels:(g + 1) * channels], rows.astype(np.int64))
    assert found.ndim == n + 2
    return found


def requantized(sums, one, bias, scale, zero, low, relu):
    n = sums.ndim - 2
    value = sums.astype(F32)
    if bias is not None:
        value = value + (bias / one).reshape(-1, *[1] * n)
    value = np.rint(value * (one / F32(scale)).reshape(-1, *[1] * n)) + F32(zero)
    return np.clip(value, max(low, zero) if relu else low, low + 255)


class Case:
    """Operands of one convolution, from a seed."""

    def __init__(self, seed, n=2, *, channels=None, kernel=None, batch=None):
        rng = self.rng = np.random.default_rng(seed)
        self.groups = int(rng.choice([1, 1, 1, 2, 3, 5, 70]))
        wide = self.groups == 70
        self.channels = channels or int(rng.integers(1, 3 if wide else 20))
        each = int(rng.choice([1, 1, 2] if wide else [1, 1, 3, 16, 33, 70]))
        self.outputs = self.groups * each
        self.kernel = kernel or tuple(int(v) for v in rng.integers(1, 5, n))
        self.stride, self.dilation = ([int(v) for v in rng.integers(1, top, n)] for top in (4, 3))
        self.padding = [int(v) for v in rng.integers(0, 3, n)]
        sizes = [max(d * (k - 1) + 1 - 2 * p, 1) + int(rng.integers(0, 12 if n == 2 else 4))
                 for d, k, p in zip(self.dilation, self.kernel, self.padding, strict=True)]
        self.low = int(rng.choice([0, -128]))
        self.dtype = np.int8 if self.low else np.uint8
        batch = int(rng.integers(1, 4)) if batch is None else batch
        self.x = rng.integers(self.low, self.low + 256, (batch, self.groups * self.channels,
                                                         *sizes)).astype(self.dtype)
        self.weight = rng.integers(-128, 128, (self.outputs, self.channels, *self.kernel)
                                   ).astype(np.int8)
        self.zero, self.out_zero = (int(rng.choice([self.low, self.low + 255, self.low + 77]))
                                    for _ in range(2))
        self.scales = (rng.random(self.outputs) * 0.01 + 1e-3).astype(F32)
        self.bias = rng.standard_normal(self.outputs).astype(F32) if seed % 3 else None
        self.relu, self.scale = bool(seed % 2), 0.02 * self.channels * len(self.kernel)

    def layout(self):
        return Layout(self.outputs, self.channels, self.kernel, self.groups, self.dilation[-1])

    def arguments(self, x=None):
        t = flambeau.from_numpy
        weight = t(self.weight)
        sums = weight.long().sum(tuple(range(1, weight.ndim))).int()
        return [t(self.x) if x is None else x, self.layout().pack(weight), sums, t(self.scales),
                None if self.bias is None else t(self.bias), self.kernel, self.stride,
                self.padding, self.dilation, self.groups, 0.5, self.zero, self.scale,
                self.out_zero, self.relu]

    def wanted(self):
        sums = exact(self.x, self.weight, self.stride, self.padding, self.dilation, self.groups,
                     self.zero)
        return requantized(sums, F32(0.5) * self.scales, self.bias, self.scale, self.out_zero,
                           self.low, self.relu)


def check(case, x=None):
    got = ops.quantized_conv(*case.arguments(x))
    wanted = case.wanted()
    assert got.shape == wanted.shape and got.numpy().dtype == case.dtype
    np.testing.assert_array_equal(got.numpy(), wanted)
    return got


@pytest.mark.parametrize("seed", range(150))
def test_planes(seed):
    check(Case(seed))


@pytest.mark.parametrize("seed", range(40))
def test_blocks(seed):
    check(Case(seed, 3))


@pytest.mark.parametrize("seed", range(40))
def test_layouts_of_the_input(seed):
    case = Case(seed)
    x = flambeau.from_numpy(case.x)
    apart = flambeau.from_numpy(np.repeat(case.x, 2, 1))[:, ::2]
    for each in (x.contiguous(memory_format=flambeau.channels_last), apart,
                 x.transpose(2, 3).contiguous().transpose(2, 3), x.flip(3).flip(3)):
        check(case, each)
    x = flambeau.from_numpy(np.ascontiguousarray(case.x[:1])).expand(3, -1, -1, -1)
    case.x = x.numpy()
    check(case, x)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e-6])
def test_steps_that_no_integer_holds(seed, scale):
    case = Case(seed)
    case.scale = scale
    check(case)


@pytest.mark.parametrize("n", [2, 3])
def test_without_a_batch_and_of_no_images(n):
    case = Case(7, n)
    whole = ops.quantized_conv(*case.arguments())
    one = ops.quantized_conv(*case.arguments(flambeau.from_numpy(case.x[0])))
    assert flambeau.equal(one, whole[0])
    assert check(Case(7, n, batch=0)).numel() == 0


def test_results_lie_with_channels_side_by_side():
    got = ops.quantized_conv(*Case(1).arguments())
    assert got.is_contiguous(memory_format=flambeau.channels_last)


@pytest.mark.parametrize("channels", [7000, 65_793])
@pytest.mark.parametrize("ends", [(0, 127), (0, -128), (255, -128), (255, 127)])
def test_the_greatest_sums(channels, ends):
    """Where pairs of products would not fit into 16 bits, and all of them just into 32."""
    zero, weight = ends
    case = Case(3, channels=channels, kernel=(1, 1))
    case.groups, case.outputs = 1, 3
    case.x = np.full((2, channels, 3, 3), 255 - zero, np.uint8)
    case.weight = np.full((3, channels, 1, 1), weight, np.int8)
    case.scales, case.bias = np.ones(3, F32), None
    case.low, case.dtype, case.zero, case.out_zero = 0, np.uint8, zero, 128
    case.padding, case.scale, case.relu = [0, 0], 2.0 ** 24, False
    check(case)


@pytest.mark.parametrize("seed", range(30))
def test_weights_are_unpacked_as_they_were(seed):
    case = Case(seed, 2 + seed % 2)
    weight = flambeau.from_numpy(case.weight)
    assert flambeau.equal(case.layout().unpack(case.layout().pack(weight)), weight)


def test_every_level_of_instructions_and_number_of_threads_gives_the_same_bits():
    program = ("import sys; sys.path[:0] = [{!r}]; import test_quantized_conv as t, flambeau;"
               "flambeau.set_num_threads({});"
               "[t.check(t.Case(seed, n)) for seed in range(60) for n in (2, 3)]")
    for level, threads in (("", 2), ("v2", 1), ("v3", 2)):
        subprocess.run([sys.executable, "-c", program.format(os.path.dirname(__file__), threads)],
                       check=True, env=os.environ | {"FLAMBEAU_ISA": level})


def test_the_reference_is_independent():
    case = Case(5)
    arguments = [a.numpy() if isinstance(a, flambeau.Tensor) else a for a in case.arguments()]
    np.testing.assert_array_equal(by_hand(*arguments), case.wanted())


@pytest.mark.parametrize("position,value,error", [
    (0, flambeau.zeros(1, 4, 8, 8), "input must be uint8 or int8, got float32"),
    (0, flambeau.zeros(8, dtype=flambeau.uint8), "input has shape"),
    (1, flambeau.zeros(3, dtype=flambeau.int8), "weight must be int8 in 512 elements"),
    (2, flambeau.zeros(6), "sums must be 6 numbers of int32"),
    (3, flambeau.zeros(5), "scales must be 6 numbers of float32"),
    (4, flambeau.zeros(7), "bias must be 6 numbers of float32"),
    (5, (2,), "kernel_size must have 2 or 3 numbers, got 1"),
    (5, (20, 2), "the kernel covers"),
    (9, 0, "1 group or more"),
    (9, 4, "divide the number of output channels"),
    (11, 256, "input_zero is 256, and integers of uint8 reach from 0 to 255"),
    (13, -1, "zero_point is -1, and integers of uint8 reach from 0 to 255"),
])
def test_what_does_not_fit_is_refused(position, value, error):
    arguments = [flambeau.zeros(1, 4, 8, 8, dtype=flambeau.uint8),
                 flambeau.zeros(512, dtype=flambeau.int8), flambeau.zeros(6, dtype=flambeau.int32),
                 flambeau.ones(6), None, (2, 2), 1, 0, 1, 1, 1.0, 0, 1.0, 0, False]
    ops.quantized_conv(*arguments)
    arguments[position] = value
    with pytest.raises((RuntimeError, TypeError, ValueError), match=error):
        ops.quantized_conv(*arguments)


def test_windows_whose_sums_could_overflow_are_refused():
    case = Case(3, channels=65_794, kernel=(1, 1))
    case.groups, case.outputs = 1, 1
    case.x = np.zeros((1, 65_794, 1, 1), np.uint8)
    case.weight, case.bias = np.zeros((1, 65_794, 1, 1), np.int8), None
    case.scales, case.zero, case.padding = np.ones(1, F32), 0, [0, 0]
    with pytest.raises(ValueError, match="at most 65793 elements"):
        ops.quantized_conv(*case.arguments())


@pytest.mark.parametrize("n", [2, 3])
def test_borders_too_wide_for_memory_are_refused(n):
    x = flambeau.zeros(1, 40, *[8] * n, dtype=flambeau.uint8)
    weight, one = flambeau.zeros(10 * 2**n * 128, dtype=flambeau.int8), flambeau.ones(6)
    rest = (1, 1, 1.0, 0, 1.0, 0, False)
    wide = (1 << 29,) * 2 + (0,) * (n - 2)
    for stride in (wide[:2] + (1,) * (n - 2), 1):
        with pytest.raises((MemoryError, RuntimeError)):
            ops.quantized_conv(x, weight, flambeau.zeros(6, dtype=flambeau.int32), one, None,
                               (2,) * n, stride, wide, *rest)
