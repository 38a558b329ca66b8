"""Pipelines compared with PyTorch's: the same stages over the same samples, and their orders."""

import random
import warnings

import pytest

import flambeau

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
theirs = pytest.importorskip("torch.utils.data.datapipes.iter", reason="PyTorch is not installed")
ours = pytest.importorskip("flambeau.utils.data.datapipes.iter")

pytestmark = pytest.mark.oracle


def third(x):
    return x % 3


def nothing_of_fives(x):
    return None if x % 5 == 0 else x % 2


PIPELINES = {
    "batch": lambda lib, n: lib.IterableWrapper(range(n)).batch(4),
    "drop": lambda lib, n: lib.IterableWrapper(range(n)).batch(4, drop_last=True).unbatch(),
    "deep": lambda lib, n: lib.IterableWrapper(range(n)).batch(2).batch(3).unbatch(-1),
    "groups": lambda lib, n: lib.IterableWrapper(range(n)).groupby(
        third, group_size=3, buffer_size=5, guaranteed_group_size=2),
    "dropped groups": lambda lib, n: lib.IterableWrapper(range(n)).groupby(
        third, group_size=4, buffer_size=4, guaranteed_group_size=3, drop_remaining=True),
    "keys": lambda lib, n: lib.IterableWrapper(range(n)).groupby(third, keep_key=True),
    "shuffle": lambda lib, n: lib.IterableWrapper(range(n)).shuffle(buffer_size=5).set_seed(3),
    "unbatched shuffle": lambda lib, n: lib.IterableWrapper(range(n)).batch(3).shuffle(
        unbatch_level=1).set_seed(1),
    "mux": lambda lib, n: lib.IterableWrapper(range(n)).mux(
        lib.IterableWrapper(range(7)), lib.IterableWrapper(range(9))),
    "zip": lambda lib, n: lib.IterableWrapper(range(n)).zip(lib.IterableWrapper("abcdefg")),
    "concat": lambda lib, n: lib.IterableWrapper(range(n)).concat(lib.IterableWrapper("ab")),
    "fork": lambda lib, n: lib.Zipper(*lib.IterableWrapper(range(n)).fork(3, copy="deep")),
    "demux": lambda lib, n: lib.Concater(*lib.IterableWrapper(range(n)).demux(
        2, nothing_of_fives, drop_none=True)),
    "shard": lambda lib, n: lib.IterableWrapper(range(n)).sharding_filter(),
    "sampler": lambda lib, n: lib.Sampler(lib.IterableWrapper(range(n))),
    "columns": lambda lib, n: lib.IterableWrapper([(i, i + 1, i + 2) for i in range(n)]).map(
        max, input_col=[2, 0]).map(str, input_col=0, output_col=-1),
    "fields": lambda lib, n: lib.IterableWrapper([{"a": i} for i in range(n)]).map(
        float, input_col="a", output_col="b"),
}


@pytest.mark.parametrize("count", [0, 1, 12, 23])
@pytest.mark.parametrize("name", PIPELINES)
def test_stages(name, count):
    found = []
    for library in (ours, theirs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipe = PIPELINES[name](library, count)
            try:
                length = len(pipe)
            except TypeError:
                length = None
            try:
                found.append((list(pipe), length, pipe._number_of_samples_yielded))
            except RuntimeError as error:
                found.append(error.args)
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(3))
def test_loaders_give_the_same_order_and_shares(seed):
    orders = []
    flambeau.random.set_algorithm("mt19937")
    try:
        for library, base in ((ours, flambeau), (theirs, torch)):
            generator = base.Generator().manual_seed(seed)
            pipe = library.IterableWrapper(range(19)).shuffle().sharding_filter()
            loaders = [base.utils.data.DataLoader(
                pipe, batch_size=4, shuffle=True, num_workers=workers, generator=generator)
                for workers in (0, 2)]
            orders.append([[batch.tolist() for batch in loader] for loader in loaders
                           for _ in range(2)])
    finally:
        flambeau.random.set_algorithm("philox")
    assert orders[0] == orders[1]


def test_shares_of_shares():
    draw = random.Random(0)
    for _ in range(40):
        counts = [draw.randint(1, 4) for _ in range(3)]
        shares = [(count, draw.randrange(count), group)
                  for count, group in zip(counts, draw.sample(range(2, 9), 3), strict=True)]
        only = draw.choice([None, shares[0][2]])
        found = []
        for library in (ours, theirs):
            pipe = library.IterableWrapper(range(50)).sharding_filter(only)
            for count, index, group in shares:
                pipe.apply_sharding(count, index, group)
            found.append((list(pipe), len(pipe)))
        assert found[0] == found[1]
