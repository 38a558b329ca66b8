"""Numbers for tests: fixed, away from corners, made without the code under test."""

import math
import random

import flambeau


def values(count, low=-2.0, high=2.0, seed=0):
    """``count`` numbers between low and high, no two of them close."""
    generator = random.Random(seed)
    width = (high - low) / max(count, 1)
    numbers = [low + width * (i + 0.3 + 0.4 * generator.random()) for i in range(count)]
    generator.shuffle(numbers)
    return [v if abs(v) > 0.02 else 0.05 for v in numbers]


def reals(*shape, low=-2.0, high=2.0, seed=0, grad=True):
    """A float64 tensor."""
    data = values(math.prod(shape), low, high, seed)
    t = flambeau.tensor(data, dtype=flambeau.float64).reshape(shape)
    return t.requires_grad_() if grad else t


def complexes(*shape, seed=0, grad=True):
    """A complex128 tensor."""
    parts = values(2 * math.prod(shape), seed=seed)
    data = [complex(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    t = flambeau.tensor(data, dtype=flambeau.complex128).reshape(shape)
    return t.requires_grad_() if grad else t


def whole(data):
    """An int64 tensor."""
    return flambeau.tensor(data, dtype=flambeau.int64)
