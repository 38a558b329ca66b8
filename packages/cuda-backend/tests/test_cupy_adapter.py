"""The adapter runs, over a double of CuPy whose streams are late and whose memory is closed."""
from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import cupy_double
import numpy as np
import pytest

import flambeau as fl
from flambeau.core import backends
from flambeau.cuda import _launch, cupy_backend
from flambeau.cuda.arrays.compositions import KERNELS, add_kernels
from flambeau.testing.contract_operators import opdefs_to_check
from flambeau.testing.convert import results_of
from flambeau.testing.samples import samples


@pytest.fixture(scope="module")
def machine():
    """The double, and the adapter over it as device ``cudadouble``."""
    patch = pytest.MonkeyPatch()
    made = cupy_double.Machine()
    patch.setattr(cupy_backend, "cupy", lambda: cupy_double.make(made))
    patch.setattr(cupy_backend._launch, "nvidia_driver",
                  lambda: ctypes.addressof(made.driver))
    cupy_double.install(made, patch)

    class Adapter(cupy_backend.CuPyBackend):
        name = "cudadouble"

    made.backend = Adapter()
    backends.register(made.backend)
    made.device.strict(True)
    yield made
    made.device.strict(False)
    patch.undo()


def to(x):
    return x.to("cudadouble")


def test_kernels_wait_until_somebody_looks(machine):
    x = to(fl.arange(4.0))
    y = x + x
    waiting = len(machine.late[0])
    assert waiting >= 1
    assert y.cpu().tolist() == [0, 2, 4, 6] and not machine.late[0]


def test_array_calls_come_after_the_kernels_of_their_stream(machine):
    x = to(fl.arange(6.0).reshape(2, 3))
    y = (x + x) @ (x * 2).t()
    assert y.cpu().tolist() == (4 * np.array([[5, 14], [14, 50]])).tolist()


def test_kernels_of_each_device(machine):
    """A kernel that was loaded for one device is not launched on another."""
    for index in (1, 0, 1):
        x = fl.arange(6.0).to(f"cudadouble:{index}")
        assert (x * 3 + 1).sum().cpu().item() == 51
        assert x.reshape(2, 3).softmax(-1).cpu().sum().item() == pytest.approx(2)
        assert 0 <= fl.rand(3, device=x.device).cpu().sum().item() < 3


def test_streams_without_an_event_between_them(machine):
    """The planted fault: what another stream has not computed yet is not there."""
    one, other = cupy_double.Stream(machine), cupy_double.Stream(machine)
    x = to(fl.ones(4))
    machine.flush(0)

    def both(event: bool):
        at = machine.backend.device_type, 0
        before = _launch.set_stream(*at, one.ptr)
        try:
            y = x + x
            recorded = one.record()
            _launch.set_stream(*at, other.ptr)
            if event:
                other.wait_event(recorded)
            z = y * 3
            machine.flush(other.ptr)
            return z.cpu().tolist(), y
        finally:
            _launch.set_stream(*at, before)
            machine._synchronize(None, 0)

    assert both(False)[0] != [6.0] * 4      # memory that nobody wrote
    assert both(True)[0] == [6.0] * 4


def test_the_host_cannot_read_arrays_or_mix_them_with_its_own(machine):
    xp = machine.backend.xp
    a = xp.arange(3)
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(a)
    with pytest.raises(TypeError, match="Unsupported type"):
        xp.add(a, np.arange(3))


def compared_calls(key: str, dtype: str, samples_of):
    """Results of the adapter beside those of the CPU, which refuses some dtypes."""
    for args, _ in samples_of:
        try:
            want = results_of(key, args, "cpu", dtype)
        except RuntimeError:
            continue
        got = results_of(key, args, "cudadouble", dtype)
        if key in ("linalg_eigh", "linalg_eig", "linalg_svd"):      # vectors have no one sign
            got, want = [r[1 if key == "linalg_svd" else 0:][:1] for r in (got, want)]
        yield from zip(got, want, strict=True)


def test_array_calls_equal_the_cpu(machine):
    """All of them, on the definitions' samples: none mixes arrays with NumPy's."""
    compared = set()
    add_kernels()
    for opdef in opdefs_to_check():
        for dtype in ("float32", "complex64") if opdef.key in KERNELS else ():
            for (got, _), (want, _) in compared_calls(opdef.key, dtype, samples(opdef, dtype)):
                if opdef.key in ("linalg_eig", "eig_values"):
                    got, want = np.sort_complex(got.round(3)), np.sort_complex(want.round(3))
                np.testing.assert_allclose(got, want, 3e-3, 3e-3, err_msg=opdef.key)
                compared.add(opdef.key)
    assert {"linalg_solve_lu", "linalg_qr", "fft_r2c", "matmul", "linalg_lstsq_by"} <= compared
    assert len(compared) > 25


def test_every_allocation_may_fail(machine):
    """Whatever fails is MemoryError or is tried again; afterwards all is as before."""
    x, y = to(fl.arange(12.0).reshape(3, 4)), to(fl.eye(4) * 2)

    def work():
        return fl.linalg.inv(y).sum() + ((x + 1) @ y).sum()

    want = work().item()
    gc.collect()
    before = _launch.statistics(machine.backend.device_type, 0)["allocated"]
    failures = 0
    for every in range(1, 20):
        machine.fail_every, machine.allocations = every, 0
        try:
            assert work().item() == want
        except MemoryError:
            failures += 1
        finally:
            machine.fail_every = 0
        machine._synchronize(None, 0)
        gc.collect()
        assert _launch.statistics(machine.backend.device_type, 0)["allocated"] == before
        assert work().item() == want
    assert failures > 3


def test_a_kernel_that_fails_late_is_told_by_a_later_call(machine):
    x = to(fl.ones(4))
    machine.flush(0)
    machine.late[0].append(lambda: setattr(machine, "failed", "an illegal address"))
    with pytest.raises(RuntimeError, match="an illegal address"):
        for _ in range(3):
            (x + x).cpu()
    assert (x + x).cpu().tolist() == [2.0] * 4


def test_what_is_called_is_there_in_cupy(machine):
    """Names and numbers of arguments, of the calls that the other tests made."""
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("needs CuPy")
    if not machine.called:
        test_array_calls_equal_the_cpu(machine)
    script = Path(__file__).with_name("cupy_signatures.py")
    for called in (sorted(machine.called), [("cupy.no_such", 1, ())], [("cupy.tril", 3, ())],
                   [("libs.dgetrf", 7, ())], [("cupy.eye", 1, ("color",))]):
        run = subprocess.run([sys.executable, str(script)], input=json.dumps(called),
                             capture_output=True, text=True)
        assert (run.returncode == 0) == (len(called) > 1), run.stderr
