"""Rows that are compiled for a device are one kernel, and right: beside calls one by one.

A kernel adds up in an order of its own, so that numbers are compared within a few roundings; NaN,
dtypes and strides exactly. Every new kernel is compiled by g++: all dtypes run every night.
"""
from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from device_calls import DEVICE

sys.path.insert(0, str(Path(__file__).parents[1] / "compiled"))

from random_lines import LINES
from random_programs import Program, run, snapshot, world

import flambeau as fl
from flambeau import jit
from flambeau.core import backends
from flambeau.cuda import compiled_rows, static

F = fl.nn.functional
if DEVICE == "cudasim" and not shutil.which("g++"):
    pytest.skip("needs g++", allow_module_level=True)

NIGHTLY = bool(os.environ.get("TESTED_SHARE"))
COUNT = int(os.environ.get("RANDOM_REGIONS", "100" if NIGHTLY else "1"))
FIRST = int(os.environ.get("FIRST_PROGRAM", "0"))
DTYPES = ("float32", "float64", "float16", "bfloat16")
#: Relative to the largest number of a result.
CLOSE = {fl.float32: 1e-5, fl.float64: 1e-13, fl.float16: 2e-3, fl.bfloat16: 2e-2}
SHAPES = ((1,), (2, 31), (2, 3, 32), (5, 33), (3, 1000), (2, 5000), (1, 40), (0, 7), (4, 0))
ROWS = {
    "softmax": lambda x, w: F.softmax(x * 2 + w, -1) * w,
    "log_softmax": lambda x, w: F.log_softmax((x - w).abs(), -1).exp(),
    "layer_norm": lambda x, w: F.gelu(F.layer_norm(x + w, x.shape[-1:], w, w)),
    "rms_norm": lambda x, w: x * fl.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w,
    "sums": lambda x, w: ((x * w).sum(-1), (x * w).sum(-1, keepdim=True) * 2 + x),
    "extremes": lambda x, w: (x * 2 - (x * 2).amax(-1, keepdim=True), (x + w).amin(-1) + 1),
    "var": lambda x, w: ((x + 1).var(-1), (x * w).std(-1, correction=0) * 2),
    "logsumexp": lambda x, w: fl.logsumexp(x * w, -1) * 2,
    "norm": lambda x, w: x / fl.linalg.vector_norm(x * w, dim=-1, keepdim=True),
    "halves": lambda x, w: (x.float() * w).softmax(-1).to(x.dtype),
}
#: Each with a dtype of its own, and all with all of them at night.
CASES = [(name, dtype) for k, name in enumerate(ROWS) for number, dtype in enumerate(DTYPES)
         if NIGHTLY or number == k % 4]


def seeded(seed, shape, dtype):
    numbers = np.random.default_rng(seed).standard_normal(shape)
    return fl.tensor(numbers).to(getattr(fl, dtype)).to(DEVICE)


def listed(results):
    return results if isinstance(results, tuple) else (results,)


def compare(wanted, found):
    for one, other in zip(listed(wanted), listed(found), strict=True):
        assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())
        close = CLOSE[one.dtype]
        one, other = (t.cpu().double().numpy() for t in (one, other))
        top = np.abs(one[np.isfinite(one)]).max(initial=1e-30)
        np.testing.assert_allclose(other, one, rtol=close, atol=close * top)


def one_by_one(function, *args):
    """The calls in double precision on the CPU, in the results' dtypes."""
    results = function(*(t.cpu().double() if t.is_floating_point() else t.cpu() for t in args))
    return listed(results)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_rows(name, dtype):
    function, compiled = ROWS[name], jit.compile(ROWS[name])
    for seed, shape in enumerate(SHAPES):
        x, w = seeded(seed, shape, dtype), seeded(seed + 100, shape[-1:], dtype)
        if not x.numel() and name == "extremes" and shape[-1] == 0:
            continue        # nothing has no greatest value
        compare(function(x, w), compiled(x, w))
        if shape[-1] > 30:
            assert "as one kernel" in jit.compile(function).measure(x, w).events[0].lines[0]
            x.view(-1)[-3] = float("nan")
            x.view(-1)[0] = float("inf")
            compare(function(x, w), compiled(x, w))


def test_rows_are_right_in_double_precision():
    """Beside numbers of another machine: those of the CPU."""
    for name in ("softmax", "layer_norm", "var", "norm"):
        x, w = seeded(1, (5, 1300), "float32"), seeded(2, (1300,), "float32")
        found = listed(jit.compile(ROWS[name])(x, w))
        for one, other in zip(one_by_one(ROWS[name], x, w), found, strict=True):
            compare(one.float(), other.cpu())


def scale(x, y):
    return (x * y + 1).softmax(-1) * x


@pytest.mark.parametrize("made", [
    lambda x: (x[:, :, 1:], x[:, :1, 1:]), lambda x: (x[1:], x[0]), lambda x: (x, x[:1]),
    lambda x: (x.transpose(0, 1), x.transpose(0, 1)), lambda x: (x[:, ::2], x[:, 1::2]),
    lambda x: (x.transpose(1, 2), x.transpose(1, 2)), lambda x: (x, x[:, :, :1]),
    lambda x: (x[0, 0], x[0, 0, 0]), lambda x: (x.flip(2), x[:, :1]), lambda x: (x[:, 0], x[0, 1]),
    lambda x: (x[0].expand(4, 4, 37), x), lambda x: (x.view(-1)[1:149].view(4, 37), x[0, :, :1])])
def test_layouts(made):
    x, y = made(seeded(3, (4, 4, 37), "float32"))
    compare(scale(x, y), jit.compile(scale)(x, y))


def test_every_order_of_threads_gives_the_same_bits():
    if DEVICE != "cudasim":
        pytest.skip("needs cudasim, whose threads run in any order")
    x, w = seeded(5, (3, 1500), "float32"), seeded(6, (1500,), "float32")
    found = set()
    for order in ("forward", "reversed", "shuffled", "forward"):
        backends.adapter(DEVICE).set_order(order)
        found.add(np.concatenate([jit.compile(ROWS[name])(x[..., :n], w[:n]).cpu().numpy().ravel()
                                  for name in ("softmax", "layer_norm")
                                  for n in (33, 1500)]).tobytes())
    backends.adapter(DEVICE).set_order("forward")
    assert len(found) == 1


def test_what_a_kernel_of_rows_may_not_do_runs_call_by_call():
    def write(x):
        x.sub_(x.amax(-1, keepdim=True))        # memory that is read and written
        y = x.exp()
        y /= y.sum(-1, keepdim=True)
        x[:, 1:] += y[:, :-1]
        return y.sum(0), x * y.sum()

    one, other = seeded(7, (6, 40), "float32"), seeded(7, (6, 40), "float32")
    compare(write(one), jit.compile(write)(other))
    compare(one, other)


def test_all_elements_are_a_row():
    def losses(x, y):
        return ((x - y) ** 2).mean(), (x * y).sum() + 1, x.abs().amax()

    for shape in ((7,), (9, 41), (60, 700)):
        x, y = seeded(8, shape, "float64"), seeded(9, shape, "float64")
        compare(losses(x, y), jit.compile(losses)(x, y))


#: Lines whose results jump where a sum differs in its last bit are left out.
STEADY = tuple(line for line in LINES["rows"][1]
               if not any(word in line for word in (" > ", "argmax", ".max(", "half")))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_programs(seed):
    table = {"rows": (8, STEADY), "view": LINES["view"],
             "pointwise": (4, ("N = A * B", "N = A.sigmoid()", "N = A - 2", "N = A.tanh()"))}
    program = Program(seed, table=table, device=DEVICE)
    function, compiled = program.function(), jit.compile(program.function())
    for rows in (3, 3, 5):
        wanted = snapshot(run(function, world(seed, rows, "float64", DEVICE)))
        found = snapshot(run(compiled, world(seed, rows, "float64", DEVICE)))
        wrong = [name for name in {**wanted, **found}
                 if not is_close(wanted.get(name), found.get(name))]
        assert not wrong, f"seed {seed}: {wrong}\n{program.source()}"


def is_close(one, other):
    if one == other or not (isinstance(one, tuple) and one[0] == "flambeau.float64"):
        return one == other
    a, b = (np.frombuffer(each[-1]) for each in (one, other))
    top = np.abs(a[np.isfinite(a)]).max(initial=1e-30)
    # What made them may differ: rms_norm is one operator in calls one by one.
    return one[:-2] == other[:-2] and np.allclose(a, b, 1e-10, 1e-10 * top, equal_nan=True)


@pytest.mark.skipif(static.missing() is not None, reason=static.missing() or "all is here")
@pytest.mark.parametrize("name", ["softmax", "layer_norm"] if NIGHTLY else ["layer_norm"])
def test_kernels_do_not_spill(name):
    x, w = seeded(1, (3, 40), "float32"), seeded(2, (40,), "float32")
    before = set(compiled_rows._found)
    jit.compile(ROWS[name]).measure(x, w)
    digest, = set(compiled_rows._found) - before or {next(reversed(compiled_rows._found))}
    for architecture in ("sm_80", "sm_90", "sm_100")[0 if NIGHTLY else 2:]:
        for reading in static.read(compiled_rows.GROUP_PREFIX + digest, "any", architecture):
            assert not reading.spilled_bytes, reading
            assert reading.wide_accesses >= 3, reading
            assert reading.occupancy() >= 0.5, reading
