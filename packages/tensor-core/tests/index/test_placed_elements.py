"""masked_scatter for masks of every length and share, and nothing written beside."""

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
    count = int(mask.sum())
    for dtype in DTYPES:
        x = (fb.randn(n + 2) * 9).to(dtype)
        for spare in (0, 1, 40):
            source = (fb.randn(count + spare) * 9).to(dtype)
            taken = iter(source.tolist())
            wanted = [next(taken) if held else e for e, held in
                      zip(x[1:-1].tolist(), mask.tolist(), strict=True)]
            assert x[1:-1].masked_scatter(mask, source).tolist() == wanted
            own = x.clone()
            own[1:-1].masked_scatter_(mask, source)
            assert own[1:-1].tolist() == wanted
            assert fb.equal(own[:1], x[:1]) and fb.equal(own[-1:], x[-1:])
    if count:
        with pytest.raises(RuntimeError, match="true elements"):
            fb.zeros(n).masked_scatter(mask, fb.ones(count - 1))
