"""Sizes near 2**63: an error that says what overflowed, never a wrong count or a crash."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.core import ops

MOST = 2 ** 63 - 1
LEAST = -2 ** 63
ONE = flambeau.ones(())
X = flambeau.ones(3)
M = flambeau.ones(3, 3)
IMAGE = flambeau.ones(1, 1, 3, 3)
KERNEL = flambeau.ones(1, 1, 1, 1)


def wide(*shape):
    """An expanded tensor: any number of elements in 4 bytes."""
    return ONE.expand(shape)


COUNT = "numel: integer multiplication overflow"
BYTES = "Storage size calculation overflowed"
WINDOW = "height and width with their padding at most"

REFUSED = {
    "empty": (lambda: flambeau.empty(2 ** 62), BYTES),
    "empty_square": (lambda: flambeau.empty(2 ** 32, 2 ** 32), BYTES),
    "empty_of_none": (lambda: flambeau.empty(0, 2 ** 62, 2 ** 62), BYTES),
    "empty_meta": (lambda: flambeau.empty(2 ** 31, 2 ** 31, 4, device="meta"), BYTES),
    "empty_strided": (lambda: flambeau.empty_strided([MOST, MOST], [1, MOST]), COUNT),
    "arange": (lambda: flambeau.arange(0, MOST, 1), BYTES),
    "linspace": (lambda: flambeau.linspace(0, 1, MOST), BYTES),
    "eye": (lambda: flambeau.eye(MOST, MOST), BYTES),
    "one_hot": (lambda: ops.one_hot(flambeau.tensor([0, 1]), MOST), BYTES),
    "expand": (lambda: wide(MOST, MOST, 3), r"expand\(\): " + COUNT),
    "as_strided": (lambda: X.as_strided([MOST, MOST], [0, 0]), COUNT),
    "as_strided_offset": (lambda: X.as_strided([3], [1], MOST), "reach outside the storage"),
    "as_strided_reach": (lambda: X.as_strided([2, 2], [MOST, MOST]), "reach outside the storage"),
    "view": (lambda: flambeau.empty(0).view(0, MOST, MOST), r"view\(\): " + COUNT),
    "view_hole": (lambda: X.view(MOST, MOST, -1), r"view\(\): " + COUNT),
    "reshape": (lambda: X.reshape([1, LEAST, -7]), "invalid shape dimension -9223372036854775808"),
    "repeat": (lambda: X.repeat([MOST, 3]), COUNT),
    "narrow": (lambda: X.narrow(0, LEAST, 2), "start out of range"),
    "contiguous": (lambda: wide(MOST).contiguous(), BYTES),
    "broadcast": (lambda: wide(MOST, 1) + wide(1, MOST), r"add\(\): " + COUNT),
    "outer_product": (lambda: wide(MOST, 1) @ wide(1, MOST), BYTES),
    "cat": (lambda: flambeau.cat([wide(MOST), wide(MOST)]), "add up to more than 64 bits"),
    "conv2d_kernel": (lambda: ops.conv2d(IMAGE, wide(1, 1, MOST, 1), dilation=2 ** 31 - 1), WINDOW),
    "conv2d_padding": (lambda: ops.conv2d(IMAGE, KERNEL, padding=2 ** 30), WINDOW),
    "conv2d_groups": (lambda: ops.conv2d(IMAGE, flambeau.ones(0, 2, 1, 1), groups=MOST),
                      "more input channels than 64 bits"),
    "conv2d_input_grad": (lambda: ops.conv2d_input_grad(IMAGE, KERNEL, [1, 1, MOST, MOST]), WINDOW),
    "conv2d_negative_size": (lambda: ops.conv2d_input_grad(IMAGE, KERNEL, [1, 1, -5, 3]), WINDOW),
    "max_pool2d": (lambda: ops.max_pool2d(IMAGE, 2 ** 31 - 1, padding=2 ** 30 - 1), WINDOW),
    "adaptive_avg_pool2d": (lambda: ops.adaptive_avg_pool2d(IMAGE, [2 ** 62]), "less than 2"),
    "adaptive_avg_pool2d_of_none": (lambda: ops.adaptive_avg_pool2d(IMAGE[..., :0], [2]),
                                    "only the batch may be empty"),
    "conv_transpose2d": (lambda: ops.conv_transpose2d(IMAGE, KERNEL, None, 2 ** 31 - 1),
                         "less than 2\\*\\*31"),
    "conv_transpose2d_stride": (lambda: ops.conv_transpose2d(IMAGE, KERNEL, None, 2 ** 40),
                                "1 or more|2\\*\\*31"),
    "adaptive_max_pool2d": (lambda: ops.adaptive_max_pool2d(IMAGE, 2 ** 31), "less than 2"),
    "adaptive_mean": (lambda: ops.adaptive_mean(IMAGE, 0, MOST), COUNT + "|" + BYTES),
    "im2col": (lambda: ops.im2col(wide(1, 2 ** 40, 1, 1), 2 ** 20, 1, 2 ** 20), COUNT),
    "col2im": (lambda: ops.col2im(M, [MOST, MOST], 1), "1 or more|2\\*\\*31"),
    "max_pool2d_input": (lambda: ops.max_pool2d(wide(1, 1, MOST, 1), 1), WINDOW),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name):
    call, text = REFUSED[name]
    with pytest.raises((RuntimeError, IndexError), match=text):
        call()


@pytest.mark.parametrize("call", [
    lambda: wide(2 ** 61).argsort(), lambda: wide(2 ** 62).to(flambeau.int64),
    lambda: wide(2 ** 61).flip(0), lambda: wide(2 ** 60).sort(),
])
def test_memory_that_no_machine_has_is_refused(call):
    with pytest.raises((MemoryError, RuntimeError)):
        call()


def test_what_fits_works():
    assert wide(MOST).numel() == MOST
    assert X[::MOST].tolist() == [1.0]
    assert X[::MOST].stride() == (MOST,)
    assert X.unfold(0, 1, MOST).shape == (1, 1)
    assert X.as_strided([1], [MOST]).unsqueeze(0).shape == (1, 1)
    assert M.diagonal(MOST).shape == (0,)
    assert M.diagonal(LEAST).shape == (0,)


def test_diagonals_far_outside_keep_or_clear_everything():
    zero = flambeau.zeros(3, 3)
    assert flambeau.equal(M.triu(MOST), zero)
    assert flambeau.equal(M.tril(LEAST), zero)
    assert flambeau.equal(M.tril(MOST), M)
    assert flambeau.equal(M.triu(LEAST), M)
