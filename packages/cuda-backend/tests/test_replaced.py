"""Programs that write ``cuda``, on a simulation in its place: each in a process of its own."""
from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import flambeau as fl
from flambeau import cuda
from flambeau.cuda import simulation
backend = simulation.replace_cuda(2)
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", BEGIN + textwrap.dedent(program)], text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_module_speaks_of_it():
    run("""
        assert cuda.is_available() and cuda.device_count() == 2
        x = fl.ones(3).cuda()
        assert x.is_cuda and str(x.device) == "cuda:0" and cuda.memory_allocated() >= 12
        cuda.set_device(1)
        assert fl.ones(2, device="cuda").device.index == 1 == cuda.current_device()
        assert fl.ones(3).pin_memory().is_pinned()
        g = fl.Generator(device="cuda").manual_seed(3)
        a = fl.rand(4, generator=g, device="cuda").cpu()
        assert a.tolist() == fl.rand(4, generator=fl.Generator().manual_seed(3)).tolist()
    """)


def test_exchange_orders_streams():
    run("""
        backend.late(True)
        side = cuda.Stream()
        with cuda.stream(side):
            x = fl.full((4,), 3.0, device="cuda") * 2
            given = x.__dlpack__(stream=1, max_version=(1, 0))      # for the default stream
        y = fl.from_dlpack(given) + 1
        assert y.tolist() == [7.0] * 4

        class Foreign:
            def __init__(self, tensor):
                self.tensor, self.streams = tensor, []

            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, stream=None, **others):
                self.streams.append(stream)
                return self.tensor.__dlpack__(stream=stream, **others)

        with cuda.stream(side):
            foreign = Foreign(fl.ones(3, device="cuda"))
            z = fl.from_dlpack(foreign)
        assert foreign.streams == [side.cuda_stream]
        assert Foreign(z).tensor.__dlpack_device__() == (2, 0)
    """)


def test_batches_are_pinned_and_go_on_by_themselves():
    pytest.importorskip("flambeau.utils.data", reason="needs flambeau-nn")
    run("""
        from flambeau.utils.data import DataLoader, TensorDataset
        backend.late(True)
        rows = fl.arange(12.0).reshape(6, 2)
        total, copies = 0.0, cuda.Stream()
        for (batch,) in DataLoader(TensorDataset(rows), batch_size=2, pin_memory=True):
            assert batch.is_pinned()
            with cuda.stream(copies):
                ahead = batch.to("cuda", non_blocking=True)
            assert backend.waiting(0, copies.cuda_stream) > 0      # it has not been copied yet
            cuda.current_stream().wait_stream(copies)
            ahead.record_stream(cuda.current_stream())
            total += ahead.sum().item()
        assert total == rows.sum().item()
    """)

