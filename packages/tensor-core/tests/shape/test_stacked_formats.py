"""Stacks of tensors in a memory format keep it."""

from __future__ import annotations

import pytest

import flambeau as fb

IMAGES = (8, 4, 6, 5)


def _joined(x, dim, count):
    """The strides of a join along the next dimension, which is then split."""
    whole = fb.cat([x] * count, dim)
    return whole.unflatten(dim, (count, x.shape[dim])).stride()


@pytest.mark.parametrize("shape", (IMAGES, (2, 3, 4, 5, 6)))
@pytest.mark.parametrize("count", (1, 2, 5))
def test_formats(shape, count):
    last = fb.channels_last if len(shape) == 4 else fb.channels_last_3d
    x = fb.randn(shape).to(memory_format=last)
    parts = [x + i for i in range(count)]
    for dim in range(len(shape)):
        stacked = fb.stack(parts, dim)
        assert stacked.stride() == _joined(x, dim, count)
        for i, part in enumerate(parts):
            assert fb.equal(stacked.select(dim, i), part)
    assert fb.stack(parts, -1).is_contiguous()


def test_others_are_contiguous():
    x = fb.randn(IMAGES)
    last = x.to(memory_format=fb.channels_last)
    for dim in range(2):
        assert fb.stack([x, x], dim).is_contiguous()
        assert fb.stack([last, x], dim).is_contiguous()
        assert fb.equal(fb.stack([last, x], dim).select(dim, 0), x)
    assert fb.cat([last[None], last[None].expand(3, -1, -1, -1, -1)]).is_contiguous()
