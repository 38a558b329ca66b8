"""PyTorch's random numbers: the Mersenne Twister, and what is made of its words.

Expected values are those of PyTorch 2.13 on a CPU; the file beside it compares many more.
"""
from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

import flambeau as fl


@pytest.fixture(autouse=True)
def _twister():
    fl.random.set_algorithm("mt19937")
    fl.manual_seed(0)
    yield
    fl.random.set_algorithm("philox")


def near(values):
    return pytest.approx(values, rel=1e-8)


def test_one_stream_gives_what_pytorch_draws_from_seed_0():
    assert fl.rand(3).tolist() == near([0.49625659, 0.768221796, 0.0884774327])
    assert fl.randn(3).tolist() == near([0.364338189, 0.13439633, 0.16421625])
    many = fl.randn(17).tolist()
    assert [many[i] for i in (0, 1, 15, 16)] == near(
        [-0.204101726, 0.166455343, -0.289667696, 0.0525074862])
    assert fl.randint(10, (5,)).tolist() == [1, 7, 3, 5, 2]
    assert fl.randint(1 << 40, (2,)).tolist() == [720007978272, 829544385801]
    assert fl.randperm(6).tolist() == [1, 2, 0, 5, 4, 3]
    assert fl.empty(6).bernoulli_(0.3).tolist() == [1, 0, 0, 1, 1, 0]
    assert fl.empty(2).exponential_().tolist() == near([2.49502754, 0.848724842])
    weights = fl.tensor([1.0, 2.0, 3.0, 4.0])
    assert fl.multinomial(weights, 3).tolist() == [3, 2, 0]
    assert fl.multinomial(weights, 6, replacement=True).tolist() == [0, 3, 2, 2, 2, 3]
    assert fl.empty(2, dtype=fl.int64).random_().tolist() == [
        2378270433224750976, 5818626042291210851]
    assert fl.rand(2, dtype=fl.float16).tolist() == near([0.109985352, 0.212036133])
    assert fl.randn(2, dtype=fl.float64).tolist() == near([0.305761021, 0.0627188296])
    assert fl.poisson(fl.tensor([0.5, 20.0])).tolist() == [0, 18]
    assert fl.empty(2).cauchy_().tolist() == near([0.946180284, -71.3181534])
    assert fl.empty(3).geometric_(0.2).tolist() == [3, 3, 14]
    assert fl.empty(2).log_normal_().tolist() == near([0.587069213, 119.79966])
    assert fl.rand(1).tolist() == near([0.325083315])


def test_numbers_are_drawn_in_the_order_of_the_memory():
    plain = fl.rand(3, 4)
    fl.manual_seed(0)
    assert fl.equal(fl.empty(3, 4).t().uniform_().t(), plain)
    fl.manual_seed(0)
    assert fl.rand_like(fl.empty(3, 4).t()).t().tolist() == plain.tolist()


def test_states_are_those_of_pytorch_and_bring_numbers_back():
    fl.empty(2, dtype=fl.float64).normal_(), fl.randn(1)
    state = fl.get_rng_state()
    assert (state.dtype, state.shape) == (fl.uint8, (5056,))
    # the seed, 5 words drawn of 624 after one twist, and half a pair of normal numbers
    assert state[:24].tolist() == [0] * 8 + [617 & 255, 617 >> 8, 0, 0, 1, 0, 0, 0, 8, *[0] * 7]
    assert state[5040].item() == 1
    numbers = fl.randn(5).tolist()
    fl.rand(1000)
    fl.set_rng_state(state)
    assert fl.randn(5).tolist() == numbers
    with pytest.raises(ValueError, match="5056 bytes"):
        fl.set_rng_state(state[:7])
    with pytest.raises(RuntimeError, match="no state"):
        fl.set_rng_state(fl.full((5056,), 255, dtype=fl.uint8))


def test_generators_choose_for_themselves():
    own = fl.Generator(algorithm="philox").manual_seed(3)
    twister = fl.Generator().manual_seed(3)
    assert (own.algorithm, twister.algorithm) == ("philox", "mt19937")
    drawn = fl.rand(4, generator=own)
    fl.random.set_algorithm("philox")
    assert fl.random.get_algorithm() == "philox"
    assert fl.equal(fl.rand(4, generator=fl.Generator().manual_seed(3)), drawn)
    assert not fl.equal(fl.rand(4, generator=twister.clone_state()), drawn)
    assert fl.equal(fl.rand(4, generator=pickle.loads(pickle.dumps(twister))),
                    fl.rand(4, generator=copy.copy(twister)))
    own.set_state(twister.get_state())
    assert own.algorithm == "mt19937"
    with pytest.raises(ValueError, match="'mersenne'"):
        fl.Generator(algorithm="mersenne")


def test_bounds_are_kept():
    x = fl.empty(5000).uniform_(1e7, 1e7 + 1)
    assert x.min() == x.max() == 1e7           # the end is excluded, as rounding may reach it
    assert fl.empty(3000, dtype=fl.bfloat16).uniform_(0, 1).max() < 1
    for dtype in (fl.bool, fl.int8, fl.uint8, fl.int16, fl.int32, fl.uint16, fl.uint32):
        assert fl.empty(3000, dtype=dtype).random_().long().min() >= 0
    assert fl.empty(0).normal_().numel() == fl.randperm(0).numel() == 0
    fl.empty(500, dtype=fl.int64).random_(-2 ** 63, None)


def test_every_level_of_instructions_draws_the_same():
    code = ("import flambeau as fl; fl.random.set_algorithm('mt19937'); fl.manual_seed(1); "
            "print(fl.randn(999).tolist(), fl.rand(9, dtype=fl.float64).mul_(3).tolist())")
    texts = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            check=True, env={"FLAMBEAU_ISA": level}).stdout
             for level in ("v2", fl.core.isa_level())}
    assert len(texts) == 1
