"""Tensors in memory that processes share, and processes that are started together."""

from __future__ import annotations

import gc
import os
import signal
import time

import pytest

import flambeau
import flambeau.multiprocessing as mp
from flambeau.core import shared_memory

METHODS = pytest.mark.parametrize("method", ("fork", "spawn", "forkserver"))


def write(index, x, row, copied, queue=None):
    assert row.is_shared()
    x[index] = 10.0 + index
    row[-1] = 5.0
    copied[0] = 3.0
    if queue is not None:
        queue.put((os.getpid(), x))
        while x[0] != 99:
            time.sleep(0.01)


@METHODS
def test_processes_write_what_all_read(method):
    x = flambeau.zeros(3, 4).share_memory_()
    copied = flambeau.zeros(2)
    mp.start_processes(write, (x.view(-1), x[2], copied), nprocs=2, start_method=method)
    assert x.view(-1).tolist() == [10, 11, *[0.0] * 9, 5]
    assert copied.is_shared() == (method != "fork")     # what is sent is shared, not what is forked
    assert copied.tolist() == [0 if method == "fork" else 3, 0]


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_a_tensor_that_comes_back_is_the_same_memory(method):
    x, queue = flambeau.zeros(4).share_memory_(), mp.get_context(method).Queue()
    running = mp.start_processes(write, (x, x[1:], flambeau.ones(1), queue), join=False,
                                 start_method=method)
    _, back = queue.get()
    assert back.is_shared() and back.tolist() == x.tolist()
    assert back.untyped_storage() == x.untyped_storage() != x.clone().untyped_storage()
    back[0] = 99
    assert x[0] == 99
    while not running.join(10):
        pass


@pytest.mark.parametrize("dtype", ("float32", "bfloat16", "bool", "complex128", "uint8", "int64"))
def test_moving_keeps_everything_but_the_address(dtype):
    x = flambeau.arange(6).to(getattr(flambeau, dtype)).reshape(2, 3).t().clone(
        memory_format=flambeau.preserve_format)
    before, version = (x.tolist(), x.stride(), x.dtype, x.shape), x._version
    assert x.share_memory_() is x and x.is_shared()
    assert (x.tolist(), x.stride(), x.dtype, x.shape) == before and x._version == version
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    assert x[0].is_shared() and not (x == x).is_shared() and not x.clone().is_shared()


def test_empty_and_other_tensors():
    assert flambeau.ones(0).share_memory_().tolist() == []
    assert flambeau.ones((), dtype=flambeau.int8).share_memory_().item() == 1
    assert not flambeau.ones(2, device="meta").share_memory_().is_shared()


def test_views_and_what_they_are_views_of_move_together():
    views = (flambeau.arange(6).view(2, 3), flambeau.arange(12)[2:8].view(3, 2).t(),
             flambeau.arange(3).expand(2, 3))
    for x in views:
        before = x.tolist(), x.shape, x.stride(), x._version, x._base
        assert x.share_memory_() is x and x.is_shared()
        assert (x.tolist(), x.shape, x.stride(), x._version, x._base) == before


@pytest.mark.parametrize("count", (4, 1000))
def test_all_tensors_over_the_memory_move(count):
    base = flambeau.zeros(count)
    x, other, data, storage = base.view(2, -1), base[1:], base[2:].data, base.untyped_storage()
    detached, address = base[3:].detach(), base.data_ptr()
    assert x.share_memory_() is x and base.data_ptr() != address
    base.fill_(3)
    assert x._base is base and other._base is base and base._version == x._version == 1
    for t in (base, x, other, data, detached):
        assert t.is_shared() and t.sum() == 3 * t.numel()
    assert storage.is_shared() and storage.data_ptr() == base.data_ptr()
    data[0] = 5
    assert base[2] == 5
    assert base._version == 1


def test_history_of_views_moves_too():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    w = flambeau.ones(4, requires_grad=True)
    view, result = w[1:], w.exp()
    w.share_memory_()
    result.share_memory_()
    with flambeau.no_grad():
        w.detach()[1] = 3
    assert view.tolist() == [3, 1, 1] and view.grad_fn is not None
    (view.sum() + result.sum()).backward()
    assert w.grad.tolist() == (result.detach() + flambeau.tensor([0.0, 1, 1, 1])).tolist()


def fill(queue, done):
    queue.get()[:] = 7
    done.put(True)


@METHODS
@pytest.mark.parametrize("requires_grad", (False, True))
def test_a_view_that_is_sent_is_shared(method, requires_grad):
    if requires_grad:
        pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    context = mp.get_context(method)
    queue, done, x = context.Queue(), context.Queue(), flambeau.arange(6.0).view(2, 3)
    child = context.Process(target=fill_data if requires_grad else fill, args=(queue, done))
    child.start()
    queue.put(x.requires_grad_() if requires_grad else x)
    assert done.get(timeout=60) and x.tolist() == [[7.0] * 3] * 2
    child.join(60)


def fill_data(queue, done):
    x = queue.get()
    assert x.requires_grad and x.is_leaf
    x.data[:] = 7
    done.put(True)


def test_memory_of_arrays_is_refused():
    numpy = pytest.importorskip("numpy")
    for make in (lambda x: x.numpy(), memoryview, numpy.from_dlpack):
        x = flambeau.arange(3.0)
        other = make(x)
        with pytest.raises(RuntimeError, match=r"shape \[3\].*before x.numpy"):
            x.share_memory_()
        x[1] = 7
        assert other[1] == 7
    x = flambeau.ones(3)
    array = x.numpy()
    del array
    assert x.share_memory_().is_shared()
    with pytest.raises(RuntimeError, match="that of an array"):
        flambeau.from_numpy(numpy.ones(3)).share_memory_()


def test_gradients_of_shared_leaves():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    x = flambeau.ones(3, requires_grad=True).share_memory_()
    (x * 2).sum().backward()
    assert x.requires_grad and x.is_leaf and x.grad.tolist() == [2, 2, 2]


def test_memory_and_descriptors_are_given_back():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    flambeau.ones(3).share_memory_()
    gc.collect()
    before = descriptors()
    tensors = [flambeau.ones(3).share_memory_() for _ in range(20)]
    assert descriptors() >= before + 20
    views = [x[1:] for x in tensors]
    del tensors
    assert views[3].is_shared() and views[3].tolist() == [1, 1]
    del views
    gc.collect()
    assert descriptors() == before
    assert not shared_memory._by_file and not shared_memory._by_address


# ---- processes that fail -------------------------------------------------------


def fail(index, how):
    if index == 0:
        time.sleep(60)
    if how == "raise":
        raise ValueError("the reason")
    if how == "exit":
        os._exit(7)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("how", ("raise", "exit", "kill"))
def test_a_failure_ends_the_others_and_is_told(how):
    start = time.monotonic()
    with pytest.raises(mp.spawn.__globals__["ProcessException"]) as caught:
        mp.start_processes(fail, (how,), nprocs=2, start_method="fork")
    assert time.monotonic() - start < 50 and caught.value.error_index == 1
    if how == "raise":
        assert isinstance(caught.value, mp.ProcessRaisedException)
        assert "ValueError: the reason" in str(caught.value) and "Process 1" in str(caught.value)
    else:
        assert isinstance(caught.value, mp.ProcessExitedException)
        assert (caught.value.exit_code, caught.value.signal_name) == (
            (7, None) if how == "exit" else (-9, "SIGKILL"))


def test_waiting_has_a_limit():
    running = mp.start_processes(time.sleep, (), join=False, start_method="fork")
    assert running.pids()[0] and len(running.processes) == 1
    assert running.join(10) and running.join()


def change(queue, answers):
    x, (whole, part, again), copied = queue.get(), queue.get(), queue.get()
    x += 1
    whole += 1
    part[0] = 5
    copied += 1
    answers.put((again is whole, part._base is None, (x * 2).tolist(), whole.tolist()))


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_queues_share_what_they_can_move(method):
    numpy = pytest.importorskip("numpy")
    context = mp.get_context(method)
    queue, answers = context.Queue(), context.Queue()
    child = context.Process(target=change, args=(queue, answers), daemon=True)
    child.start()
    x, whole, array = flambeau.zeros(2), flambeau.zeros(2, 2), numpy.zeros(2)
    part, column = whole[0], whole[:, 1]
    queue.put(x)
    queue.put((whole, part, whole))
    queue.put(flambeau.from_numpy(array))
    *told, doubled, seen = answers.get(timeout=60)
    assert told == [True, True] and doubled == [2.0, 2.0] and seen == [[5, 1], [1, 1]]
    assert x.is_shared() and x.tolist() == [1.0, 1.0]
    assert column.is_shared() and column.tolist() == [1, 1] and whole.tolist() == seen
    assert part.tolist() == [5, 1] and array.tolist() == [0, 0]
    child.join()
