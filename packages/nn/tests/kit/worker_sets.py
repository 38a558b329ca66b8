"""Datasets for tests of workers: random, failing, dying and stuck ones."""

import multiprocessing
import os
import random
import signal
import time

import numpy as np

import flambeau
from flambeau.utils import data

KINDS = ["thread", "process"]
HERE_AND_KINDS = [(0, None), (1, "thread"), (3, "thread"), (1, "process"), (3, "process")]


class Rows(data.Dataset):
    """Samples of every kind, some of them slow."""

    def __init__(self, size=13, width=3):
        self.size = size
        self.width = width

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index % 4 == 0:
            time.sleep(0.002)
        return {
            "x": flambeau.full((self.width,), float(index)),
            "a": np.full((2,), index, np.int16),
            "n": index,
            "s": f"sample {index}",
        }


class Noise(Rows):
    """Draws from every stream; threads share Python's and NumPy's with the program."""

    def __init__(self, size=13, everywhere=True):
        super().__init__(size)
        self.everywhere = everywhere

    def __getitem__(self, index):
        drawn = [flambeau.rand(()).item(), flambeau.randn(2).sum().item()]
        if self.everywhere:
            drawn += [random.random(), np.random.rand()]
        return flambeau.tensor([index, *drawn], dtype=flambeau.float64)


class Stream(data.IterableDataset):
    def __init__(self, size=11):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, self.size, step):
            yield flambeau.tensor([i, flambeau.rand(()).item(), random.random()])


class Failing(Rows):
    def __getitem__(self, index):
        if index == 5:
            return self.fail_on_purpose()
        return index

    def fail_on_purpose(self):
        raise LookupError("nothing there")


class Awkward(Exception):
    """Cannot be made from the arguments that it shows."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


def fail_awkwardly(samples):
    raise Awkward(1, 2)


class Dies(Rows):
    def __getitem__(self, index):
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Stuck(Rows):
    def __getitem__(self, index):
        if index == 3:
            time.sleep(1000)
        return index


def batches_of(loader):
    return [
        {k: v.tolist() if hasattr(v, "tolist") else v for k, v in batch.items()}
        if isinstance(batch, dict)
        else batch.tolist()
        for batch in loader
    ]


def seeded(dataset, workers, kind, **options):
    flambeau.manual_seed(7)
    options = {"shuffle": True, "batch_size": 4, **options}
    return data.DataLoader(dataset, num_workers=workers, workers=kind, **options)


def children():
    return {process.pid for process in multiprocessing.active_children()}
