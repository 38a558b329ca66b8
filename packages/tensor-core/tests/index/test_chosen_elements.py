"""Positions and elements where a mask holds, of every length and share."""

from __future__ import annotations

import pytest

import flambeau as fb

LENGTHS = (0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1000, 40000)
DTYPES = (fb.bool, fb.uint8, fb.bfloat16, fb.float32, fb.float64, fb.int64, fb.complex128)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("share", (0.0, 0.01, 0.5, 0.99, 1.0))
def test_against_python(n, share):
    fb.manual_seed(n)
    mask = fb.rand(n) < share
    wanted = [i for i, held in enumerate(mask.tolist()) if held]
    assert mask.nonzero().flatten().tolist() == wanted
    odd = mask.view(fb.uint8) * 255
    assert odd.nonzero().flatten().tolist() == wanted
    for dtype in DTYPES:
        x = (fb.randn(n + 1) * 9).to(dtype)
        elements = x.tolist()
        for first in (0, 1):
            chosen = x[first:first + n].masked_select(mask)
            assert chosen.tolist() == [elements[first + i] for i in wanted]
            guarded = fb.full((len(wanted) + 3,), 1, dtype=dtype)
            fb.masked_select(x[first:first + n], mask, out=guarded[1:-2])
            assert guarded[0].item() == 1 and guarded[-2:].tolist() == [1, 1]
            assert fb.equal(guarded[1:-2], chosen)


@pytest.mark.parametrize("shape", ((1, 1), (3, 1), (1, 3), (5, 7), (40, 33), (400, 101), (2000, 3),
                                   (9, 1, 130), (7, 5, 64, 3), (2, 1, 3, 1, 500), (3, 20000),
                                   (0, 4), (4, 0), (2, 0, 3)))
@pytest.mark.parametrize("share", (0.0, 0.003, 0.5, 1.0))
def test_coordinates(shape, share):
    fb.manual_seed(len(shape))
    mask = fb.rand(shape) < share
    numbers = [i for i, held in enumerate(mask.flatten().tolist()) if held]
    wanted = fb.tensor(numbers, dtype=fb.int64)
    columns = []
    for size in shape[::-1]:
        columns.append(wanted % size if size else wanted)
        wanted = wanted // size if size else wanted
    wanted = fb.stack(columns[::-1], 1)
    assert fb.equal(mask.nonzero(), wanted)
    assert fb.equal(mask.mT.contiguous().mT.nonzero(), wanted)
    assert fb.equal((mask * 3.5).nonzero(), wanted)
    for got, column in zip(mask.nonzero(as_tuple=True), wanted.unbind(1), strict=True):
        assert fb.equal(got, column)
