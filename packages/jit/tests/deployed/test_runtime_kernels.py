"""What the runtime prepares when it loads: packed weights, and operators done to results as they
are made. Bits are those of each operator by itself, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from runtime import RuntimeProgram, open_library

import flambeau as fl
from flambeau import jit
from flambeau.core import ops
from flambeau.jit import bridge

LIBRARY = open_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")


HALF, ONE = fl.tensor(0.5), fl.ones(1, 1, 1)


@pytest.fixture(params=[1, 2, 3])
def threads(request: Any) -> Any:
    LIBRARY.flambeau_set_threads(request.param)
    yield request.param
    LIBRARY.flambeau_set_threads(1)


def check(tmp_path: Any, fn: Callable[..., Any], *given: Any, **settings: Any) -> RuntimeProgram:
    """Run a function's program in the runtime, twice, and the function by itself."""
    with bridge.no_grad():
        program = jit.trace(fn, given, **settings)
        expected = fn(*given)
    jit.freeze(program, optimize_numerics=False).save(tmp_path / "a.program")
    runtime = RuntimeProgram(LIBRARY, tmp_path / "a.program")
    for _ in range(2):
        [result] = runtime(*given)
        assert result.shape == expected.shape
        assert bridge.same_bits(result, expected)
    return runtime


# channels in and out, image, window, stride, padding, dilation, groups, images
CONVOLUTIONS = [
    (16, 16, (7, 7), (3, 3), 1, 1, 1, 1, 1),
    (8, 17, (9, 5), (3, 3), 1, 1, 1, 1, 2),
    (31, 33, (6, 11), (3, 3), 2, 1, 1, 1, 1),
    (13, 40, (12, 12), (3, 2), (2, 1), (0, 1), (1, 2), 1, 3),
    (4, 64, (19, 21), (7, 7), 2, 3, 1, 1, 1),
    (40, 16, (1, 1), (3, 3), 1, 1, 1, 1, 1),
    (64, 48, (17, 17), (3, 3), 1, 0, 2, 1, 1),
    (64, 96, (8, 8), (3, 3), 1, 1, 1, 2, 1),
    (48, 60, (8, 8), (3, 3), 1, 2, 1, 3, 2),
    (300, 16, (5, 5), (1, 1), 2, 0, 1, 1, 1),
    (128, 130, (4, 4), (3, 3), 1, 1, 1, 1, 5),
    (7, 15, (4, 4), (5, 5), 1, 9, 1, 1, 1),
    (20, 32, (23, 25), (3, 3), 1, 1, 1, 1, 4),
    (6, 32, (30, 300), (4, 4), 3, 2, 1, 1, 1),
    (300, 30, (7, 7), (3, 3), 1, 1, 1, 1, 1),
    (257, 45, (13, 14), (3, 3), 1, 1, 1, 1, 1),
    (140, 64, (9, 9), (3, 3), 1, 0, 1, 1, 7),
    (70, 48, (9, 11), (1, 1), 2, 0, 1, 1, 2),
    (16, 32, (30, 300), (4, 4), 3, 2, 1, 1, 1),
    (40, 48, (40, 41), (3, 3), 2, 1, 1, 1, 3),
    (32, 64, (5, 6), (3, 3), (1, 2), 2, 2, 2, 40),
    (140, 96, (30, 33), (1, 1), (3, 2), 1, 1, 2, 1),
    (64, 70, (33, 31), (3, 3), 2, 1, 1, 1, 1),
]


def operands(sizes: Any, bias: bool, seed: int) -> tuple[Any, Any, Any, Any]:
    c, o, image, window, stride, padding, dilation, groups, n = sizes
    fl.manual_seed(seed)
    x, w = fl.randn(n, c, *image), fl.randn(o, c // groups, *window)
    settings = (stride, padding, dilation, groups)
    return x, w, fl.randn(o) if bias else None, settings


@pytest.mark.parametrize("sizes", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_convolutions(tmp_path: Any, threads: int, sizes: Any, bias: bool) -> None:
    x, w, b, settings = operands(sizes, bias, 1)
    check(tmp_path, lambda x: ops.conv2d(x, w, b, *settings), x)


@pytest.mark.parametrize("sizes", CONVOLUTIONS[::3], ids=str)
@pytest.mark.parametrize("tail", ["relu", "residual", "residual relu", "twice", "gelu",
                                  "of itself", "numbers", "one element"])
def test_what_follows_a_convolution(tmp_path: Any, threads: int, sizes: Any, tail: str) -> None:
    x, w, b, settings = operands(sizes, True, 2)
    residual = fl.randn(*ops.conv2d(x, w, b, *settings).shape)

    def fn(x: Any, residual: Any) -> Any:
        y = ops.conv2d(x, w, b, *settings)
        if tail == "residual":
            return residual + y
        if tail == "residual relu":
            return (y + residual).relu()
        if tail == "twice":
            return (y.relu() * residual - y).tanh()
        if tail == "of itself":
            return y * y
        if tail == "numbers":
            return y * (2 * y + 3).clamp(0, 6) / 6 - 1
        if tail == "one element":
            return (HALF * y + ONE) * (y + HALF).clamp(min=0) / residual
        return y.relu() if tail == "relu" else ops.gelu(y + residual * 0)

    check(tmp_path, fn, x, residual)


@pytest.mark.parametrize("special", [float("nan"), float("inf"), -float("inf"), -0.0, 1e38])
def test_special_numbers(tmp_path: Any, threads: int, special: float) -> None:
    x, w, b, settings = operands(CONVOLUTIONS[0], True, 3)
    x[0, 3, 2, 5] = special
    w[2, 1, 0, 0] = special
    check(tmp_path, lambda x: ops.conv2d(x, w, b, *settings).relu(), x)


def test_sizes_that_vary(tmp_path: Any, threads: int) -> None:
    x, w, b, settings = operands(CONVOLUTIONS[0], True, 4)
    runtime = check(tmp_path, lambda x: ops.conv2d(x, w, b, *settings).relu(), x,
                    dynamic={0: {0: "N", 2: "H", 3: "W"}})
    for shape in ((3, 16, 4, 9), (1, 16, 40, 40), (2, 16, 1, 1)):
        other = fl.randn(*shape)
        [result] = runtime(other)
        assert bridge.same_bits(result, ops.conv2d(other, w, b, *settings).relu())


def test_one_weight_of_several_convolutions(tmp_path: Any) -> None:
    fl.manual_seed(5)
    x, w = fl.randn(1, 32, 6, 6), fl.randn(64, 16, 3, 3)
    check(tmp_path, lambda x: ops.conv2d(x, w, None, 1, 1, 1, 2).sum(1, keepdim=True)
          + ops.conv2d(x[:, :16], w, None, 1, 1), x)


def test_a_weight_that_is_written_to(tmp_path: Any) -> None:
    fl.manual_seed(6)
    x, w = fl.randn(1, 16, 6, 6), fl.randn(16, 16, 3, 3)
    before = w.clone()

    def step(x: Any) -> Any:
        y = ops.conv2d(x, w, None, 1, 1)
        w.mul_(0.5)
        return y

    with bridge.no_grad():
        jit.trace(step, x).save(tmp_path / "a.program")
    w.copy_(before)
    runtime = RuntimeProgram(LIBRARY, tmp_path / "a.program")
    first, second = runtime(x)[0], runtime(x)[0]
    assert bridge.same_bits(second, first * 0.5)


@pytest.mark.parametrize("m", [1, 3, 16, 17, 33, 64, 70])
@pytest.mark.parametrize("n", [1, 7, 16, 40, 100, 384])
@pytest.mark.parametrize("k", [3, 64, 300])
def test_linear_layers(tmp_path: Any, threads: int, m: int, n: int, k: int) -> None:
    fl.manual_seed(m * n + k)
    x, w, b, residual = fl.randn(m, k), fl.randn(n, k), fl.randn(n), fl.randn(m, n)
    check(tmp_path, lambda x, r: ops.gelu(ops.linear(x, w, b)), x, residual)
    check(tmp_path, lambda x, r: r + ops.linear(x, w, b), x, residual)


def test_what_cannot_be_done_in_passing(tmp_path: Any) -> None:
    fl.manual_seed(7)
    x, w = fl.randn(5, 80), fl.randn(5, 80)
    check(tmp_path, lambda x: ops.linear(x, w) + fl.arange(5.0), x)       # another shape
    check(tmp_path, lambda x: ops.linear(x, w) + ops.linear(x, w).T, x)   # other strides
    check(tmp_path, lambda x: ops.linear(x, w) > 0.5, x)                  # another dtype
    check(tmp_path, lambda x: ops.linear(x, w).relu().sum() + ops.linear(x, w).sum(), x)
    check(tmp_path, lambda x: ops.linear(x[:0], w).relu(), x)             # nothing


def test_windows_laid_out_for_one_image_serve_others(tmp_path: Any, threads: int) -> None:
    """Few tiles and many read weights in different layouts, and give the same bits."""
    x, w, b, settings = operands((150, 40, (14, 13), (3, 3), 1, 1, 1, 1, 3), True, 7)
    runtime = check(tmp_path, lambda x: ops.conv2d(x, w, b, *settings).relu(), x,
                    dynamic={0: {0: "N"}})
    for count in (1, 2, 9):
        images = fl.randn(count, *x.shape[1:])
        expected = ops.conv2d(images, w, b, *settings).relu()
        assert bridge.same_bits(runtime(images)[0], expected)
