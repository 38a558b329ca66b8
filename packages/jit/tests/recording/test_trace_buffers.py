"""Modules whose buffers follow the input's size, or do not."""

import pytest

import flambeau as fl
from flambeau import jit
from flambeau.jit.errors import TraceError


class Fixed:
    """Writes a buffer that has one size."""

    def __init__(self):
        self.kept = fl.zeros(2)

    def __call__(self, x):
        self.kept.copy_(x.mean(1))
        return x * 2


class Following:
    """Makes its buffer anew for other sizes."""

    def __init__(self):
        self.kept = fl.zeros(2)

    def __call__(self, x):
        if self.kept.shape[0] != x.shape[0]:
            self.kept = x.new_zeros(x.shape[0])
        self.kept += x.mean(1)
        return x * 2 + self.kept[:, None]


def test_a_buffer_of_one_size_fixes_the_program():
    program = jit.trace(Fixed(), fl.ones(2, 3))
    assert program.graph.fixed and program(fl.ones(2, 3)).sum() == 12


def test_a_named_size_that_a_buffer_does_not_follow():
    with pytest.raises(TraceError, match=r"dynamic= lets N \(here 2\) vary, but with other sizes"):
        jit.trace(Fixed(), fl.ones(2, 3), dynamic={0: {0: "N"}})


def test_an_error_at_the_given_sizes_is_the_one_that_is_raised():
    with pytest.raises(RuntimeError, match=r"\[2\] and \[3\] do not broadcast"):
        jit.trace(Fixed(), fl.ones(3, 3))


def test_a_buffer_made_while_recording_is_no_part_of_a_program():
    with pytest.raises(TraceError, match="still held after the call"):
        jit.trace(Following(), fl.ones(2, 3))
    program = jit.trace(Following(), fl.ones(2, 3), dynamic=False)
    assert program(fl.ones(2, 3)).tolist() == [[3.0] * 3] * 2
