"""Worker threads and processes: the same batches, whatever loads them."""

import gc
import multiprocessing
import os
import random
import signal
import sys
import threading
import time

import numpy as np
import pytest
from worker_sets import (
    HERE_AND_KINDS,
    KINDS,
    Failing,
    Noise,
    Rows,
    Stream,
    batches_of,
    children,
    seeded,
)

import flambeau
from flambeau.utils import data


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_same_batches(kind, persistent):
    alone = seeded(Rows(), 0, None)
    expected = [batches_of(alone) for _ in range(2)]
    assert expected[0] != expected[1]
    for workers in (1, 3):
        loader = seeded(Rows(), workers, kind, persistent_workers=persistent)
        assert [batches_of(loader) for _ in range(2)] == expected


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_same_random_numbers_inside_samples(kind, workers):
    everywhere = kind == "process"
    alone = seeded(Noise(everywhere=everywhere), 0, None)
    expected = [batches_of(alone) for _ in range(2)]
    loader = seeded(Noise(everywhere=everywhere), workers, kind)
    assert [batches_of(loader) for _ in range(2)] == expected
    flat = [row[1] for batch in expected[0] for row in batch]
    assert len(set(flat)) == 13  # no sample has another one's numbers


def test_a_sample_drawn_twice_is_augmented_in_two_ways():
    loader = data.DataLoader(Noise(), 4, sampler=[1, 1, 1, 1])
    (batch,) = loader
    assert len(set(batch[:, 1].tolist())) == 4


def test_loading_here_leaves_the_program_its_own_streams():
    flambeau.manual_seed(1)
    loader = iter(data.DataLoader(Noise(), 4))
    states = flambeau.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()
    next(loader)
    now = flambeau.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()
    assert now == states


def mixed(samples):
    """Collates with random numbers, as mixup does."""
    return flambeau.stack(samples) * flambeau.rand(())


@pytest.mark.parametrize("kind", KINDS)
def test_random_collating(kind):
    expected = batches_of(seeded(Noise(everywhere=False), 0, None, collate_fn=mixed))
    loader = seeded(Noise(everywhere=False), 3, kind, collate_fn=mixed)
    assert batches_of(loader) == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_iterable_read_by_one_worker(workers):
    options = {"shuffle": None, "shard_iterable": False}
    expected = batches_of(seeded(Stream(), 0, None, **options))
    assert len(expected) == 3
    loader = seeded(Stream(), workers, "process", persistent_workers=True, **options)
    assert batches_of(loader) == expected
    assert len(batches_of(loader)) == 3  # another epoch from the same workers
    firsts = [[row[0] for row in batch] for batch in expected]
    threads = seeded(Stream(), workers, "thread", **options)
    assert [[row[0] for row in batch] for batch in batches_of(threads)] == firsts


@pytest.mark.parametrize("kind", KINDS)
def test_iterable_in_shards(kind):
    loader = seeded(Stream(11), 3, kind, shuffle=None, batch_size=2)
    firsts = [[row[0] for row in batch] for batch in batches_of(loader)]
    assert firsts == [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8]]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_start_methods(method):
    expected = batches_of(seeded(Rows(), 0, None))
    loader = seeded(Rows(), 2, None, multiprocessing_context=method)
    assert loader.multiprocessing_context.get_start_method() == method
    loader.multiprocessing_context = multiprocessing.get_context(method)
    assert batches_of(loader) == expected
    assert not children()


def test_what_cannot_be_sent_to_a_new_process():
    class Local(Rows):
        pass

    loader = data.DataLoader(Local(), num_workers=1, multiprocessing_context="spawn")
    with pytest.raises(Exception, match="Local") as error:
        list(loader)
    assert "workers='thread'" in error.value.__notes__[-1]
    assert not children()


@pytest.mark.parametrize("kind", KINDS)
def test_fast_path_in_workers(kind):
    x = flambeau.arange(40.0).reshape(20, 2)
    dataset = data.Subset(data.TensorDataset(x, flambeau.arange(20)), list(range(19, 2, -1)))
    expected = [[part.tolist() for part in batch] for batch in seeded(dataset, 0, None)]
    loader = seeded(dataset, 2, kind)
    assert [[part.tolist() for part in batch] for batch in loader] == expected


def test_large_batches_come_through_shared_memory():
    dataset = Rows(40, width=50_000)
    held = [batch["x"] for batch in data.DataLoader(dataset, 4, num_workers=2)]
    for i, x in enumerate(held):  # none was overwritten by a later one
        assert x.shape == (4, 50_000)
        assert [row[0].item() for row in x] == [row[-1].item() for row in x]
        assert x[0, 0].item() == 4 * i
        x.fill_(-1)  # and it may be written to
    assert all(bool((x == -1).all()) for x in held)


def test_slots_are_used_again():
    pool_slots = []
    loader = data.DataLoader(Rows(60, width=50_000), 2, num_workers=1, persistent_workers=True)
    for batch in loader:
        del batch
        pool_slots.append(len(loader._pool._slots[0]))
    assert pool_slots[-1] <= 6


def test_odd_batches_come_through():
    def collate(samples):
        empty = flambeau.zeros(0, 3)
        grad = flambeau.ones(2, requires_grad=True)
        narrow = flambeau.arange(12).reshape(3, 4).t()
        half = flambeau.ones(3, dtype=flambeau.bfloat16)
        wide = np.arange(6).reshape(2, 3).T
        return [empty, grad, narrow, half, wide, np.float64(3), "x" * 10_000, {1, 2}, None, samples]

    (batch,) = data.DataLoader([0], num_workers=1, collate_fn=collate)
    assert batch[0].shape == (0, 3)
    assert batch[1].requires_grad and batch[1].tolist() == [1, 1]
    assert batch[2].tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert batch[3].dtype == flambeau.bfloat16
    assert batch[4].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert batch[5:] == [3.0, "x" * 10_000, {1, 2}, None, [0]]


def test_a_batch_that_cannot_be_sent():
    loader = data.DataLoader([1], num_workers=1, collate_fn=lambda samples: lambda: samples)
    with pytest.raises(Exception, match=r"pickle|local object") as error:
        list(loader)
    assert any("cannot be sent" in note for note in error.value.__notes__)


def test_persistent_workers():
    loader = data.DataLoader(Rows(), 4, num_workers=2, persistent_workers=True)
    first = batches_of(loader)
    before = children()
    assert len(before) == 2
    for _ in loader:  # leave an epoch half-way
        break
    assert batches_of(loader) == first
    assert children() == before
    del loader
    gc.collect()
    assert not children()


def test_shared_memory_and_handles_do_not_grow():
    def handles():
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/dev/shm"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    list(data.DataLoader(Rows(20, 50_000), 2, num_workers=2))
    gc.collect()        # what other tests left
    before = handles()
    for _ in range(3):
        batch = next(iter(data.DataLoader(Rows(20, 50_000), 2, num_workers=2)))
        with pytest.raises(LookupError):
            list(data.DataLoader(Failing(), 2, num_workers=2))
        del batch
    gc.collect()
    assert all(now <= then for now, then in zip(handles(), before, strict=True))


def test_workers_end_with_the_main_process(tmp_path):
    import subprocess

    script = (
        "import os, signal, sys, time\n"
        "from flambeau.utils.data import DataLoader\n"
        "import multiprocessing as mp\n"
        "it = iter(DataLoader(list(range(1000)), num_workers=2, workers='process'))\n"
        "next(it)\n"
        "print(*[p.pid for p in mp.active_children()], flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    deadline = time.monotonic() + 10
    while any(_lives(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_lives(pid) for pid in pids)


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("kind", KINDS)
def test_without_order(kind):
    loader = data.DataLoader(Rows(), 2, num_workers=3, workers=kind, in_order=False)
    found = [batch["n"].tolist() for batch in loader]
    assert sorted(sum(found, [])) == list(range(13))


@pytest.mark.parametrize("kind", KINDS)
def test_workers_know_themselves(kind):
    class Tells(Rows):
        def __getitem__(self, index):
            info = data.get_worker_info()
            return [info.id, info.num_workers, info.kind, len(info.dataset)]

    rows = list(data.DataLoader(Tells(4), None, num_workers=2, workers=kind))
    assert rows == [[0, 2, kind, 4], [1, 2, kind, 4], [0, 2, kind, 4], [1, 2, kind, 4]]


def test_two_loaders_at_once():
    a = data.DataLoader(Rows(), 2, num_workers=2)
    b = data.DataLoader(Rows(), 2, num_workers=1)
    for x, y in zip(a, b, strict=True):
        assert x["n"].tolist() == y["n"].tolist()


def test_a_loader_in_another_thread():
    found = []
    thread = threading.Thread(
        target=lambda: found.extend(batches_of(data.DataLoader(Rows(), 4, num_workers=2)))
    )
    thread.start()
    thread.join()
    assert found == batches_of(data.DataLoader(Rows(), 4))


@pytest.mark.parametrize(("workers", "kind"), HERE_AND_KINDS)
def test_pinned_batches_keep_their_values(workers, kind):
    loader = data.DataLoader(Rows(), 4, num_workers=workers, workers=kind, pin_memory=True)
    assert [batch["n"].tolist() for batch in loader][0] == [0, 1, 2, 3]


@pytest.mark.parametrize(("workers", "kind"), HERE_AND_KINDS)
@pytest.mark.parametrize("taken", [0, 1, 3, 4])
def test_resuming_in_mid_epoch(workers, kind, taken):
    dataset = Noise(everywhere=kind != "thread")
    reference = seeded(dataset, 0, None)
    first = batches_of(reference)
    loader = seeded(dataset, workers, kind)
    batches = iter(loader)
    assert [next(batches).tolist() for _ in range(taken)] == first[:taken]
    state = loader.state_dict()
    del batches
    flambeau.manual_seed(99)
    flambeau.rand(10)
    here = flambeau.get_rng_state().tolist()
    again = data.DataLoader(dataset, 4, shuffle=True, num_workers=workers, workers=kind)
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert batches_of(again) == first[taken:]
    assert flambeau.get_rng_state().tolist() == here  # the program's own stream is as it was


@pytest.mark.parametrize(
    ("workers", "kind", "shards"),
    [(0, None, False), (2, "process", False), (3, "process", True), (2, "thread", True)],
)
def test_resuming_an_iterable(workers, kind, shards):
    options = {"shuffle": None, "batch_size": 2, "shard_iterable": shards}
    dataset = Stream(15)
    everything = [
        [row[:1] for row in batch]
        for batch in batches_of(seeded(dataset, workers, kind, **options))
    ]
    loader = seeded(dataset, workers, kind, **options)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state = loader.state_dict()
    again = seeded(dataset, workers, kind, **options)
    again.load_state_dict(state)
    rest = [[row[:1] for row in batch] for batch in batches_of(again)]
    assert rest == everything[3:]


@pytest.mark.parametrize("kind", KINDS)
def test_two_loops_over_persistent_workers(kind):
    loader = data.DataLoader(Rows(), 2, num_workers=1, workers=kind, persistent_workers=True)
    first = iter(loader)
    next(first)
    second = iter(loader)
    assert next(second)["n"].tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="another loop over this DataLoader has begun"):
        next(first)
    assert len(list(second)) == 6


def test_a_persistent_worker_that_died_between_epochs_is_named_and_replaced():
    loader = data.DataLoader(Rows(), 2, num_workers=2, persistent_workers=True)
    expected = batches_of(loader)
    os.kill(max(children()), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="killed by signal: 9"):
        list(loader)
    assert batches_of(loader) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_sampler_that_fails(kind):
    def order():
        yield from range(6)
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(data.DataLoader(Rows(), 2, sampler=order(), num_workers=2, workers=kind))
    assert not children()


@pytest.mark.parametrize("kind", KINDS)
def test_large_random_tensors_are_the_same(kind):
    class Large(Rows):
        def __getitem__(self, index):
            return flambeau.randn(200_000)

    expected = [batch.sum().item() for batch in data.DataLoader(Large(3), generator=seed_of(1))]
    loader = data.DataLoader(Large(3), generator=seed_of(1), num_workers=2, workers=kind)
    assert [batch.sum().item() for batch in loader] == expected


def seed_of(seed):
    return flambeau.Generator().manual_seed(seed)
