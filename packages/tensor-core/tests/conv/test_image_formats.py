"""Pools and resized images whose channels lie side by side give what contiguous ones give."""

from __future__ import annotations

import math

import pytest

import flambeau as fb
from flambeau.core import ops

CHANNELS = (1, 3, 8, 17, 128, 130)
WINDOWS = ((2, 2, 0), (3, 2, 1), (3, 1, 1), (5, 5, 0), (4, 3, 2))


def _pair(dtype, *shape):
    fb.manual_seed(5)
    x = (fb.randn(shape) * 8).to(dtype)
    if dtype.is_floating_point:
        x[0, 0, 1, 1], x[-1, -1, -1, -1] = math.nan, math.inf
    last = fb.channels_last if len(shape) == 4 else fb.channels_last_3d
    return x, x.to(memory_format=last)


def _same(a, b, tolerance=0.0):
    assert b.is_contiguous(memory_format=fb.channels_last if b.ndim == 4 else fb.channels_last_3d)
    assert fb.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.fixture(params=(1, 2))
def _threads(request):
    before = fb.get_num_threads()
    fb.set_num_threads(request.param)
    yield
    fb.set_num_threads(before)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("dtype", (fb.float32, fb.float64, fb.bfloat16, fb.int64))
def test_means_over_windows(dtype, channels):
    for batch in (1, 3):
        x, images = _pair(dtype, batch, channels, 13, 11)
        for size, stride, padding in WINDOWS:
            for args in ((), (False, False), (True, True), (False, True, 3)):
                call = (size, stride, padding, *args)
                _same(ops.avg_pool2d(x, *call), ops.avg_pool2d(images, *call))
        if dtype.is_floating_point:
            for size in (1, 3, 7, (2, 9)):
                _same(ops.adaptive_avg_pool2d(x, size), ops.adaptive_avg_pool2d(images, size), 1e-2
                      if dtype == fb.bfloat16 else 1e-5)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("channels", CHANNELS[1:])
@pytest.mark.parametrize("dtype", (fb.float32, fb.float64, fb.bfloat16))
def test_resized_images(dtype, channels):
    for batch in (1, 3):
        x, images = _pair(dtype, batch, channels, 9, 7)
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
            for size in ((18, 14), (5, 4), (9, 7), (20, 3)):
                _same(ops.interpolate(x, size, mode=mode), ops.interpolate(images, size, mode=mode))
        _same(ops.interpolate(x, (5, 5), mode="bilinear", antialias=True),
              ops.interpolate(images, (5, 5), mode="bilinear", antialias=True))
        x, images = _pair(dtype, batch, channels, 3, 5, 4)
        for mode in ("nearest", "trilinear"):
            _same(ops.interpolate(x, (6, 5, 3), mode=mode), ops.interpolate(images, (6, 5, 3),
                                                                         mode=mode))


@pytest.mark.parametrize("mode", ("nearest", "bilinear", "bicubic"))
def test_gradients_of_resized_images(mode):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x, images = _pair(fb.float32, 3, 5, 9, 7)
    grad = fb.randn(3, 5, 18, 14)
    got = []
    for t, g in ((x, grad), (images, grad.to(memory_format=fb.channels_last))):
        t.requires_grad_()
        got += fb.autograd.grad(ops.interpolate(t, (18, 14), mode=mode), t, g)
    assert fb.allclose(got[0], got[1], rtol=0, atol=0)
