"""The seeds of workers: what worker_init_fn seeds is left to it."""

import random

import numpy as np
import pytest
from worker_sets import KINDS

import flambeau
from flambeau.utils import data
from flambeau.utils.data._worker_seeds import _only_drawn


class Draws(data.Dataset):
    """The seed of the default generator, and a number of every stream."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        drawn = flambeau.rand((), dtype=flambeau.float64).item()
        return flambeau.initial_seed(), drawn, random.random(), np.random.rand()


class Seeds(Draws):
    def __getitem__(self, index):
        return flambeau.initial_seed()


def epoch(init=None, **options):
    """The batches as lists, a list for each number of a sample."""
    flambeau.manual_seed(3)
    loader = data.DataLoader(Draws(), 1, num_workers=2, worker_init_fn=init, **options)
    return [[part.item() for part in batch] for batch in loader]


def seed_default(worker):
    flambeau.manual_seed(12345)


def seed_python(worker):
    random.seed(flambeau.initial_seed() % 2**32)


def seed_numpy(worker):
    np.random.seed(flambeau.initial_seed() % 2**32)


def draw_only(worker):
    flambeau.rand(5)
    [random.random() for _ in range(2000)]
    np.random.rand(2000)


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_seeds_of_samples_fit_into_tensors(workers, seed):
    generator = flambeau.Generator().manual_seed(seed)
    loader = data.DataLoader(Seeds(), 3, num_workers=workers, generator=generator)
    seeds = [seed for batch in loader for seed in batch.tolist()]
    assert len(set(seeds)) == 6
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_set_in_the_beginning_holds(kind):
    batches = epoch(seed_default, workers=kind)
    own = flambeau.Generator().manual_seed(12345)
    numbers = [flambeau.rand((), dtype=flambeau.float64, generator=own).item() for _ in range(3)]
    for worker in range(2):
        mine = batches[worker::2]
        assert [batch[0] for batch in mine] == [12345] * 3
        assert [batch[1] for batch in mine] == numbers


def test_seeds_of_python_and_numpy_hold():
    plain, python, numpy = epoch(), epoch(seed_python), epoch(seed_numpy)
    flambeau.manual_seed(3)
    first = int(flambeau.empty((), dtype=flambeau.int64).random_().item())
    for worker in range(2):
        seed = (first + worker) % 2**32
        own = random.Random(seed)
        assert [batch[2] for batch in python[worker::2]] == [own.random() for _ in range(3)]
        drawn = np.random.RandomState(seed).rand(3).tolist()
        assert [batch[3] for batch in numpy[worker::2]] == drawn
    for other, changed in ((python, 2), (numpy, 3)):  # the other streams are as they were
        for column in {0, 1, 2, 3} - {changed}:
            assert [batch[column] for batch in other] == [batch[column] for batch in plain]


@pytest.mark.parametrize("kind", KINDS)
def test_drawing_in_the_beginning_seeds_nothing(kind):
    columns = 4 if kind == "process" else 2  # threads share the others with the program
    plain = [batch[:columns] for batch in epoch(None, workers=kind)]
    assert [batch[:columns] for batch in epoch(draw_only, workers=kind)] == plain


@pytest.mark.parametrize("kind", KINDS)
def test_without_seeds_of_samples_workers_and_epochs_differ(kind):
    loader = data.DataLoader(Draws(), 1, num_workers=3, workers=kind, seed_samples=False)
    drawn = [batch[1].item() for _ in range(2) for batch in loader]
    assert len(set(drawn)) == 12
    flambeau.manual_seed(7)
    again = [[batch[1].item() for batch in loader] for _ in range(2)]
    flambeau.manual_seed(7)
    assert [[batch[1].item() for batch in loader] for _ in range(2)] == again
    assert again[0] != again[1]


def test_drawn_or_seeded():
    stream = random.Random(1)
    before = stream.getstate()[1]
    for count in (0, 1, 700, 20_000):
        stream.seed(1)
        stream.getrandbits(32 * max(count, 1))
        assert _only_drawn(before, stream.getstate()[1])
    stream.seed(2)
    assert not _only_drawn(before, stream.getstate()[1])


def test_more_workers_than_processors_are_warned_of():
    with pytest.warns(UserWarning, match="num_workers=1000 is more than the .* CPUs"):
        data.DataLoader(range(2), num_workers=1000)
    data.DataLoader(range(2), num_workers=1000, workers="thread")
    data.DataLoader(range(2), num_workers=1)


@pytest.mark.parametrize(
    "sampler",
    [
        data.RandomSampler(range(50)),
        data.RandomSampler(range(5), replacement=True, num_samples=50),
        data.SubsetRandomSampler(range(50)),
        data.WeightedRandomSampler([1.0] * 50, 50),
        data.WeightedRandomSampler([1.0] * 50, 50, replacement=False),
        data.BatchSampler(data.RandomSampler(range(50)), 10, False),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_an_order_is_drawn_when_its_first_index_is_asked_for(sampler):
    orders = iter(sampler), iter(sampler)
    drawn = []
    for order in orders:
        flambeau.manual_seed(0)
        drawn.append(list(order))
    assert drawn[0] == drawn[1]
