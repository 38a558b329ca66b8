"""The simulated device computes what a GPU computes, and catches what a GPU does not say."""
from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from flambeau.cuda.simulation import ORDERS, KernelError, SimulatedBackend
from flambeau.cuda.simulation.building import build

ARGUMENTS = """
struct arguments { float *out; const float *a; const float *b; int n; };
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


class Kernel:
    """One kernel ``k`` of ``arguments``, over arrays of float32."""

    def __init__(self, folder, text):
        self.folder = folder
        self.library = build("k", f'#include "cuda.h"\n{ARGUMENTS}\n{text}\n'
                                  "FL_LAUNCHER(k, arguments)\n", folder)

    def __call__(self, out, a, b=(0,), order="forward", seed=0, grid=(1,), block=(64,), **sizes):
        device = SimulatedBackend(self.folder, order, seed)
        arrays = [np.ascontiguousarray(v, np.float32) for v in (out, a, b)]
        memories = [device.memory.allocate(v.nbytes) for v in arrays]
        for memory, v in zip(memories, arrays, strict=True):
            ctypes.memmove(memory.address, v.ctypes.data, v.nbytes)
        argument = b"".join(m.address.to_bytes(8, "little") for m in memories)
        argument += len(np.ravel(a)).to_bytes(8, "little")
        device.run_kernel(self.library, "k", argument, grid, block, **sizes)
        ctypes.memmove(arrays[0].ctypes.data, memories[0].address, arrays[0].nbytes)
        return arrays[0]


SUM = """
void k(arguments c) {
    FL_SHARED(parts, float[8]);
    float sum = 0;
    for (int i = threadIdx.x; i < c.n; i += blockDim.x)
        sum += c.a[i];
    for (int d = 16; d; d >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x %% 32 == 0)
        parts[threadIdx.x / 32] = sum;
    %s
    if (threadIdx.x == 0) {
        float total = 0;
        for (int w = 0; w < blockDim.x / 32; w++)
            total += parts[w];
        c.out[0] = total;
    }
}
"""


@pytest.mark.parametrize("order", ORDERS)
def test_shared_memory_barriers_and_shuffles(folder, order):
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    kernel = Kernel(folder, SUM % "__syncthreads();")
    got = [kernel([0], values, order=order, seed=seed, block=(256,))[0] for seed in range(3)]
    assert got[0] == got[1] == got[2] == kernel([0], values, block=(256,))[0]
    assert abs(got[0] - values.sum(dtype=np.float64)) < 1e-3


def test_a_missing_barrier_shows_in_another_order(folder):
    kernel = Kernel(folder, SUM % "")
    got = [kernel([0], np.ones(1000), order=order, block=(256,))[0] for order in ORDERS[:2]]
    assert np.isnan(got[0])         # shared memory is NaN until it is written
    assert got[1] == 1000           # by chance: the warps ran in time


def test_a_race_shows_in_another_order(folder):
    kernel = Kernel(folder, "void k(arguments c) { c.out[0] = threadIdx.x; }")
    assert {float(kernel([0], [0], order=order)[0]) for order in ORDERS[:2]} == {0.0, 63.0}


@pytest.mark.parametrize("index", [5, 70_000, -1, -70_000])
@pytest.mark.parametrize("what", ["c.out[%d] = 1;", "c.out[0] = c.a[%d];"])
def test_an_access_out_of_bounds(folder, what, index):
    """Reads within the 16 bytes of an address's alignment give NaN of the memory around it."""
    kernel = Kernel(folder, f"void k(arguments c) {{ {what % index} }}")
    reads_near = "c.a" in what and abs(index) < 70_000
    if reads_near:
        assert kernel([0, 0, 0, 0, 0], [1, 1, 1, 1, 1])[0] < -1e-17      # the marks' bytes
        return
    with pytest.raises(KernelError, match="storage"):
        kernel([0, 0, 0, 0, 0], [1, 1, 1, 1, 1])


def test_a_read_past_the_last_page(folder):
    kernel = Kernel(folder, "void k(arguments c) { c.out[0] = c.a[c.n]; }")
    with pytest.raises(KernelError, match="16 bytes into a storage of 16"):
        kernel([0, 0, 0, 0], [1, 1, 1, 1])


def test_a_write_past_shared_memory(folder):
    kernel = Kernel(folder, """void k(arguments c) {
        FL_SHARED(few, float[64]);
        few[threadIdx.x + 1] = 1;
    }""")
    with pytest.raises(KernelError, match="past the end of the 1th variable"):
        kernel([0], [0])


@pytest.mark.parametrize(("text", "words"), [
    ("if (threadIdx.x < 32)\n__syncthreads();\nelse\n__syncthreads();", "at the barrier of line"),
    ("if (threadIdx.x) __syncwarp();", "never come"),
    ("__shfl_sync(1u, 1.0f, 0);", "not in its own mask"),
    ("if (threadIdx.x < 16) __shfl_sync(0xffffu, 1.0f, 20);", "which is not in the mask"),
    ("if (threadIdx.x % 2) __syncwarp(); else __shfl_sync(0xffffffffu, 1.0f, 0);", "waits at"),
    ("FL_SHARED(much, float[20000]); much[0] = 1;", "exceed 49152"),
])
def test_what_would_hang_or_mix(folder, text, words):
    with pytest.raises(KernelError, match=words):
        Kernel(folder, f"void k(arguments c) {{ {text} }}")([0], [0])


def test_votes_and_matches(folder):
    kernel = Kernel(folder, """void k(arguments c) {
        unsigned lane = threadIdx.x, same = __match_any_sync(0xffffffffu, lane % 5);
        int odd = __popc(__ballot_sync(0xffffffffu, lane & 1));
        c.out[lane] = __popc(same) + 100 * odd + 10000 * __any_sync(0xffffffffu, lane == 3)
                      + 20000 * __all_sync(0xffffffffu, lane < 31)
                      + 100000 * __syncthreads_count(lane < 7);
    }""")
    want = [7 - (lane % 5 > 1) + 1600 + 10000 + 700000 for lane in range(32)]
    for order in ORDERS:
        assert kernel(np.zeros(32), [0], order=order, block=(32,)).tolist() == want


def test_shuffles_within_segments(folder):
    kernel = Kernel(folder, """void k(arguments c) {
        int l = threadIdx.x;
        c.out[l] = __shfl_up_sync(0xffffffffu, l, 1, 8) + 100 * __shfl_xor_sync(~0u, l, 3)
                   + 10000 * __shfl_sync(~0u, l, 2, 4);
    }""")
    want = [(i if i % 8 == 0 else i - 1) + 100 * (i ^ 3) + 10000 * (i // 4 * 4 + 2)
            for i in range(32)]
    assert kernel(np.zeros(32), [0], order="shuffled", block=(32,)).tolist() == want


def test_atomics_count_every_thread(folder):
    kernel = Kernel(folder, """void k(arguments c) {
        atomicAdd(&c.out[threadIdx.x % 3], 1.0f);
        atomicMax((int *)&c.out[3], (int)(blockIdx.x * blockDim.x + threadIdx.x));
    }""")
    got = kernel(np.zeros(4), [0], grid=(5,), block=(96,), order="shuffled")
    assert got[:3].tolist() == [160, 160, 160] and got[3:].view(np.int32)[0] == 479


COPY = """void k(arguments c) {
    FL_SHARED(tile, float[2][64]);
    int l = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        fl_copy_async<4>(&tile[i][l], c.a + 64 * i + l);
        fl_copy_commit();
    }
    fl_copy_wait<%d>();
    __syncthreads();
    c.out[l] = tile[%d][63 - l];
    fl_copy_wait<0>();
}"""


def test_asynchronous_copies_happen_when_they_are_waited_for(folder):
    values = np.arange(128)
    assert Kernel(folder, COPY % (1, 0))([0] * 64, values).tolist() == [*range(63, -1, -1)]
    assert np.isnan(Kernel(folder, COPY % (1, 1))([0] * 64, values)).sum() == 32
    with pytest.raises(KernelError, match="before it waited for its asynchronous"):
        Kernel(folder, COPY.replace("fl_copy_wait<0>();", "") % (1, 0))([0] * 64, values)


MATRIX = """
void k(arguments c) {       /* out[16][8] = a[16][K] b[K][8]; K is 16, or 8 in tf32 */
    int l = threadIdx.x, row = l / 4, part = l %% 4;
    uint32_t a[4], b[2];
    float d[4], zero[4] = {1, 1, 1, 1};
    for (int r = 0; r < 4; r++)
        a[r] = %(a)s;
    for (int r = 0; r < 2; r++)
        b[r] = %(b)s;
    fl_mma_%(kind)s(d, a, b, zero);
    for (int r = 0; r < 4; r++)
        c.out[(row + 8 * (r / 2)) * 8 + part * 2 + r %% 2] = d[r];
}
"""
ONE = {"a": "((const uint32_t *)c.a)[(row + 8 * (r & 1)) * 8 + part + 4 * (r >> 1)]",
       "b": "((const uint32_t *)c.b)[(part + 4 * r) * 8 + row]"}
PAIR = {"a": "((const uint32_t *)c.a)[(row + 8 * (r & 1)) * 8 + part + 4 * (r >> 1)]",
        "b": "((const uint32_t *)c.b)[row * 8 + part + 4 * r]"}     # b lies transposed


def test_products_of_tensor_cores(folder):
    draw = np.random.default_rng(1).standard_normal
    a, b = draw((16, 16)).astype(np.float16), draw((16, 8)).astype(np.float16)
    kernel = Kernel(folder, MATRIX % (PAIR | {"kind": "f16"}))
    got = kernel(np.zeros((16, 8)), a.view(np.float32),
                 np.ascontiguousarray(b.T).view(np.float32), block=(32,), order="shuffled")
    np.testing.assert_allclose(got, 1 + a.astype(np.float64) @ b.astype(np.float64), rtol=1e-6)
    a, b = (draw(s).astype(np.float32) for s in ((16, 8), (8, 8)))
    got = Kernel(folder, MATRIX % (ONE | {"kind": "tf32"}))(np.zeros((16, 8)), a, b, block=(32,))
    np.testing.assert_allclose(got, 1 + a @ b, rtol=0, atol=2e-2)
    assert np.abs(got - (1 + a @ b)).max() > 1e-5      # eleven bits are not twenty-four


def test_the_host_is_kept_from_the_memory_of_a_strict_device(folder):
    code = f"""
import ctypes, pathlib
import flambeau
from flambeau.core import backends
from flambeau.cuda.simulation import SimulatedBackend
device = SimulatedBackend(pathlib.Path({str(folder)!r}))
backends.register(device)
x = flambeau.ones(4).to("cudasim")
device.strict(True)
print(x.cpu().sum().item(), flush=True)
ctypes.string_at(x.data_ptr(), 4)
print("read")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.split() == ["4.0"] and run.returncode < 0


def test_two_processes_compile_the_same_text(tmp_path, monkeypatch):
    """Neither meets the source that the other is about to write."""
    run = subprocess.run

    def run_beside_another(*words, **options):
        for begun in tmp_path.glob("*.cpp"):
            begun.write_text("")
        return run(*words, **options)

    monkeypatch.setattr(subprocess, "run", run_beside_another)
    library = build("two", 'extern "C" int two() { return 2; }', tmp_path)
    assert library.two() == 2
    assert [path.suffix for path in sorted(tmp_path.iterdir())] == [".cpp", ".so"]
