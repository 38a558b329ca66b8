"""Python's random stream comes back as it was, whatever the program does between two batches."""

import random

import pytest

from flambeau.utils.data import DataLoader
from flambeau.utils.data._python_stream import PythonStream, rewound


class Draws:
    """Samples that use the global stream, each a different amount."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        random.gauss(0, 1)
        return sum(random.random() for _ in range(index * 40))


def reseed():
    random.seed(5)


def set_spent():
    """A state of which all words but one were drawn."""
    state = random.Random(3).getstate()
    random.setstate((state[0], (*state[1][:-1], 623), None))


BETWEEN = [
    lambda: None,
    lambda: random.random(),
    lambda: random.gauss(0, 1),
    lambda: random.getrandbits(32),
    lambda: random.shuffle(list(range(700))),
    reseed,
    set_spent,
]


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_program_draws_as_if_there_were_no_loader(batch_size):
    def run(loader):
        random.seed(1)
        drawn = []
        for number, _ in enumerate(loader):
            BETWEEN[number % len(BETWEEN)]()
            if number % 5 == 0:
                drawn.append(random.random())
        return [*drawn, random.gauss(0, 1), random.gauss(0, 1), random.random()]

    assert run(DataLoader(Draws(), batch_size)) == run(range(24 // batch_size))


@pytest.mark.parametrize("drawn", [0, 1, 2, 3, 311, 621, 622, 623, 624, 625, 1246, 1247, 1248])
def test_the_state_two_words_before(drawn):
    stream, ahead = random.Random(7), random.Random()
    for _ in range(drawn):
        stream.getrandbits(32)
    version, before, gauss = stream.getstate()
    stream.getrandbits(64)
    back = rewound(stream.getstate()[1])
    assert back[1:] == before[1:]
    assert back[0] >> 31 == before[0] >> 31  # the rest of this word is of no account
    ahead.setstate((version, back, gauss))
    stream.setstate((version, before, gauss))
    assert [ahead.random() for _ in range(2000)] == [stream.random() for _ in range(2000)]


def test_the_state_is_read_only_after_the_program_drew(monkeypatch):
    reads = []
    original = random.getstate
    random.seed(2)
    stream = PythonStream()
    stream.save()
    stream.restore()

    class Counted:
        __self__ = original.__self__

        def __call__(self):
            reads.append(1)
            return original()

    monkeypatch.setattr(random, "getstate", Counted())
    for _ in range(3):
        stream.save()
        random.seed(9)
        stream.restore()
    assert reads == []
    random.random()
    stream.save()
    stream.restore()
    assert reads == [1]
