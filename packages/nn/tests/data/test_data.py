"""Datasets, samplers, collating and the loader."""

import collections
import threading
import time
from itertools import islice

import numpy as np
import pytest

import flambeau
from flambeau.utils import data


class Squares(data.Dataset):
    def __init__(self, size=10):
        self.size = size

    def __getitem__(self, index):
        return {"x": flambeau.tensor([float(index)]), "y": index**2}

    def __len__(self):
        return self.size


class Stream(data.IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return iter(range(self.size))


def lists(batches):
    return [batch.tolist() for batch in batches]


def test_tensor_dataset():
    dataset = data.TensorDataset(flambeau.arange(6).reshape(3, 2), flambeau.arange(3))
    assert len(dataset) == 3
    assert [part.tolist() for part in dataset[1]] == [[2, 3], 1]
    with pytest.raises(ValueError, match=r"\(3,\), \(4,\)"):
        data.TensorDataset(flambeau.zeros(3), flambeau.zeros(4))
    with pytest.raises(ValueError, match="at least one"):
        data.TensorDataset()
    with pytest.raises(ValueError, match="first dimension"):
        data.TensorDataset(flambeau.tensor(1))


def test_concat_and_subset():
    joined = Squares(3) + Squares(2)
    assert len(joined) == 5
    assert [joined[i]["y"] for i in range(5)] == [0, 1, 4, 0, 1]
    assert joined[-1]["y"] == 1
    with pytest.raises(IndexError, match="index 5 is out of range for 5"):
        joined[5]
    with pytest.raises(AssertionError, match="IterableDataset"):
        data.ConcatDataset([Stream(2)])
    part = data.Subset(joined, [4, 0])
    assert len(part) == 2
    assert part[0]["y"] == 1


def test_random_split():
    parts = data.random_split(range(10), [7, 3])
    assert [len(part) for part in parts] == [7, 3]
    assert sorted(parts[0].indices + parts[1].indices) == list(range(10))
    assert [len(part) for part in data.random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    with pytest.raises(ValueError, match="sum to 9, but the dataset has 10"):
        data.random_split(range(10), [7, 2])

    def draw(seed):
        generator = flambeau.Generator()
        generator.manual_seed(seed)
        return data.random_split(range(20), [20], generator)[0].indices

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_samplers():
    assert list(data.SequentialSampler(range(3))) == [0, 1, 2]
    assert sorted(data.RandomSampler(range(5))) == [0, 1, 2, 3, 4]
    assert len(data.RandomSampler(range(5), num_samples=12)) == 12
    twice = list(data.RandomSampler(range(5), num_samples=12))
    assert set(collections.Counter(twice[:10]).values()) == {2}
    drawn = list(data.RandomSampler(range(5), replacement=True, num_samples=200))
    assert set(drawn) == {0, 1, 2, 3, 4}
    assert sorted(data.SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]
    with pytest.raises(ValueError, match="at least 1, not 0"):
        data.RandomSampler(range(5), num_samples=0)


def test_weighted_sampler():
    counts = collections.Counter(data.WeightedRandomSampler([1, 0, 3], 4000))
    assert counts[1] == 0
    assert counts[2] / 4000 == pytest.approx(0.75, abs=0.03)
    firsts = collections.Counter(
        next(iter(data.WeightedRandomSampler([1.0, 0.0, 3.0], 2, replacement=False)))
        for _ in range(1000)
    )
    assert firsts[2] / 1000 == pytest.approx(0.75, abs=0.06)
    assert sorted(data.WeightedRandomSampler([1, 0, 3], 2, replacement=False)) == [0, 2]
    with pytest.raises(ValueError, match="only 2 have a positive weight"):
        data.WeightedRandomSampler([1, 0, 3], 3, replacement=False)
    with pytest.raises(ValueError, match="at least 0"):
        data.WeightedRandomSampler([-1, 2], 1)


def test_batch_sampler():
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    for size in (0, 2.5, True):
        with pytest.raises(ValueError, match="batch_size"):
            data.BatchSampler(range(5), size, False)
    with pytest.raises(ValueError, match="drop_last"):
        data.BatchSampler(range(5), 2, "no")


def test_collate():
    Point = collections.namedtuple("Point", "x y")
    batch = data.default_collate([(1, {"a": 2.0, "s": "p"}), (3, {"a": 4.0, "s": "q"})])
    assert batch[0].tolist() == [1, 3]
    assert batch[0].dtype == flambeau.int64
    assert batch[1]["a"].dtype == flambeau.float64
    assert batch[1]["s"] == ["p", "q"]
    point = data.default_collate([Point(1, True), Point(2, False)])
    assert isinstance(point, Point)
    assert point.y.dtype == flambeau.bool
    arrays = data.default_collate([np.ones(2, np.float32), np.zeros(2, np.float32)])
    assert arrays.tolist() == [[1, 1], [0, 0]]
    assert arrays.dtype == flambeau.float32
    assert data.default_collate([np.float64(1.5)]).tolist() == [1.5]
    with pytest.raises(RuntimeError, match=r"different lengths \(\[1, 2\]\)"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="cannot make a batch of object"):
        data.default_collate([object()])


def test_convert():
    converted = data.default_convert({"a": np.ones(2), "b": [np.zeros(1), "s"], "c": 3})
    assert converted["a"].tolist() == [1, 1]
    assert converted["b"][1] == "s"
    assert converted["c"] == 3


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_loader_in_order(workers):
    loader = data.DataLoader(Squares(), batch_size=4, num_workers=workers)
    assert len(loader) == 3
    assert lists(batch["y"] for batch in loader) == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    assert [tuple(batch["x"].shape) for batch in loader] == [(4, 1), (4, 1), (2, 1)]


def shuffled(workers, dataset, seed=3, epochs=2, **options):
    generator = flambeau.Generator()
    generator.manual_seed(seed)
    loader = data.DataLoader(
        dataset, batch_size=3, shuffle=True, num_workers=workers, generator=generator, **options
    )
    return [[batch[0].tolist() for batch in loader] for _ in range(epochs)]


@pytest.mark.parametrize("slow", [False, True])
def test_same_batches_for_any_number_of_workers(slow):
    class Uneven(data.TensorDataset):
        def __getitem__(self, index):
            time.sleep(0.002 * (index % 3))
            return super().__getitem__(index)

    dataset = (Uneven if slow else data.TensorDataset)(flambeau.arange(17))
    runs = [shuffled(workers, dataset) for workers in (0, 1, 4)]
    assert runs[0] == runs[1] == runs[2]
    first, second = runs[0]
    assert first != second
    assert sorted(sum(first, [])) == list(range(17))
    assert shuffled(0, dataset, seed=4) != runs[0]


def test_fast_path_gives_the_same_as_single_samples():
    tensors = flambeau.arange(20.0).reshape(10, 2), flambeau.arange(10)
    fast = data.TensorDataset(*tensors)

    class Slow(data.TensorDataset):
        pass

    for wrap in (lambda d: d, lambda d: data.Subset(d, [9, 2, 4, 4, 7])):
        runs = []
        for dataset in (wrap(fast), wrap(Slow(*tensors))):
            generator = flambeau.Generator()
            generator.manual_seed(0)
            loader = data.DataLoader(dataset, 4, shuffle=True, generator=generator)
            runs.append([[part.tolist() for part in batch] for batch in loader])
            assert isinstance(next(iter(loader)), list)
        assert runs[0] == runs[1]


def test_fast_path_batches_are_copies():
    source = flambeau.zeros(4)
    for (batch,) in data.DataLoader(data.TensorDataset(source), 4):
        batch.fill_(1)
    assert source.tolist() == [0, 0, 0, 0]


def test_fast_path_reads_no_sample_of_a_tensor_dataset(monkeypatch):
    monkeypatch.setattr(data.TensorDataset, "__getitem__", lambda *_: pytest.fail("one by one"))
    loader = data.DataLoader(data.TensorDataset(flambeau.arange(4)), 2)
    assert [part.tolist() for (part,) in loader] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("workers", [0, 2])
def test_drop_last(workers):
    for dataset in (Squares(), data.TensorDataset(flambeau.arange(10))):
        loader = data.DataLoader(dataset, 4, drop_last=True, num_workers=workers)
        assert len(loader) == len(list(loader)) == 2


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_iterable(workers):
    options = {"num_workers": workers, "shard_iterable": False}
    loader = data.DataLoader(Stream(7), 3, **options)
    assert lists(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert lists(data.DataLoader(Stream(7), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert list(data.DataLoader(Stream(3), None, **options)) == [0, 1, 2]
    with pytest.raises(TypeError):
        len(loader)


def test_without_batches():
    loader = data.DataLoader(["a", "b"], batch_size=None)
    assert list(loader) == ["a", "b"]
    assert len(loader) == 2


def test_samplers_of_one_s_own():
    assert lists(data.DataLoader(range(4), 2, sampler=[3, 1, 0])) == [[3, 1], [0]]
    assert lists(data.DataLoader(range(4), batch_sampler=[[3], [1, 0]])) == [[3], [1, 0]]


def test_collate_of_one_s_own():
    assert list(data.DataLoader(range(3), 2, collate_fn=tuple)) == [(0, 1), (2,)]


def test_getitems_reads_a_batch_at_once():
    class Batched:
        def __getitems__(self, indices):
            return [10 * i for i in indices]

        def __len__(self):
            return 3

    assert lists(data.DataLoader(Batched(), 2)) == [[0, 10], [20]]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_names_the_sample(workers):
    class Broken(Squares):
        def __getitem__(self, index):
            if index == 5:
                raise OSError("file is gone")
            return index

    loader = data.DataLoader(Broken(), 2, num_workers=workers)
    with pytest.raises(OSError, match="file is gone") as error:
        list(loader)
    assert error.value.__notes__[0] == "while loading sample 5 of Broken"


def test_workers_are_threads_that_know_themselves():
    seen, started = [], []

    class Tells(Squares):
        def __getitem__(self, index):
            seen.append((data.get_worker_info(), threading.current_thread()))
            return index

    dataset = Tells()
    options = {"num_workers": 2, "worker_init_fn": started.append, "workers": "thread"}
    loader = data.DataLoader(dataset, 2, **options)
    list(loader)
    assert all(info.num_workers == 2 and info.dataset is dataset for info, _ in seen)
    assert {info.id for info, _ in seen} <= {0, 1}
    assert set(started) <= {0, 1}
    assert threading.main_thread() not in {thread for _, thread in seen}
    assert data.get_worker_info() is None


def test_workers_load_only_so_far_ahead_and_end_with_the_loop():
    loaded = []

    class Counts(Squares):
        def __getitem__(self, index):
            loaded.append(index)
            return index

    before = threading.active_count()
    options = {"num_workers": 2, "prefetch_factor": 3, "workers": "thread"}
    for _ in data.DataLoader(Counts(1000), 1, **options):
        break
    assert len(loaded) <= 2 * 3 + 1
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before  # a worker of an earlier test may have ended too


def test_timeout():
    class Stuck(Squares):
        def __getitem__(self, index):
            time.sleep(0.5)

    with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds"):
        list(data.DataLoader(Stuck(1), num_workers=1, timeout=0.05))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"timeout": -1}, "timeout"),
        ({"prefetch_factor": 2}, "prefetch_factor=2 needs num_workers"),
        ({"multiprocessing_context": "fork"}, "needs num_workers"),
        ({"multiprocessing_context": "knife", "num_workers": 1}, "not a start method"),
        ({"num_workers": 1, "workers": "gnome"}, "'thread', 'process'"),
        ({"persistent_workers": True}, "persistent_workers"),
        ({"num_workers": 2.5}, "integer"),
        ({"shuffle": True, "sampler": [0]}, "exclude each other"),
        ({"batch_sampler": [[0]], "shuffle": True}, "leave these four out"),
        ({"batch_size": None, "drop_last": True}, "batch_size is None"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_options_are_checked(options, text):
    with pytest.raises(ValueError, match=text):
        data.DataLoader(Squares(), **options)


def test_an_iterable_has_its_own_order():
    with pytest.raises(ValueError, match="its own order"):
        data.DataLoader(Stream(2), shuffle=True)


def test_what_must_be_defined():
    with pytest.raises(NotImplementedError, match="__getitem__"):
        data.Dataset()[0]
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(data.IterableDataset())
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(data.Sampler())


@pytest.mark.parametrize("replacement", [True, False])
def test_very_many_draws_take_no_memory(replacement):
    flambeau.manual_seed(5)
    sampler = data.RandomSampler(range(7), replacement, num_samples=10**10)
    first = list(islice(sampler, 70_000))
    assert set(first) == set(range(7))
    flambeau.manual_seed(5)
    assert list(islice(sampler, 70_000)) == first
    if not replacement:
        assert sorted(first[7:14]) == list(range(7))
    rows = data.TensorDataset(flambeau.arange(7.0))
    (batch,) = next(iter(data.DataLoader(rows, batch_size=4, sampler=sampler)))
    assert batch.shape == (4,)
