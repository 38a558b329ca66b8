"""Datasets made of others, padding, and samplers for several processes."""

import collections

import pytest

import flambeau
from flambeau.utils import data


class Count(data.IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return iter(range(self.size))

    def __len__(self):
        return self.size


def test_stack():
    pairs = data.StackDataset(range(3), "abc")
    assert pairs[1] == (1, "b")
    assert len(pairs) == 3
    assert pairs.__getitems__([2, 0]) == [(2, "c"), (0, "a")]
    named = data.StackDataset(x=data.TensorDataset(flambeau.arange(3)), y="abc")
    assert named[2]["y"] == "c"
    assert [sample["x"][0].item() for sample in named.__getitems__([2, 1])] == [2, 1]
    with pytest.raises(ValueError, match="both"):
        data.StackDataset([1], x=[1])
    with pytest.raises(ValueError, match="none"):
        data.StackDataset()
    with pytest.raises(ValueError, match=r"\[1, 2\]"):
        data.StackDataset([1], [1, 2])


def test_chain():
    chain = Count(2) + Count(3)
    assert list(chain) == [0, 1, 0, 1, 2]
    assert len(chain) == 5
    with pytest.raises(AssertionError, match="ConcatDataset"):
        list(data.ChainDataset([Count(1), [1]]))


def test_getitems_of_tensors_is_getitem_many_times():
    dataset = data.TensorDataset(flambeau.arange(6).reshape(3, 2), flambeau.arange(3))
    for made, index in zip(dataset.__getitems__([2, -3]), (2, 0), strict=True):
        assert [part.tolist() for part in made] == [part.tolist() for part in dataset[index]]
    with pytest.raises(IndexError, match="index 3 is out of range for 3"):
        dataset.__getitems__([3])

    class Doubled(data.TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * part for part in super().__getitem__(index))

    doubled = Doubled(flambeau.arange(3))
    assert [part.tolist() for (part,) in doubled.__getitems__([1, 2])] == [2, 4]


def test_negative_indices_of_a_subset_on_the_fast_path():
    subset = data.Subset(data.TensorDataset(flambeau.arange(5)), [-1, 0, -2])
    ((batch,),) = data.DataLoader(subset, 3)
    assert batch.tolist() == [4, 0, 3]


def test_a_tensor_of_samples_is_a_batch():
    class Whole:
        def __getitems__(self, indices):
            return flambeau.tensor(indices) * 10

        def __len__(self):
            return 4

    assert [batch.tolist() for batch in data.DataLoader(Whole(), 2)] == [[0, 10], [20, 30]]


def test_mappings_keep_their_type():
    batch = data.default_collate([collections.OrderedDict(a=1), collections.OrderedDict(a=2)])
    assert type(batch) is collections.OrderedDict
    assert batch["a"].tolist() == [1, 2]


def test_shapes_that_differ_are_told():
    with pytest.raises(RuntimeError) as error:
        data.default_collate([flambeau.zeros(2), flambeau.zeros(3)])
    assert "[(2,), (3,)]" in error.value.__notes__[0]
    assert "pad_collate" in error.value.__notes__[0]


def test_padding():
    rows = [flambeau.tensor([1.0, 2.0]), flambeau.tensor([3.0])]
    assert data.pad_collate(rows).tolist() == [[1, 2], [3, 0]]
    assert data.pad_collate(rows, -1, "left").tolist() == [[1, 2], [-1, 3]]
    padded, lengths = data.pad_collate(rows, return_lengths=True)
    assert lengths.tolist() == [2, 1]
    images = [flambeau.ones(1, 2), flambeau.ones(2, 1)]
    assert data.pad_collate(images).tolist() == [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]
    batch = data.pad_collate([{"tokens": [1, 2], "y": 0}, {"tokens": [], "y": 1}])
    assert batch["tokens"].tolist() == [[1, 2], [0, 0]]
    assert batch["tokens"].dtype == flambeau.int64
    assert batch["y"].tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"\(2,\), \(1, 2\)"):
        data.pad_collate([flambeau.zeros(2), flambeau.zeros(1, 2)])
    with pytest.raises(ValueError, match="'up'"):
        data.pad_collate(rows, side="up")


@pytest.mark.parametrize("size", [1, 7, 8])
def test_distributed_shares(size):
    for drop_last in (False, True):
        shares = [
            list(data.DistributedSampler(range(size), 3, rank, drop_last=drop_last))
            for rank in range(3)
        ]
        assert len({len(share) for share in shares}) == 1
        seen = collections.Counter(sum(shares, []))
        if drop_last:
            assert max(seen.values(), default=0) <= 1
        else:
            assert set(seen) == set(range(size))
    sampler = data.DistributedSampler(range(20), 1, 0)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    with pytest.raises(ValueError, match="init_process_group"):
        data.DistributedSampler(range(3))
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        data.DistributedSampler(range(3), 2, 2)


def test_an_own_default_generator():
    flambeau.manual_seed(4)
    expected = flambeau.rand(3).tolist()
    flambeau.manual_seed(0)
    here = flambeau.get_rng_state().tolist()
    with flambeau.random.use_generator(flambeau.Generator().manual_seed(4)):
        assert flambeau.rand(3).tolist() == expected
        with flambeau.random.use_generator(flambeau.Generator().manual_seed(4)):
            assert flambeau.rand(3).tolist() == expected
        assert flambeau.initial_seed() == 4
        flambeau.manual_seed(5)
    assert flambeau.get_rng_state().tolist() == here


def test_pinning_asks_the_backend(monkeypatch):
    from flambeau.core import backends

    class Locks:
        made = []

        def pinned(self, nbytes):
            self.made.append(bytearray(nbytes + 100))
            return self.made[-1]

    monkeypatch.setitem(backends._adapters, "cuda", Locks())
    Point = collections.namedtuple("Point", "x y")
    samples = [
        {"p": Point(flambeau.ones(3), 1), "s": "a"},
        {"p": Point(flambeau.zeros(3), 2), "s": "b"},
    ]
    (batch,) = data.DataLoader(samples, 2, pin_memory=True)
    assert batch["p"].x.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert batch["p"].y.tolist() == [1, 2]
    assert batch["s"] == ["a", "b"]
    assert [len(memory) for memory in Locks.made] == [24 + 100, 16 + 100]
    batch["p"].y.fill_(7)
    assert Locks.made[1][0] == 7

    class Own:
        def pin_memory(self):
            return "pinned by itself"

    loader = data.DataLoader([0], collate_fn=lambda _: Own(), pin_memory=True)
    assert list(loader) == ["pinned by itself"]


@pytest.mark.parametrize("workers", [None, "thread", "process"])
def test_any_sampler_is_fast_over_tensors(workers, monkeypatch):
    """Reading single samples would fail, here and in forked processes."""
    monkeypatch.setattr(data.TensorDataset, "__getitem__", lambda *_: pytest.fail("one by one"))
    monkeypatch.setattr(data.TensorDataset, "__getitems__", lambda *_: pytest.fail("in a list"))
    dataset = data.TensorDataset(flambeau.arange(10), flambeau.arange(10) * 2)
    options = {"num_workers": 1, "workers": workers} if workers else {}
    if workers == "process":
        options["multiprocessing_context"] = "fork"
    samplers = [
        [3, -1, flambeau.tensor(4)],
        data.SubsetRandomSampler([5]),
        data.WeightedRandomSampler([0.0, 1.0], 2),
    ]
    found = [
        [x.tolist() for x, _ in data.DataLoader(dataset, 2, sampler=each, **options)]
        for each in samplers
    ]
    assert found == [[[3, 9], [4]], [[5]], [[1, 1]]]
    with pytest.raises(IndexError, match="index 10 is out of range for 10"):
        list(data.DataLoader(dataset, batch_sampler=[[10]], **options))


def test_what_is_no_number_is_left_to_the_dataset():
    dataset = data.TensorDataset(flambeau.arange(4))
    ((batch,),) = data.DataLoader(dataset, batch_sampler=[[slice(0, 2), slice(2, 4)]])
    assert batch.tolist() == [[0, 1], [2, 3]]
