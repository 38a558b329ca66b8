"""What the tests of real uses share: a library's names, and weights equal in both."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np


def library(name: str) -> SimpleNamespace:
    """Return what a program is written with, from `flambeau` or `torch`."""
    return SimpleNamespace(
        base=importlib.import_module(name),
        nn=importlib.import_module(f"{name}.nn"),
        F=importlib.import_module(f"{name}.nn.functional"),
        optim=importlib.import_module(f"{name}.optim"),
        autograd=importlib.import_module(f"{name}.autograd"),
        functional=importlib.import_module(f"{name}.autograd.functional"),
        checkpoint=importlib.import_module(f"{name}.utils.checkpoint").checkpoint,
    )


def numbers(lib: SimpleNamespace, *shape: int, seed: int = 0) -> Any:
    """Return a tensor of normal numbers in float64, the same in both libraries."""
    return lib.base.from_numpy(np.random.default_rng(seed).normal(size=shape))


def fill(lib: SimpleNamespace, model: Any, seed: int = 0) -> Any:
    """Give a model float64 weights that are the same in both libraries; return it."""
    model.to(lib.base.float64)
    with lib.base.no_grad():
        for index, (_, value) in enumerate(sorted(model.named_parameters())):
            fresh = numbers(lib, *value.shape, seed=seed + index)
            value.copy_(fresh / max(1, value.shape[-1]) ** 0.5)
    return model


def flat(tensors: Any) -> list[float]:
    """Return the numbers of several tensors in one list."""
    return [number for tensor in tensors for number in tensor.detach().reshape(-1).tolist()]
