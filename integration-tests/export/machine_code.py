"""Builds what ``jit.aot`` wrote with a C compiler, and runs it."""

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

import flambeau
from flambeau import jit

NUMBER = itertools.count()
GCC = shutil.which("gcc")
HALVES = (flambeau.float16, flambeau.bfloat16)
needs_gcc = pytest.mark.skipif(GCC is None, reason="needs gcc")

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "NAME.h"
int main(int argc, char **argv) {
    (void)argc;
    static INPUT_TYPE x[UPPER_INPUT_0_ELEMENTS];
    static float y[UPPER_OUTPUT_0_ELEMENTS];
    static char arena[UPPER_ARENA_BYTES];
    FILE *f = fopen(argv[1], "rb");
    if (!f || fread(x, 1, sizeof x, f) != sizeof x) return 2;
    fclose(f);
    if (NAME_init() || NAME_run(x, y, arena)) return 3;
    f = fopen(argv[2], "wb");
    return !f || fwrite(y, 1, sizeof y, f) != sizeof y || fclose(f);
}
"""


def arrays(tensors):
    return [np.ascontiguousarray(each.detach().numpy()) for each in tensors]


def traced(fn, inputs, dynamic=False):
    with flambeau.no_grad():
        return jit.trace(fn, tuple(inputs), dynamic=dynamic)


class Built:
    """A shared library of what was compiled."""

    def __init__(self, program, folder, **options):
        name = f"net{next(NUMBER)}"
        self.made = jit.aot(program, folder / f"{name}.o", **options)
        path = folder / f"{name}.so"
        subprocess.run([GCC, "-shared", "-o", path, self.made.object, "-lm"], check=True)
        self.library = ctypes.CDLL(str(path))
        self.function = self.library[f"{self.made.name}_run"]

    def __call__(self, inputs, shapes, arena=None):
        """Status and results, in memory that was filled with something else before."""
        if arena is None:
            arena = np.full(self.made.arena_bytes, 0xFF, np.uint8)
        results = [np.full(shape, 7, np.float32) for shape in shapes]
        given = [*inputs, *results, arena]
        status = self.function(*(ctypes.c_void_p(each.ctypes.data) for each in given))
        return status, results


def with_direct_sums(program, inputs):
    """What a program gives whose convolutions are computed as loops of their own are."""
    flambeau.backends.cpu.allow_winograd = False
    try:
        return program(*inputs)
    finally:
        flambeau.backends.cpu.allow_winograd = True


def assert_same_bits(fn, inputs, folder, **options):
    """What runs alone gives the bits of the program in Python."""
    program = traced(fn, inputs)
    want = with_direct_sums(program, inputs)
    want = arrays(want if isinstance(want, tuple) else (want,))
    built = Built(program, folder, **options)
    status, found = built(arrays(inputs), [each.shape for each in want])
    assert status == 0
    for a, b in zip(found, want, strict=True):
        both_nan = np.isnan(a) & np.isnan(b)
        np.testing.assert_array_equal(np.where(both_nan, 0, a.view(np.int32)),
                                      np.where(both_nan, 0, b.view(np.int32)))
    return built


def assert_close(fn, inputs, folder, tolerance, **options):
    """What runs alone gives the numbers of the program in Python, of any dtype.

    ``tolerance``, in parts of the greatest number, where sums have another order; 0: equal bits.
    """
    program = traced(fn, inputs)
    want = program(*inputs)
    want = want if isinstance(want, tuple | list) else (want,)
    want = [np.array(each.detach().float().numpy() if each.dtype in HALVES else
                     each.detach().numpy()) for each in want]
    built = Built(program, folder, **options)
    arena = np.full(built.made.arena_bytes, 0xFF, np.uint8)
    outputs = program(*inputs)
    outputs = outputs if isinstance(outputs, tuple | list) else (outputs,)
    found = [flambeau.full_like(each.detach(), 1).contiguous() for each in outputs]
    pointers = [ctypes.c_void_p(each.data_ptr()) for each in (*inputs, *found)]
    status = built.function(*pointers, ctypes.c_void_p(arena.ctypes.data))
    assert status == 0
    for a, b in zip(found, want, strict=True):
        a = a.float().numpy() if a.dtype in HALVES else a.numpy()
        if tolerance == 0:
            np.testing.assert_array_equal(a, b)
        else:
            scale = np.abs(b[np.isfinite(b)]).max(initial=1)
            np.testing.assert_allclose(a, b, atol=tolerance * scale, rtol=0)
    return built


def run_alone(program, x, folder, compiler, target, before=()):
    """The first result of a program of its own that was built for a target."""
    made = jit.aot(program, folder / "alone.o", target=target)
    text = MAIN.replace("UPPER", "ALONE").replace("NAME", "alone")
    kind = {"float32": "float", "int64": "int64_t"}[str(x.dtype)]
    (folder / "main.c").write_text(text.replace("INPUT_TYPE", kind))
    executable = folder / "alone"
    subprocess.run([compiler, "-O2", "-static", "-s", "-Wall", "-Werror", "-o", executable,
                    folder / "main.c", made.object, "-lm"], check=True)
    x.tofile(folder / "x.bin")
    subprocess.run([*before, executable, folder / "x.bin", folder / "y.bin"], check=True)
    return np.fromfile(folder / "y.bin", np.float32), executable
