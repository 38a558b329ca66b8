"""Arguments with __torch_function__, which answer for a call that no tensor can take part in."""

import subprocess
import sys

import pytest

import flambeau


class Answer:
    """Says what was called with it."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, types, args, kwargs or {}


@pytest.fixture
def given():
    return Answer()


def test_a_call_is_answered_by_its_argument(given):
    assert flambeau.relu(given) == ("relu", (Answer,), (given,), {})
    x = flambeau.ones(2)
    assert flambeau.add(x, other=given) == ("add", (Answer,), (x,), {"other": given})
    assert x.mul_(given)[:2] == ("mul_", (Answer,))


def test_arguments_inside_lists_answer(given):
    assert flambeau.cat([flambeau.ones(2), given])[0] == "cat"
    assert flambeau.ones(2).reshape(given, 1)[0] == "reshape"


def test_a_call_that_all_decline_says_so():
    class Declines:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="no implementation found"):
        flambeau.relu(Declines())


def test_errors_of_the_answer_are_its_own():
    class Raises:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        flambeau.relu(Raises())


def test_other_errors_stay():
    with pytest.raises(TypeError, match="not object"):
        flambeau.relu(object())
    with pytest.raises(RuntimeError):
        flambeau.ones(2) + flambeau.ones(3)


def test_the_first_error_of_a_process_stays():
    """Classes are looked into with the error set aside: Python's cache would clear it."""
    code = "import flambeau; flambeau.zeros(0).as_strided((2, 2), (1, 1))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "RuntimeError: as_strided()" in ran.stderr
