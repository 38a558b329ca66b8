"""Every module of flambeau.nn and how it is called: the tables of nn's tests, and some more."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

import flambeau
from flambeau import nn

_TESTS = Path(__file__).parents[2] / "packages" / "nn" / "tests"
sys.path[:0] = [str(_TESTS / "kit"), str(_TESTS / "layers")]
from modules_kit import Given, Row, row  # noqa: E402

#: Bases of others, and containers whose elements are called by somebody else.
NOT_CALLED = {"Module", "RNNBase", "RNNCellBase", "ModuleDict", "ModuleList", "ParameterDict",
              "ParameterList"}


def indices(count: int, *shape: int) -> Given:
    """Integers below ``count``."""
    return Given(lambda rng: rng.integers(0, count, shape))


def _listed(*values: int) -> Given:
    return Given(lambda rng: np.array(values))


_SEQUENCE = (5, 2, 4)
_STEP = (3, 4)
_LAYERS = [
    row("Linear", 4, 3, inputs=[(5, 4)]), row("LazyLinear", 3, inputs=[(5, 4)]),
    *(row(f"LazyConv{d}d", 3, 2, inputs=[(2, 4, 5, 5, 5)[: 2 + d]]) for d in (1, 2, 3)),
    *(row(f"LazyConvTranspose{d}d", 3, 2, inputs=[(2, 4, 5, 5, 5)[: 2 + d]]) for d in (1, 2, 3)),
    *(row(f"LazyBatchNorm{d}d", inputs=[(2, 4, 5, 5, 5)[: 2 + d]]) for d in (1, 2, 3)),
    *(row(f"LazyInstanceNorm{d}d", inputs=[(2, 4, 5, 5, 5)[: 2 + d]]) for d in (1, 2, 3)),
    *(row(name, 4, 3, inputs=[_SEQUENCE], num_layers=2, dropout=0.3, bidirectional=both)
      for name in ("RNN", "LSTM", "GRU") for both in (False, True)),
    *(row(f"{name}Cell", 4, 3, inputs=[_STEP]) for name in ("RNN", "LSTM", "GRU")),
    row("FractionalMaxPool2d", 2, output_size=3, inputs=[(2, 3, 7, 7)]),
    row("FractionalMaxPool3d", 2, output_size=2, inputs=[(2, 3, 5, 5, 5)]),
    row("AdaptiveLogSoftmaxWithLoss", 4, 9, [3, 6], inputs=[[(5, 4), indices(9, 5)]]),
    row("CTCLoss", inputs=[[(9, 2, 5), Given(lambda rng: rng.integers(1, 5, (2, 3))),
                            _listed(9, 8), _listed(3, 2)]]),
]


class _Made(Row):
    """A module that is made of modules."""

    def make(self, package: Any, **more: Any) -> Any:
        if self.name == "Sequential":
            return nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.3), nn.GELU(), nn.BatchNorm1d(3))
        if self.name == "DataParallel":
            return nn.DataParallel(nn.Linear(4, 3))
        kind = self.name.removeprefix("Transformer")
        layer = getattr(nn, f"{self.name}Layer")(4, 2, 8, batch_first=True)
        return getattr(nn, f"Transformer{kind}")(layer, 2)


def _made(name: str, *shapes: tuple[int, ...]) -> Row:
    return _Made(name, (), {}, (shapes,), {}, True, True, 1.0)


_MADE = [_made("Sequential", (5, 4)), _made("DataParallel", (5, 4)),
         _made("TransformerEncoder", (2, 5, 4)), _made("TransformerDecoder", (2, 5, 4), (2, 3, 4))]


def rows() -> list[Row]:
    """All of them, those of a class after each other, each once."""
    found = {}
    for file in (*_TESTS.glob("kit/rows_*.py"), *_TESTS.glob("layers/test_*.py")):
        for table in vars(importlib.import_module(file.stem)).values():
            if isinstance(table, list):
                found |= {str(each): each for each in table if isinstance(each, Row)}
    found |= {str(each): each for each in (*_LAYERS, *_MADE)}
    return sorted(found.values(), key=lambda each: each.name)


def names() -> set[str]:
    """The modules that ``flambeau.nn`` has."""
    listed = {name: getattr(nn, name) for name in dir(nn)}
    return {name for name, value in listed.items()
            if isinstance(value, type) and issubclass(value, nn.Module)} - NOT_CALLED


def arguments(each: Row, dtype: str) -> list[Any]:
    """The arguments of a call, new."""
    made = []
    for array, grad in zip(each.arrays("float32")[0], each.differentiable(), strict=True):
        if isinstance(array, np.ndarray):
            array = flambeau.tensor(array)
            if array.is_floating_point():
                array = array.to(getattr(flambeau, dtype)).requires_grad_(grad)
        made.append(array)
    return made
