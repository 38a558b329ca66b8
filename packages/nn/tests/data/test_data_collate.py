"""Collating samples of all kinds, functions for types of one's own, and what is refused."""

import collections
import warnings

import numpy as np
import pytest

import flambeau
from flambeau.utils import data
from flambeau.utils.data._utils.collate import collate, default_collate_fn_map


class Angle:
    def __init__(self, degrees):
        self.degrees = degrees


def collate_angles(batch, *, collate_fn_map=None):
    return flambeau.tensor([angle.degrees for angle in batch])


@pytest.fixture
def functions(monkeypatch):
    """The functions of ``default_collate``, put back as they were."""
    kept = dict(default_collate_fn_map)
    yield default_collate_fn_map
    default_collate_fn_map.clear()
    default_collate_fn_map.update(kept)


@pytest.mark.parametrize(
    ("samples", "values", "dtype"),
    [
        ([1, 2.5], [1.0, 2.5], "float32"),
        ([2.5, 1], [2.5, 1.0], "float64"),
        ([True, 2], [1, 2], "int64"),
        ([np.int32(1), np.int32(2)], [1, 2], "int32"),
        ([np.array(1.5), np.array(2)], [1.5, 2.0], "float64"),
    ],
)
def test_mixed_numbers_lose_nothing(samples, values, dtype):
    batch = data.default_collate(samples)
    assert batch.tolist() == values
    assert batch.dtype == getattr(flambeau, dtype)


def test_arrays_are_copied_side_by_side():
    whole = np.arange(24.0).reshape(2, 3, 4)
    batch = data.default_collate([whole[0].T, whole[1].T])
    assert batch.tolist() == whole.transpose(0, 2, 1).tolist()
    whole[:] = 0
    assert batch[0, 0].tolist() == [0.0, 4.0, 8.0]
    mixed = data.default_collate([np.ones(2, "f4"), np.ones(2, "f8")])
    assert mixed.dtype == flambeau.float64
    locked = np.ones(2)
    locked.flags.writeable = False
    assert data.default_collate([locked]).tolist() == [[1, 1]]
    with pytest.raises(RuntimeError, match="equal size") as error:
        data.default_collate([np.ones(2), np.ones(3)])
    assert "pad_collate" in error.value.__notes__[0]
    padded = data.pad_collate([np.ones(2), np.ones(3)])
    assert padded.tolist() == [[1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("options", [{}, {"num_workers": 2, "workers": "thread"}], ids=str)
def test_a_tensor_is_read_a_batch_at_a_time(options, monkeypatch):
    rows = flambeau.arange(10).reshape(5, 2)
    order = [4, 0, 2, -1]
    expected = [[[8, 9], [0, 1]], [[4, 5], [8, 9]]]
    monkeypatch.setattr("flambeau.utils.data._fetch.Fetcher._read_each", None)
    loader = data.DataLoader(rows, 2, sampler=order, **options)
    assert [batch.tolist() for batch in loader] == expected
    loader = data.DataLoader(data.Subset(rows, order), 2, **options)
    assert [batch.tolist() for batch in loader] == expected
    flat = data.DataLoader(flambeau.arange(3), 2, num_workers=options.get("num_workers", 0))
    assert [batch.tolist() for batch in flat] == [[0, 1], [2]]


def test_strings_of_numpy_are_strings():
    labels = np.array(["cat", "dog"])
    assert data.default_collate(list(labels)) == ["cat", "dog"]
    with pytest.raises(TypeError, match="batch of ndarray of <U3"):
        data.default_collate([labels, labels])


def test_functions_for_types_of_one_s_own(functions):
    with pytest.raises(TypeError, match="batch of Angle"):
        data.default_collate([Angle(1), Angle(2)])
    functions[Angle] = collate_angles
    batch = data.default_collate([{"a": Angle(1)}, {"a": Angle(2)}])
    assert batch["a"].tolist() == [1, 2]


def test_another_function_for_tensors_is_used_by_the_loader_too(functions):
    functions[flambeau.Tensor] = lambda batch, *, collate_fn_map=None: len(batch)
    loader = data.DataLoader(data.TensorDataset(flambeau.arange(5)), batch_size=2)
    assert list(loader) == [[2], [2], [1]]


def test_a_map_of_one_s_own():
    batch = collate([("a", 1), ("b", 2)], collate_fn_map={str: collate_first, (int, float): sum_up})
    assert batch == ["a", 3]
    with pytest.raises(TypeError, match="batch of int"):
        collate([1, 2])


def collate_first(batch, *, collate_fn_map=None):
    return batch[0]


def sum_up(batch, *, collate_fn_map=None):
    return sum(batch)


def test_sequences_keep_their_type():
    converted = data.default_convert(collections.UserList([np.ones(1), "a"]))
    assert type(converted) is collections.UserList
    assert converted[0].tolist() == [1]
    assert data.default_convert(range(2)) == [0, 1]
    batch = data.default_collate([collections.UserList([1]), collections.UserList([2])])
    assert type(batch) is collections.UserList
    assert batch[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: data.RandomSampler([]), ValueError, "num_samples is .* not 0"),
        (lambda: data.RandomSampler([1], num_samples=1.5), ValueError, "not 1.5"),
        (lambda: data.RandomSampler([1], replacement=1), TypeError, "replacement"),
        (lambda: data.DataLoader([], shuffle=True), ValueError, "num_samples"),
        (lambda: data.WeightedRandomSampler([1], True), ValueError, "num_samples"),
        (lambda: data.WeightedRandomSampler([1], 1, 2), ValueError, "replacement"),
        (lambda: data.WeightedRandomSampler([[1]], 1), ValueError, r"shape \(1, 1\)"),
        (lambda: data.WeightedRandomSampler([1, float("nan")], 1), ValueError, r"\[1\] is nan"),
        (lambda: data.WeightedRandomSampler([1, float("inf")], 1), ValueError, r"\[1\] is inf"),
        (lambda: data.ConcatDataset(["ab", "c"])[-4], ValueError, "index -4"),
        (lambda: data.ConcatDataset(["ab", "c"])[3], IndexError, "index 3"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_what_decides_the_batches_is_not_changed_afterwards(name):
    loader = data.DataLoader(range(4), batch_size=2)
    with pytest.raises(ValueError, match=f"{name} of a DataLoader cannot be changed"):
        setattr(loader, name, 1)
    loader.collate_fn = list
    assert list(loader) == [[0, 1], [2, 3]]


class Longer(data.IterableDataset):
    def __iter__(self):
        return iter(range(5))

    def __len__(self):
        return 3


def test_an_iterable_longer_than_it_says():
    loader = data.DataLoader(Longer(), batch_size=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(loader)) == 3
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="makes 2 when .* but 3 samples have been fetched"):
        list(loader)


def test_an_empty_share():
    with pytest.warns(UserWarning, match=r"lengths\[1\], 0.25 of 2 samples, gives an empty"):
        parts = data.random_split(range(2), [0.75, 0.25])
    assert [len(part) for part in parts] == [2, 0]


class Sliced(flambeau.utils.data.DataLoader):
    """Reads a batch by one call of the dataset, as torchtuples does."""

    reads_batches = False

    def __iter__(self):
        self.reads_batches, self.collate_fn = True, lambda batch: batch
        return super().__iter__()

    @property
    def _auto_collation(self):
        return not self.reads_batches and super()._auto_collation

    @property
    def _index_sampler(self):
        return self.batch_sampler if super()._auto_collation else self.sampler


@pytest.mark.parametrize("workers", [0, 2])
def test_subclasses_say_how_batches_are_collated(workers):
    class Rows(flambeau.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return flambeau.arange(5)[index] * 10, len(index)

    found = list(Sliced(Rows(), 2, num_workers=workers))
    assert [(a.tolist(), b) for a, b in found] == [([0, 10], 2), ([20, 30], 2), ([40], 1)]
