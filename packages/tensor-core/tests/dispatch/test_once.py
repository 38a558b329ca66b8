"""What is made on first use is made once: in threads, nested, after errors, across a fork."""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

import flambeau
from flambeau.core import register_op
from flambeau.core.once import first_use, once

THREADS = 8


def in_threads(function):
    """What eight threads get that call a function at the same time."""
    barrier, results = threading.Barrier(THREADS), []

    def work():
        barrier.wait(60)
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert len(results) == THREADS
    return results


def test_threads_get_the_one_object():
    @once
    def make(name):
        time.sleep(0.01)
        return [name]

    results = in_threads(lambda: make("a"))
    assert all(result is results[0] for result in results)
    assert make("b") == ["b"]


def test_one_may_make_another():
    @once
    def inner():
        time.sleep(0.01)
        return object()

    @once
    def outer():
        return inner()

    results = in_threads(lambda: (outer(), inner()))
    assert {id(value) for pair in results for value in pair} == {id(inner())}


def test_what_failed_is_tried_again():
    calls = []

    @once
    def make():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("the first time")
        return 5

    results = in_threads(make)
    assert sorted(map(repr, results)) == sorted(["ValueError('the first time')", *["5"] * 7])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_waits_for_what_is_being_made():
    begun = threading.Event()

    @once
    def make():
        begun.set()
        time.sleep(0.2)
        return 5

    thread = threading.Thread(target=make)
    thread.start()
    assert begun.wait(60)
    child = os.fork()
    if child == 0:
        os._exit(make() if first_use.acquire(timeout=30) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    thread.join()


def test_one_of_several_registrations_wins():
    results = in_threads(lambda: register_op("once_twice(Operand x)", "x + x"))
    errors = [result for result in results if isinstance(result, ValueError)]
    operator, = [result for result in results if result not in errors]
    assert len(errors) == THREADS - 1
    assert all("'once_twice' is already in the table" in str(error) for error in errors)
    assert operator(flambeau.ones(1)).item() == 2


def test_threads_draw_different_numbers():
    flambeau.manual_seed(0)
    drawn = [value for values in in_threads(lambda: [flambeau.rand(4) for _ in range(100)])
             for value in values]
    assert len({tuple(value.tolist()) for value in drawn}) == 100 * THREADS
    flambeau.manual_seed(0)
    expected = [flambeau.rand(4) for _ in range(100 * THREADS)]
    assert {tuple(value.tolist()) for value in drawn} == {tuple(v.tolist()) for v in expected}


def test_default_devices_are_those_of_a_thread():
    def work():
        with flambeau.device("meta" if next(turns) % 2 else "cpu") as device:
            time.sleep(0.001)
            return flambeau.zeros(1).device == device

    turns = iter(range(THREADS))
    assert in_threads(work) == [True] * THREADS
