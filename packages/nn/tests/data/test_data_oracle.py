"""Data sets, samplers and batches as PyTorch makes them."""

from collections import OrderedDict, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import flambeau
from flambeau.utils import data as ours

torch = pytest.importorskip("torch")
from torch.utils import data as theirs  # noqa: E402

pytestmark = pytest.mark.oracle
LIBRARIES = (SimpleNamespace(base=flambeau, data=ours), SimpleNamespace(base=torch, data=theirs))
Point = namedtuple("Point", "x y")
THING = object()


def plain(value):
    """Containers with lists and dtype names instead of tensors."""
    if isinstance(value, flambeau.Tensor | torch.Tensor):
        return str(value.dtype).split(".")[1], value.tolist()
    if isinstance(value, dict):
        return type(value), {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [plain(each) for each in value]
    return value


def both(make):
    """What a function of a library gives in ours and in PyTorch; error types count too."""
    found = []
    for library in LIBRARIES:
        try:
            found.append(plain(make(library)))
        except Exception as error:
            found.append(type(error).__name__)
    return found


COLLATED = [
    lambda t: [1, 2, 3],
    lambda t: [1.5, 2],
    lambda t: [1, 2.5],
    lambda t: [True, 2],
    lambda t: [np.str_("a"), np.str_("b")],
    lambda t: [np.array("a")],
    lambda t: [range(2), range(2)],
    lambda t: [None, None],
    lambda t: [True, False],
    lambda t: [np.float32(1), np.float32(2)],
    lambda t: [np.ones(2, "i2"), np.zeros(2, "i2")],
    lambda t: [np.ones(2, "f4"), np.zeros(2, "f8")],
    lambda t: [np.ones((2, 3)).T, np.zeros((3, 2))],
    lambda t: [np.ones((0, 2), bool), np.zeros((0, 2), bool)],
    lambda t: [t.ones(2, 3), t.zeros(2, 3)],
    lambda t: [t.tensor(1), t.tensor(2)],
    lambda t: ["a", "b"],
    lambda t: [b"a", b"b"],
    lambda t: [(1, "a", 2.0), (2, "b", 3.0)],
    lambda t: [[1, 2], [3, 4]],
    lambda t: [{"x": 1, "y": [1, 2]}, {"x": 2, "y": [3, 4]}],
    lambda t: [OrderedDict(a=t.ones(1)), OrderedDict(a=t.zeros(1))],
    lambda t: [Point(1, t.ones(2)), Point(2, t.zeros(2))],
    lambda t: [t.ones(2), t.ones(3)],
    lambda t: [(1, 2), (1,)],
    lambda t: [THING],
    lambda t: [{"a": 1}, {"b": 1}],
]


@pytest.mark.parametrize("samples", COLLATED)
def test_collating(samples):
    mine, reference = both(lambda lib: lib.data.default_collate(samples(lib.base)))
    assert mine == reference
    mine, reference = both(lambda lib: lib.data.default_convert(samples(lib.base)))
    assert mine == reference


class Squares:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index >= self.size:
            raise IndexError
        return index**2, f"{index}"


LOADERS = [
    {"batch_size": 3},
    {"batch_size": 3, "drop_last": True},
    {"batch_size": None},
    {"batch_size": 20},
    {"batch_size": 2, "sampler": [4, 1, 1, 0, 3]},
    {"batch_sampler": [[0, 1], [5], [2, 2, 2]]},
    {"batch_size": 4, "collate_fn": len},
    {"batch_size": 0},
    {"batch_size": 2, "shuffle": True, "sampler": [1]},
    {"batch_size": 2, "batch_sampler": [[1]]},
    {"batch_size": None, "drop_last": True},
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"persistent_workers": True},
    {"batch_size": 3, "num_workers": 2},
    {"batch_size": None, "num_workers": 2},
]


@pytest.mark.parametrize("options", LOADERS)
def test_loading(options):
    def load(library):
        loader = library.data.DataLoader(Squares(10), **options)
        return [len(loader), *loader]

    mine, reference = both(load)
    assert mine == reference


def iterable_of(library):
    class Count(library.data.IterableDataset):
        def __iter__(self):
            return iter(range(7))

    return Count()


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True},
        {"batch_size": None},
        {"batch_size": 3, "num_workers": 1},
        {"batch_size": 3, "num_workers": 2},
        {"batch_size": None, "num_workers": 2},
        {"shuffle": True},
        {"sampler": [0]},
        {"batch_sampler": [[0]]},
    ],
)
def test_loading_an_iterable(options):
    mine, reference = both(lambda lib: list(lib.data.DataLoader(iterable_of(lib), **options)))
    assert mine == reference


def test_sets_of_sets():
    def make(lib):
        d, t = lib.data, lib.base
        rows = d.TensorDataset(t.arange(6), t.arange(12).reshape(6, 2))
        joined = d.ConcatDataset([rows, d.Subset(rows, [3, 1])])
        stacked = d.StackDataset(a=rows, b=Squares(6))
        chained = d.ChainDataset([iterable_of(lib), iterable_of(lib)])
        return [
            len(joined),
            joined[7],
            joined[-8],
            joined.cumulative_sizes,
            stacked[2],
            stacked.__getitems__([1, 4]),
            list(chained),
        ]

    mine, reference = both(make)
    assert mine == reference


@pytest.mark.parametrize(
    "lengths",
    [
        [7, 3],
        [0.5, 0.5],
        [0.3, 0.3, 0.4],
        [0.1, 0.2, 0.7],
        [1 / 3] * 3,
        [10],
        [7, 2],
        [0.5, 0.6],
        [1.0],
        [0, 10],
    ],
)
@pytest.mark.parametrize("size", [10, 11])
def test_splitting(lengths, size):
    mine, reference = both(
        lambda lib: [len(part) for part in lib.data.random_split(range(size), lengths)]
    )
    assert mine == reference


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("size", "count"), [(10, 3), (2, 5), (9, 3)])
def test_shares(size, count, drop_last):
    for rank in range(count):
        mine, reference = both(
            lambda lib, rank=rank: list(
                lib.data.DistributedSampler(
                    range(size), count, rank, shuffle=False, drop_last=drop_last
                )
            )
        )
        assert mine == reference


def test_names():
    assert set(theirs.__all__) - set(ours.__all__) == {"_DatasetKind"}


def test_kept_workers_draw_no_further_seed():
    flambeau.random.set_algorithm("mt19937")
    try:
        orders = []
        for library in LIBRARIES:
            generator = library.base.Generator().manual_seed(5)
            loader = library.data.DataLoader(range(11), 4, shuffle=True, num_workers=1,
                                             persistent_workers=True, generator=generator)
            orders.append([[batch.tolist() for batch in loader] for _ in range(3)])
        assert orders[0] == orders[1]
    finally:
        flambeau.random.set_algorithm("philox")
