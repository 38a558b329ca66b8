"""Pinned memory, copies that go on beside the program, and how failures are told."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import flambeau as fl
from flambeau import cuda


def test_pinned_memory(late):
    x = fl.arange(5.0)
    pinned = x.pin_memory(late.name)
    assert pinned.is_pinned() and pinned[2:].is_pinned() and not x.is_pinned()
    assert pinned.tolist() == x.tolist() and pinned.pin_memory(late.name) is pinned
    assert cuda.host_memory_stats()["active_bytes.current"] >= 20
    with pytest.raises(RuntimeError, match="only dense CPU tensors"):
        x.to(late.name).pin_memory(late.name)


def test_copies_that_go_on_by_themselves(late):
    pinned = fl.ones(4).pin_memory(late.name)
    soon = pinned.to(late.name, non_blocking=True)
    pinned.fill_(2)                         # before the copy is done, as a GPU's may be
    assert soon.tolist() == [2.0] * 4
    then = pinned.to(late.name)
    pinned.fill_(3)
    assert then.tolist() == [2.0] * 4       # this one was waited for
    plain = fl.ones(4)
    soon = plain.to(late.name, non_blocking=True)
    plain.fill_(2)
    assert soon.tolist() == [1.0] * 4       # memory that is not pinned is read at once


def test_pinned_memory_outlives_its_tensor(late):
    soon = fl.full((1 << 16,), 3.0).pin_memory(late.name).to(late.name, non_blocking=True)
    fl.zeros(1 << 16).pin_memory(late.name)
    assert soon.sum().item() == 3 << 16


def test_unmentioned_numbers_are_the_current_device(late):
    assert fl.device(late.name).index == 0
    with cuda.device(1):
        assert fl.ones(2, device=late.name).device.index == 1
        assert fl.ones(2).to(late.name).device.index == 1
    assert fl.ones(2, device=late.name).device.index == 0


def test_fork_rng_restores_devices(late):
    before = cuda.get_rng_state_all()
    with fl.random.fork_rng():
        fl.rand(3, device=late.name)
        cuda.manual_seed_all(9)
    assert [s.tolist() for s in cuda.get_rng_state_all()] == [s.tolist() for s in before]
    with fl.random.fork_rng(devices=[]):
        fl.rand(3, device=late.name)
    assert cuda.get_rng_state(0).tolist() != before[0].tolist()


def test_record_stream_on_the_cpu(late):
    with pytest.raises(NotImplementedError, match="no streams"):
        fl.ones(2).record_stream(cuda.Stream())


def run(program, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True,
                          capture_output=True, env={**os.environ, **environment})
    return done.stdout + done.stderr


def test_blocking_calls_name_operator_and_line():
    program = """
        import flambeau as fl
        from flambeau.core import backends
        backend = backends.adapter("cudasim")
        x = fl.ones(3, device="cudasim")
        backend.late(True)
        backend.lose()
        y = x.exp()                         # line 7
    """
    told = run(program, FLAMBEAU_CUDA_BLOCKING="1")
    assert "k_exp_f32" in told and "<string>:8" in told and "last checkpoint" in told
    told = run(program)
    assert "FLAMBEAU_CUDA_BLOCKING=1" in told


LIBRARY = """
    extern "C" int cuInit(unsigned) { return 0; }
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's loader")
def test_an_old_driver(tmp_path):
    """A library that lacks functions stands for a driver that does."""
    source, library = tmp_path / "old.cpp", tmp_path / "libcuda.so.1"
    source.write_text(LIBRARY)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    told = run("""
        from flambeau.cuda import _launch
        _launch.nvidia_driver()
    """, LD_LIBRARY_PATH=str(tmp_path))
    assert "the NVIDIA driver is too old: it lacks cu" in told


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "flambeau").write_text("a file where a folder is wanted")
    told = run("""
        import flambeau as fl
        print(fl.ones(3, device="cudasim").tolist())
    """, XDG_CACHE_HOME=str(tmp_path))
    assert "[1.0, 1.0, 1.0]" in told and "cannot be kept" in told and "XDG_CACHE_HOME" in told


def test_a_kernel_that_does_not_compile(simulated, tmp_path):
    from flambeau.cuda.simulation.building import build

    with pytest.raises(RuntimeError, match=r"(?s)g\+\+ refuses broken_.*expected"):
        build("broken", "int x = ;", tmp_path)


LAYOUTS = {
    "plain": lambda x: x,
    "permuted": lambda x: x.permute(2, 0, 1),
    "gaps": lambda x: x[:, ::2],
    "gaps in another order": lambda x: x.permute(2, 1, 0)[:, ::2],
    "expanded": lambda x: x[:, :1].expand(2, 3, 4),
    "channels last": lambda x: x.view(1, 2, 3, 4).to(memory_format=fl.channels_last),
    "empty": lambda x: x[:0].permute(1, 0, 2),
    "number": lambda x: x[1, 2, 3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [fl.float32, fl.int16, fl.bool, fl.complex64])
def test_copies_keep_the_order_of_dimensions(late, layout, dtype):
    x = LAYOUTS[layout](fl.arange(24).view(2, 3, 4).to(dtype))
    there = x.to(late.name)
    again = LAYOUTS[layout](fl.arange(24).view(2, 3, 4).to(dtype).to(late.name)).cpu()
    for moved in (there, again, there.cpu(), x.to("meta")):
        assert moved.stride() == x.clone().stride() and moved.shape == x.shape
    assert fl.equal(there.cpu(), x) and fl.equal(again, x)
    assert fl.equal(fl.zeros(x.shape, dtype=dtype).copy_(there), x)
