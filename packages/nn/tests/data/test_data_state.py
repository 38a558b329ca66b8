"""Where a loader is: saving it in mid-epoch, and going on from there."""

import random

import numpy as np
import pytest

import flambeau
from flambeau.utils import data


def generator(seed=5):
    return flambeau.Generator().manual_seed(seed)


def take(loader, count):
    batches = iter(loader)
    return [next(batches).tolist() for _ in range(count)], loader.state_dict()


def lists(loader):
    return [batch.tolist() for batch in loader]


def test_later_epochs_come_from_the_generator_in_the_state():
    def make(seed):
        return data.DataLoader(range(10), 3, shuffle=True, generator=generator(seed))

    loader = make(1)
    whole = [lists(loader) for _ in range(4)]
    loader = make(1)
    lists(loader)
    _, state = take(loader, 2)
    again = make(77)
    again.load_state_dict(state)
    assert lists(again) == whole[1][2:]
    assert [lists(again) for _ in range(2)] == whole[2:]


def test_between_epochs():
    loader = data.DataLoader(range(6), 2, shuffle=True, generator=generator())
    first, second = lists(loader), lists(loader)
    loader = data.DataLoader(range(6), 2, shuffle=True, generator=generator())
    fresh = loader.state_dict()
    assert lists(loader) == first
    between = loader.state_dict()
    for state, expected in ((fresh, first), (between, second)):
        again = data.DataLoader(range(6), 2, shuffle=True, generator=generator(9))
        again.load_state_dict(state)
        assert lists(again) == expected


def test_after_the_last_batch_the_epoch_has_none_left():
    loader = data.DataLoader(range(4), 2)
    _, state = take(loader, 2)
    again = data.DataLoader(range(4), 2)
    again.load_state_dict(state)
    assert lists(again) == []
    assert lists(again) == [[0, 1], [2, 3]]


def test_fast_path():
    dataset = data.TensorDataset(flambeau.arange(10))
    flambeau.manual_seed(3)
    whole = [batch.tolist() for (batch,) in data.DataLoader(dataset, 3, shuffle=True)]
    flambeau.manual_seed(3)
    loader = data.DataLoader(dataset, 3, shuffle=True)
    batches = iter(loader)
    next(batches)
    again = data.DataLoader(dataset, 3, shuffle=True)
    again.load_state_dict(loader.state_dict())
    assert [batch.tolist() for (batch,) in again] == whole[1:]


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"sampler": data.SubsetRandomSampler([3, 1, 4, 5, 9, 2, 6], generator(2))},
        lambda: {"sampler": data.WeightedRandomSampler([1.0] * 10, 7, generator=generator(2))},
        lambda: {"sampler": data.WeightedRandomSampler([1.0] * 10, 7)},
        lambda: {"sampler": data.RandomSampler(range(10), generator=generator(4))},
        lambda: {"sampler": Shuffled(10)},
        lambda: {"sampler": Counting(10)},
        lambda: {"sampler": data.DistributedSampler(range(10), 2, 0, seed=8)},
        lambda: {"batch_sampler": data.BatchSampler(data.RandomSampler(range(10)), 2, False)},
        lambda: {"batch_size": None, "shuffle": True},
    ],
)
def test_samplers(make):
    flambeau.manual_seed(11)
    random.seed(11)
    np.random.seed(11)
    options = make()
    if "batch_sampler" not in options:
        options.setdefault("batch_size", 2)
    loader = data.DataLoader(range(10), collate_fn=flambeau.tensor, **options)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = [batch.tolist() for batch in batches]
    flambeau.manual_seed(12)
    random.seed(12)
    options = make()
    if "batch_sampler" not in options:
        options.setdefault("batch_size", 2)
    again = data.DataLoader(range(10), collate_fn=flambeau.tensor, **options)
    again.load_state_dict(state)
    before = random.getstate()
    assert lists(again) == rest
    assert random.getstate() == before


class Shuffled(data.Sampler):
    """A sampler that draws from streams that are not ours."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        order = np.random.permutation(self.size).tolist()
        random.shuffle(order)
        return iter(order)

    def __len__(self):
        return self.size


class Counting(data.Sampler):
    """A sampler with a state of its own."""

    def __init__(self, size):
        self.size = size
        self.start = random.randrange(100)

    def __iter__(self):
        self.start += 1
        return iter([(self.start + i) % self.size for i in range(self.size)])

    def __len__(self):
        return self.size

    def state_dict(self):
        return {"start": self.start}

    def load_state_dict(self, state):
        self.start = state["start"]


def test_the_state_fits_a_file(tmp_path):
    _, state = take(data.DataLoader(range(10), 2, sampler=Shuffled(10)), 2)
    flambeau.save(state, tmp_path / "state.safetensors")
    assert flambeau.load(tmp_path / "state.safetensors") == state


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: data.DataLoader(range(9), 2), "dataset length 10, but this one has 9"),
        (lambda: data.DataLoader(range(10), 3), "batch_size 2, but this one has 3"),
        (lambda: data.DataLoader(range(10), 2, drop_last=True), "drop_last False"),
        (lambda: data.DataLoader(range(10), 2, shuffle=True), "'RandomSampler'"),
    ],
)
def test_another_loader_is_refused(other, text):
    state = data.DataLoader(range(10), 2).state_dict()
    with pytest.raises(ValueError, match=text):
        other().load_state_dict(state)


def test_a_missing_generator_is_told():
    state = data.DataLoader(range(10), 2, generator=generator()).state_dict()
    with pytest.raises(ValueError, match="1 generators, but this loader has 0"):
        data.DataLoader(range(10), 2).load_state_dict(state)
    with pytest.raises(ValueError, match="format 7"):
        data.DataLoader(range(10), 2).load_state_dict({**state, "format": 7})


def test_batches_without_an_order_cannot_be_resumed():
    loader = data.DataLoader(range(10), 2, num_workers=2, workers="thread", in_order=False)
    with pytest.raises(ValueError, match="leave in_order out"):
        take(loader, 1)
    list(loader)
    assert loader.state_dict()["batches"] == 0


def test_an_epoch_of_kept_workers_is_taken_up_again():
    def made():
        return data.DataLoader(range(20), 2, shuffle=True, num_workers=1, persistent_workers=True,
                               generator=generator(3))

    loader = made()
    list(loader)
    epoch = iter(loader)
    next(epoch)
    state = loader.state_dict()
    again = made()
    again.load_state_dict(state)
    assert [each.tolist() for each in again] == [each.tolist() for each in epoch]
