"""Workers that fail, die or hang are named with their index, and leave nothing behind."""

import gc
import os
import signal
import threading

import numpy as np
import pytest
from worker_sets import KINDS, Dies, Failing, Rows, Stuck, children, fail_awkwardly

from flambeau.utils import data
from flambeau.utils.data import _pool, _processes, _threads


@pytest.fixture
def impatient(monkeypatch):
    """Workers count as stuck after 2 s rather than 25."""
    monkeypatch.setattr("flambeau.utils.data._ahead.STUCK_SECONDS", 2)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_has_its_traceback_and_sample(kind):
    loader = data.DataLoader(Failing(), 2, num_workers=2, workers=kind)
    with pytest.raises(LookupError, match="nothing there") as error:
        list(loader)
    assert error.value.__notes__[0] == "while loading sample 5 of Failing"
    text = error.getrepr(chain=True)
    assert "fail_on_purpose" in str(text)
    assert not children()


def test_an_error_that_cannot_be_rebuilt():
    loader = data.DataLoader(Rows(), num_workers=1, collate_fn=fail_awkwardly)
    with pytest.raises(RuntimeError, match="Awkward: 1 and 2") as error:
        list(loader)
    assert "fail_awkwardly" in str(error.value.__cause__)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_in_the_beginning(kind):
    def init(worker):
        raise OSError("no database")

    loader = data.DataLoader(Rows(), num_workers=1, workers=kind, worker_init_fn=init)
    with pytest.raises(OSError, match="no database") as error:
        list(loader)
    assert "in worker_init_fn(0)" in error.value.__notes__


def test_a_killed_worker_is_named():
    loader = data.DataLoader(Dies(), 2, num_workers=2)
    with pytest.raises(
        RuntimeError,
        match=r"worker \(pid \d+\) is killed by signal: 9 .*; "
        r"it is number 1, at sample 3 \(position 1 of batch 1\)",
    ):
        list(loader)
    assert not children()


def test_a_worker_that_ends_by_itself_is_named():
    def leave(worker):
        os._exit(3)

    loader = data.DataLoader(Rows(), num_workers=1, worker_init_fn=leave, workers="process")
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code 3; it is number 0"):
        list(loader)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stuck_worker_is_named(kind, impatient):
    loader = data.DataLoader(Stuck(), 2, num_workers=2, workers=kind)
    with pytest.raises(RuntimeError, match="not got on for 2 s; it is number 1, at sample 3"):
        list(loader)
    assert not children()


def test_a_stopped_worker_is_named(impatient):
    loader = data.DataLoader(Rows(1000), 2, num_workers=2)
    batches = iter(loader)
    next(batches)
    os.kill(min(children()), signal.SIGSTOP)
    with pytest.raises(RuntimeError, match="has not got on for 2 s"):
        list(batches)
    assert not children()


def test_stuck_workers_are_named_within_30_seconds():
    assert _pool.STUCK_SECONDS + 2 * _pool.POLL_SECONDS + 2 * _processes._PATIENCE < 30


@pytest.mark.parametrize("kind", KINDS)
def test_timeout(kind):
    loader = data.DataLoader(Stuck(), 2, num_workers=2, workers=kind, timeout=0.3)
    with pytest.raises(RuntimeError, match=r"after 0\.3 seconds: .* batch 1; .*, at sample 3"):
        list(loader)


@pytest.mark.parametrize("leave", ["break", "error", "unused", "collected"])
def test_no_process_is_left(leave):
    loader = data.DataLoader(Rows(1000), 2, num_workers=2)
    if leave == "break":
        for _ in loader:
            break
    elif leave == "error":
        with pytest.raises(ZeroDivisionError):
            for _ in loader:
                raise ZeroDivisionError
    elif leave == "unused":
        iter(loader)
    else:
        batches = iter(loader)
        next(batches)
        ring = [batches]
        ring.append(ring)
        del batches, ring
        gc.collect()
    assert not children()


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_while_waiting_ends_the_workers(kind, monkeypatch):
    def interrupt(pool, seconds):
        raise KeyboardInterrupt

    before = threading.active_count()
    batches = iter(data.DataLoader(Rows(100), 2, num_workers=2, workers=kind))
    monkeypatch.setattr(_processes.ProcessPool, "receive", interrupt)
    monkeypatch.setattr(_threads.ThreadPool, "receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert not children()
    assert threading.active_count() == before
    assert list(batches) == []


def test_workers_start_while_a_thread_holds_the_lock_of_numpy():
    lock = np.random.get_bit_generator().lock
    holds, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            holds.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    try:
        loader = data.DataLoader(
            Rows(4), 2, num_workers=1, timeout=20, multiprocessing_context="fork"
        )
        assert len(list(loader)) == 2
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_errors_of_workers_leave_no_open_file():
    def fail():
        with pytest.raises(LookupError):
            list(data.DataLoader(Failing(), 2, num_workers=2, workers="process"))

    fail()
    gc.collect()
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            fail()
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()
