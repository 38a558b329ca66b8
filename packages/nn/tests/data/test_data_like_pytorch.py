"""With PyTorch's random numbers, the orders and seeds that PyTorch's loaders draw."""

from __future__ import annotations

import pytest

import flambeau
from flambeau import utils

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.oracle


@pytest.fixture(autouse=True)
def _twister():
    flambeau.random.set_algorithm("mt19937")
    yield
    flambeau.random.set_algorithm("philox")


class Noisy:
    """Samples that draw from the default generator."""

    def __init__(self, lib):
        self.lib = lib

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return self.lib.rand(2)


def check(draw):
    torch.manual_seed(7)
    flambeau.manual_seed(7)
    for _ in range(2):
        assert draw(flambeau, utils.data) == draw(torch, torch.utils.data)
    assert flambeau.get_rng_state().tolist() == torch.get_rng_state().tolist()


def batches(loader):
    return [batch.tolist() for batch in loader]


def test_samplers():
    data = range(50)
    weights = [float(i) for i in range(1, 51)]
    for seeded in (False, True):

        def generator(lib, seeded=seeded):
            return lib.Generator().manual_seed(3) if seeded else None

        for more in ({}, {"replacement": True, "num_samples": 99}, {"num_samples": 100},
                     {"num_samples": 120}):
            check(lambda lib, u, more=more: list(
                u.RandomSampler(data, generator=generator(lib), **more)))
        for again, count in ((True, 100), (False, 30)):
            check(lambda lib, u, again=again, count=count: list(u.WeightedRandomSampler(
                weights, count, again, generator=generator(lib))))
        check(lambda lib, u: list(u.SubsetRandomSampler(data, generator=generator(lib))))
    check(lambda lib, u: [list(part.indices) for part in u.random_split(data, [20, 30])])


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders(workers):
    more = {"batch_size": 4, "num_workers": workers}
    check(lambda lib, u: batches(u.DataLoader(lib.arange(30), shuffle=True, **more)))
    check(lambda lib, u: batches(u.DataLoader(lib.arange(30), shuffle=True, **more,
                                              generator=lib.Generator().manual_seed(5))))
    check(lambda lib, u: batches(u.DataLoader(Noisy(lib), **more)))
