"""The same bits for every number of threads and instruction set, with or without NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from calls import CALLS, LINALG
from checks import bits, same

import flambeau
from flambeau.core import isa_level

CHILD = Path(__file__).parents[1] / "kit" / "child.py"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A file with the float32 inputs of every call."""
    path = tmp_path_factory.mktemp("calls") / "inputs.safetensors"
    made = {f"{key}-{i}": call.inputs(flambeau, "float32") for key, calls in CALLS.items()
            for i, call in enumerate(calls) if "float32" in call.dtypes}
    flambeau.save(made, path)
    return path


@pytest.fixture(scope="module")
def run(inputs, tmp_path_factory):
    """Results of a child process with the given environment; each is run once."""
    folder, done = tmp_path_factory.mktemp("results"), {}

    def start(*flags, **environment):
        key = (flags, *sorted(environment.items()))
        if key not in done:
            target = folder / f"{len(done)}.safetensors"
            command = [sys.executable, str(CHILD), str(inputs), str(target), *flags]
            subprocess.run(command, check=True, env={**os.environ, **environment})
            done[key] = flambeau.load(target)
        return done[key]

    return start


def _same_bits(one, two):
    return [bits(x) for x in one] == [bits(x) for x in two]


def _different(one, two):
    assert one.keys() == two.keys()
    return [key for key in one if not _same_bits(one[key], two[key])]


def test_threads(run):
    base = run(FLAMBEAU_NUM_THREADS="1")
    assert len(base) > 150
    for threads in ("2", "3"):
        assert _different(base, run(FLAMBEAU_NUM_THREADS=threads)) == []


def test_the_process_itself_agrees(run, inputs):
    base = run(FLAMBEAU_NUM_THREADS="1")
    stored = flambeau.load(inputs)
    for key, calls in CALLS.items():
        for i, call in enumerate(calls):
            name = f"{key}-{i}"
            if name not in base:
                continue
            out = call.function(flambeau, *[x.clone() for x in stored[name]])
            if isinstance(out, bool):
                out = flambeau.tensor(out)
            out = list(out) if isinstance(out, (tuple, list)) else [out]
            assert _same_bits(out, base[name]), name


@pytest.mark.skipif(isa_level() != "v4", reason="needs x86-64-v4")
def test_levels_with_fma_agree_to_the_bit(run):
    found = _different(run(FLAMBEAU_ISA="v3"), run(FLAMBEAU_ISA="v4"))
    products = [k for k in found if k.split("-")[0] in _PRODUCTS or k[4:] in _BIG_PRODUCTS]
    assert [k for k in found if k not in products] == []


#: Matrix products may use another block size, or another BLAS kernel, at another level.
_PRODUCTS = {"matmul", "mm", "bmm", "mv", "dot", "addmm", "linear", "conv2d",
             "scaled_dot_product_attention", *LINALG}
_BIG_PRODUCTS = {"matmul", "tall", "vector", "conv2d", "attention"}


@pytest.mark.skipif(isa_level() not in ("v3", "v4"), reason="needs x86-64-v3")
def test_the_level_without_fma_is_close(run):
    old, new = run(FLAMBEAU_ISA="v2"), run(FLAMBEAU_ISA="v3")
    for key, results in new.items():
        same(old[key], results, 20)


def test_without_numpy(run):
    assert _different(run("no-numpy"), run(FLAMBEAU_NUM_THREADS="1")) == []


def test_the_child_really_has_no_numpy():
    code = "import sys; sys.argv.append('no-numpy'); sys.path.insert(0, sys.argv[1]); import child"
    check = "\ntry:\n    child.flambeau.ones(1).numpy()\nexcept ImportError:\n    sys.exit(3)"
    done = subprocess.run([sys.executable, "-c", code + check, str(CHILD.parent)], check=False)
    assert done.returncode == 3


@pytest.mark.parametrize("dtype", ("float32", "float64", "complex64"))
def test_positions_in_memory(dtype):
    """LAPACK's kernels choose their loops by alignment; results do not follow it."""
    def moved(matrix, by):
        room = flambeau.empty(matrix.numel() + 16, dtype=matrix.dtype)
        return room[by:by + matrix.numel()].view(matrix.shape).copy_(matrix)

    flambeau.manual_seed(5)
    a, b = (flambeau.randn(9, 9, dtype=getattr(flambeau, dtype)) for _ in range(2))
    found = set()
    for by in range(16):
        x, y = moved(a, by), moved(b, by)
        out = moved(b, by)
        flambeau.linalg.solve(x, y, out=out)
        results = [flambeau.linalg.solve_triangular(x, y, upper=True), out,
                   *flambeau.linalg.svd(x), *flambeau.linalg.qr(x), *flambeau.linalg.eig(x)]
        found.add(b"".join(map(bits, results)))
    assert len(found) == 1
