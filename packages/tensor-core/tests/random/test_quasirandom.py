"""Sobol' sequences: Joe and Kuo's numbers, and what scrambling keeps."""

import pickle

import pytest

import flambeau
from flambeau.core.sobol import direction_numbers
from flambeau.quasirandom import SobolEngine


def test_the_first_points():
    points = SobolEngine(3).draw(6).tolist()
    assert points == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75],
                      [0.375, 0.375, 0.625], [0.875, 0.875, 0.125]]


def test_going_on_is_as_if_at_once():
    whole = SobolEngine(4).draw(16)
    engine = SobolEngine(4)
    parts = [engine.draw(5), engine.fast_forward(2).draw(3), engine.draw(6)]
    assert flambeau.cat(parts).equal(flambeau.cat([whole[:5], whole[7:]]))
    assert engine.num_generated == 16
    assert pickle.loads(pickle.dumps(engine)).reset().draw_base2(4).equal(whole)
    assert engine.reset().draw(2, dtype=flambeau.float64).dtype == flambeau.float64
    out = flambeau.empty(0)
    assert engine.draw(2, out=out) is out
    assert out.equal(whole[2:4])


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="dimension must be 1 to 21201, got 21202"):
        SobolEngine(SobolEngine.MAXDIM + 1)
    engine = SobolEngine(1).fast_forward(3)
    with pytest.raises(ValueError, match=r"3 points were drawn, and 2\*\*1 more make 5"):
        engine.draw_base2(1)
    for call in (lambda: engine.draw(-1), lambda: engine.fast_forward(1 << 30)):
        with pytest.raises(ValueError, match="n must be 0 or more"):
            call()
    with pytest.raises(TypeError, match="dtype must be one of floating-point numbers"):
        engine.draw(dtype=flambeau.int64)


def test_scrambled_points_are_as_even():
    engine = SobolEngine(5, scramble=True, seed=3)
    points = engine.draw_base2(6)
    assert points.equal(SobolEngine(5, scramble=True, seed=3).draw(64))
    assert not points.equal(SobolEngine(5, scramble=True, seed=4).draw(64))
    strips = (points * 64).long().sort(0).values        # each of 64 strips holds one point
    assert strips.equal(flambeau.arange(64).unsqueeze(1).expand(64, 5))


@pytest.mark.oracle
def test_direction_numbers_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    theirs = torch.quasirandom.SobolEngine(SobolEngine.MAXDIM)
    assert (direction_numbers(SobolEngine.MAXDIM) == theirs.sobolstate.numpy()).all()
    mine = SobolEngine(40).draw(100)
    assert mine.tolist() == torch.quasirandom.SobolEngine(40).draw(100).tolist()


@pytest.mark.oracle
def test_scrambled_points_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for dimension, seed in ((3, 0), (40, 123456), (2, 1 << 33), (2, -1)):
        theirs = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
        assert SobolEngine(dimension, True, seed).draw(9).tolist() == theirs.draw(9).tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("seed", (None, 0, 123))
def test_generators_and_seeds_give_the_points_of_pytorch(seed):
    torch = pytest.importorskip("torch")
    before = flambeau.random.get_algorithm()
    flambeau.random.set_algorithm("mt19937")
    try:
        flambeau.manual_seed(5)
        torch.manual_seed(5)
        ours = SobolEngine(7, scramble=True, seed=seed)
        theirs = torch.quasirandom.SobolEngine(7, scramble=True, seed=seed)
        for call in (lambda e: e.draw(5), lambda e: e.fast_forward(11).draw(3),
                     lambda e: e.reset().draw_base2(4)):
            assert call(ours).tolist() == call(theirs).tolist()
        assert ours.sobolstate.tolist() == theirs.sobolstate.tolist()
    finally:
        flambeau.random.set_algorithm(before)
