"""Names that programs for PyTorch use: they do something, or say what to use."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau import accelerator, cuda


def test_streams_and_events_of_whatever_gpu(late):
    stream, event = fl.Stream(late.name), fl.Event(late.name, enable_timing=True)
    assert isinstance(stream, (fl.Stream, cuda.Stream)) and isinstance(event, cuda.Event)
    assert isinstance(cuda.current_stream(), fl.Stream) and not isinstance(1, fl.Stream)
    with stream:
        assert accelerator.current_stream() == stream
        event.record()
    assert event.event_id and event.enable_timing and not stream.is_capturing()
    captured = cuda.CUDAGraph()
    with cuda.graph(captured, stream=stream):
        assert stream.is_capturing()
    assert isinstance(fl.Event(), fl.Event) and stream.native_handle == stream.cuda_stream
    accelerator.set_stream(cuda.default_stream())
    assert accelerator.current_stream() == cuda.default_stream()


def test_the_accelerator(late):
    with accelerator.device_index(1):
        assert accelerator.current_device_index() == cuda.current_device() == 1
    with accelerator.device_index(None):
        assert accelerator.current_device_idx() == 0
    x = fl.ones(1000, device=late.name)
    assert accelerator.memory_allocated() == cuda.memory_allocated() >= x.nbytes
    assert accelerator.memory.memory_stats() == cuda.memory_stats()
    assert accelerator.get_memory_info() == cuda.mem_get_info()
    assert fl.float32 in accelerator.get_device_capability()["supported_dtypes"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        accelerator.nothing  # noqa: B018


def test_tensor_types(late):
    x = cuda.FloatTensor([[1, 2]])
    assert (x.device.type, x.dtype, x.tolist()) == (late.name, fl.float32, [[1.0, 2.0]])
    assert cuda.LongTensor(2, 3).shape == (2, 3)
    assert isinstance(x, cuda.FloatTensor) and not isinstance(x.cpu(), cuda.FloatTensor)
    assert not isinstance(x.half(), cuda.FloatTensor) and not isinstance(1, cuda.FloatTensor)
    assert cuda.FloatTensor(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="expected a tensor on cudasim:0, got one on cpu"):
        cuda.FloatTensor(x.cpu())
    with pytest.raises(AttributeError, match="untyped_storage"):
        cuda.FloatStorage  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'NoTensor'"):
        cuda.NoTensor  # noqa: B018
    with pytest.raises(AttributeError, match="sparse_coo_tensor"):
        cuda.sparse.FloatTensor  # noqa: B018


def test_tensors_to_several_devices_and_back(late):
    x = fl.arange(10.0).reshape(5, 2).to(f"{late.name}:0")
    copies = cuda.comm.broadcast(x, [0, 1])
    assert [t.device.index for t in copies] == [0, 1] and copies[0] is x
    assert [t.tolist() for t in cuda.comm.broadcast(x, out=[fl.zeros(5, 2)])] == [x.tolist()]
    total = cuda.comm.reduce_add(copies, 1)
    assert total.device.index == 1 and total.tolist() == (2 * x).tolist()
    assert x.tolist()[0] == [0.0, 1.0]
    lists = cuda.comm.broadcast_coalesced([x, x + 1], [0, 1])
    assert [t.tolist() for t in cuda.comm.reduce_add_coalesced(lists)] == \
        [(2 * x).tolist(), (2 * x + 2).tolist()]
    for sizes in (None, [1, 4]):
        parts = cuda.comm.scatter(x, [0, 1], sizes)
        assert [len(part) for part in parts] == (sizes or [3, 2])
        assert cuda.comm.gather(parts, destination=-1).tolist() == x.tolist()
    out = fl.zeros(5, 2)
    assert cuda.comm.gather(parts, out=out) is out and out.tolist() == x.tolist()
    into = cuda.comm.scatter(x, out=[fl.zeros(2, 2), fl.zeros(3, 2)])
    assert into[1].tolist() == x[2:].tolist()
    with pytest.raises(RuntimeError, match="exactly one of"):
        cuda.comm.broadcast(x)
    with pytest.raises(ValueError, match="one shape"):
        cuda.comm.reduce_add([x, x[:2]])


@pytest.mark.parametrize(("call", "hint"), [
    (lambda: cuda.nccl.all_reduce([]), "comm.reduce_add"),
    (lambda: cuda.gds.GdsFile("x", 0), "mmap=True"),
    (lambda: cuda.gds.gds_register_buffer(None), "kvikio"),
    (lambda: cuda.GreenContext.create(1), "priority=-1"),
    (lambda: cuda.jiterator._create_jit_fn("")(1.0), "flambeau.compile"),
    (lambda: cuda.jiterator._create_multi_output_jit_fn("", 2)(1.0), "flambeau.compile"),
    (lambda: cuda.CUDAPluggableAllocator("x", "a", "f"), "cupy.cuda.set_allocator"),
    (lambda: cuda.tunable.tune_gemm_in_file("x"), "leave tuning out")])
def test_what_there_is_not(call, hint):
    with pytest.raises(NotImplementedError, match=hint):
        call()


def test_settings_are_kept():
    tunable = cuda.tunable
    assert not tunable.is_enabled() and tunable.get_results() == ()
    for name, value in (("max_tuning_duration", 5), ("max_tuning_iterations", 7),
                        ("filename", "x.csv"), ("rotating_buffer_size", 3)):
        before = getattr(tunable, f"get_{name}")()
        getattr(tunable, f"set_{name}")(value)
        assert getattr(tunable, f"get_{name}")() == value
        getattr(tunable, f"set_{name}")(before)
    assert not cuda.nccl.is_available([])


def test_pools_show_their_blocks(late):
    pool = cuda.MemPool()
    with cuda.use_mem_pool(pool):
        x = fl.ones(100, device=late.name)
    assert [row["address"] for row in pool.snapshot()] == [x.data_ptr()] and pool.use_count() == 1
    with cuda.memory.caching_allocator_disabled():
        assert (x + 1).sum().item() == 200
