"""After a batch that fails, whoever catches the error goes on with the next one."""

import pytest
from worker_sets import HERE_AND_KINDS, KINDS, Dies, children

import flambeau
from flambeau.utils import data


class Holes(data.Dataset):
    """Every third sample is missing."""

    def __len__(self):
        return 10

    def __getitem__(self, index):
        if index % 3 == 1:
            raise KeyError(index)
        return index


class Steps(data.IterableDataset):
    """An iterator, which unlike a generator goes on after an error."""

    def __iter__(self):
        self.at = -1
        return self

    def __next__(self):
        self.at += 1
        if self.at == 7:
            raise StopIteration
        if self.at % 3 == 1:
            raise KeyError(self.at)
        return self.at


def collect(batches):
    """What the loop gives, with "x" for a batch that fails."""
    found = []
    while True:
        try:
            found.append(next(batches).tolist())
        except KeyError:
            found.append("x")
        except StopIteration:
            return found


@pytest.mark.parametrize(("workers", "kind"), HERE_AND_KINDS)
@pytest.mark.parametrize("persistent", [False, True])
def test_every_batch_has_its_turn(workers, kind, persistent):
    options = {"num_workers": workers, "workers": kind} if workers else {}
    loader = data.DataLoader(Holes(), 2, persistent_workers=persistent and workers > 0, **options)
    for _ in range(2):
        assert collect(iter(loader)) == ["x", [2, 3], "x", "x", [8, 9]]
    del loader
    assert not children()


@pytest.mark.parametrize(("workers", "kind"), HERE_AND_KINDS)
def test_an_iterable_that_goes_on(workers, kind):
    loader = data.DataLoader(Steps(), 2, num_workers=workers, workers=kind)
    own = ["x", [2, 3], "x", [5, 6]]        # of each worker, in turn
    assert collect(iter(loader)) == [batch for batch in own for _ in range(max(workers, 1))]


@pytest.mark.parametrize("kind", KINDS)
def test_collating_and_whole_batches_that_fail(kind):
    def collate(samples):
        if samples[0] == 2:
            raise KeyError("collate")
        return flambeau.tensor(samples)

    loader = data.DataLoader(range(6), 2, num_workers=2, workers=kind, collate_fn=collate)
    assert collect(iter(loader)) == [[0, 1], "x", [4, 5]]
    rows = data.DataLoader(flambeau.arange(6), batch_sampler=[[0], [9], [1]])
    batches = iter(rows)
    assert next(batches).tolist() == [0]
    with pytest.raises(IndexError):
        next(batches)
    assert next(batches).tolist() == [1]


def test_workers_end_once_the_loop_is_dropped_though_its_error_is_kept():
    batches = iter(data.DataLoader(Holes(), 2, num_workers=2))
    with pytest.raises(KeyError) as error:
        next(batches)
    assert children()
    del batches
    assert error.value.args == (1,)
    assert not children()


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_state_taken_after_an_error(goes_on):
    """A batch that failed is tried again, unless somebody has gone on to the next."""
    loader = data.DataLoader(Holes(), 2)
    batches = iter(loader)
    with pytest.raises(KeyError):
        next(batches)
    taken = [next(batches).tolist()] if goes_on else []
    again = data.DataLoader(range(10), 2)
    state = loader.state_dict()
    again.load_state_dict(state)
    rest = [batch.tolist() for batch in again]
    assert rest[0] == ([4, 5] if goes_on else [0, 1])
    assert taken == ([[2, 3]] if goes_on else [])


def test_a_loop_that_has_lost_a_worker_says_so_again():
    batches = iter(data.DataLoader(Dies(), 2, num_workers=2))
    with pytest.raises(RuntimeError, match="worker .* is killed by signal: 9"):
        for _ in range(2):      # the first batch comes where it was made before the worker died
            next(batches)
    with pytest.raises(RuntimeError, match="worker .* is killed by signal: 9"):
        next(batches)
