"""Calls that are replayed unasked warn, raise and draw numbers as calls do."""

from __future__ import annotations

import warnings

import pytest
from surroundings import replayer

import flambeau
import flambeau.nn.functional as F


@pytest.mark.usefixtures("at_once")
def test_warnings_are_given_each_time():
    def fn(x, y):
        return F.kl_div(x, y, reduction="mean")

    compiled = flambeau.compile(fn)
    for _ in range(5):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            compiled(flambeau.ones(3), flambeau.ones(3))
        assert len(seen) == 1


@pytest.mark.usefixtures("at_once")
def test_warnings_that_were_hidden_at_first():
    def fn(x, y):
        return F.kl_div(x, y, reduction="mean")

    compiled = flambeau.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            compiled(flambeau.ones(3), flambeau.ones(3))
    with pytest.warns(UserWarning, match="kl_div"):
        compiled(flambeau.ones(3), flambeau.ones(3))


@pytest.mark.usefixtures("at_once")
def test_warnings_that_were_given_before():
    """Once for each line, until somebody asks for them always."""
    def fn(x, y):
        return F.kl_div(x, y, reduction="mean")

    compiled = flambeau.compile(fn)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        with pytest.warns(UserWarning, match="kl_div"):
            fn(flambeau.ones(3), flambeau.ones(3))
        for _ in range(5):
            compiled(flambeau.ones(3), flambeau.ones(3))
        warnings.simplefilter("always")
        with warnings.catch_warnings(record=True) as seen:
            compiled(flambeau.ones(3), flambeau.ones(3))
    assert len(seen) == 1


@pytest.mark.usefixtures("at_once")
def test_errors_name_their_line():
    table = flambeau.randn(5, 3)

    def look_up(i):
        return F.embedding(i, table) * 2

    compiled = flambeau.compile(look_up)
    for _ in range(5):
        compiled(flambeau.tensor([1, 2]))
    assert replayer(compiled).earned()
    with pytest.raises(IndexError) as caught:
        compiled(flambeau.tensor([1, 9]))
    assert "look_up" in [entry.name for entry in caught.traceback]


@pytest.mark.usefixtures("at_once")
def test_errors_after_an_effect():
    """Which happened once, as it does uncompiled."""
    def step(x, i):
        x.add_(1)
        return x.index_select(0, i)

    compiled = flambeau.compile(step)
    x = flambeau.zeros(3)
    for _ in range(5):
        compiled(x, flambeau.tensor([1]))
    assert replayer(compiled).earned()
    version = x._version
    with pytest.raises(IndexError) as caught:
        compiled(x, flambeau.tensor([7]))
    assert x.tolist() == [6.0] * 3 and x._version == version + 1
    assert "test_automatic_errors.py" in str(caught.value.__notes__)


DRAWS = {
    "rand": lambda x: x + flambeau.rand(3),
    "dropout": lambda x: F.dropout(x, 0.5),
    "integers": lambda x: x + flambeau.randint(0, 4, (3,)) + flambeau.randperm(3),
    "normal": lambda x: flambeau.normal(x, 1.0),
    "a generator": lambda x: x + flambeau.rand(3, generator=GENERATOR),
    "nothing": lambda x: x + 1,
}
GENERATOR = flambeau.Generator()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("draw", DRAWS)
def test_numbers_are_drawn_once_before_an_error(draw):
    def fn(x, i):
        return DRAWS[draw](x).index_select(0, i)

    compiled, x, states = flambeau.compile(fn), flambeau.ones(3), []
    for _ in range(5):
        compiled(x, flambeau.tensor([1]))
    assert replayer(compiled).earned()
    for each in (fn, compiled):
        flambeau.manual_seed(1)
        GENERATOR.manual_seed(1)
        with pytest.raises(IndexError):
            each(x, flambeau.tensor([9]))
        states.append((flambeau.get_rng_state().tolist(), GENERATOR.get_state().tolist()))
    assert states[0] == states[1]


@pytest.mark.parametrize("looks", [
    lambda x, i: F.embedding(i, x), lambda x, i: F.cross_entropy(x, i),
    lambda x, i: F.nll_loss(x.log_softmax(1), i), lambda x, i: x[i], lambda x, i: x.take(i),
    lambda x, i: F.one_hot(i, 4), lambda x, i: flambeau.take_along_dim(x, i[:, None], 0),
    lambda x, i: x.index_add(0, i, x), lambda x, i: x.gather(0, i[:, None])])
def test_errors_after_an_effect_name_the_operator_that_was_called(looks):
    x, index, seen = flambeau.randn(3, 4), flambeau.tensor([0, 1, 2]), flambeau.zeros(2)

    def fn():
        seen.add_(1)
        return looks(x, index)

    compiled = flambeau.compile(fn, replay=True)
    for _ in range(4):
        compiled()
    assert compiled.earned()
    index.fill_(99)
    with pytest.raises((IndexError, RuntimeError)) as wanted:
        fn()
    with pytest.raises((IndexError, RuntimeError)) as found:
        compiled()
    assert str(found.value) == str(wanted.value)
    assert "in a replayed call" in found.value.__notes__[0]
