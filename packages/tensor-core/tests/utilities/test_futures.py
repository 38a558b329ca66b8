"""Futures: errors of callbacks, and what cannot be sent."""
import pickle

import pytest

from flambeau.futures import Future, wait_all


def test_errors_of_callbacks_are_told_by_the_next_future():
    def fail(done):
        raise ValueError("no such thing")

    first = Future()
    later, latest = first.then(fail), first.then(fail).then(lambda done: done.value())
    first.set_result(1)
    for future in (later, latest):
        with pytest.raises(RuntimeError, match="running the callback.*no such thing") as caught:
            future.wait()
    with pytest.raises(RuntimeError, match="no such thing"):
        wait_all([first, later])
    with pytest.raises(RuntimeError, match="no such thing") as caught:
        later.value()
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_future_is_not_sent():
    with pytest.raises(RuntimeError, match="Can not pickle"):
        pickle.dumps(Future())
