"""Sequences of different lengths in programs: lengths are an input, what follows them is masked."""

from __future__ import annotations

import io
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau as fl
from flambeau import jit, nn, onnx
from flambeau.nn.utils import rnn

sys.path.append(str(Path(__file__).resolve().parents[2] / "packages" / "jit" / "tests"))
from runtime import RuntimeProgram, open_library

LIBRARY = open_library()
BATCHES = [(3, 5, [2, 5, 3]), (1, 4, [1]), (4, 6, [1, 6, 3, 4]), (2, 7, [7, 7]), (2, 7, [2, 3])]
KINDS = [*itertools.product(["LSTM", "GRU", "RNN"], [1, 2], [False, True], [0]),
         ("LSTM", 2, True, 2)]


class Reader(nn.Module):
    """What a recurrent layer gives for a padded batch and its lengths, steps first or not."""

    def __init__(self, kind: str, layers: int, both_ways: bool, projected: int,
                 batch_first: bool = True) -> None:
        super().__init__()
        options = {"proj_size": projected} if projected else {}
        self.batch_first = batch_first
        self.layer = getattr(nn, kind)(3, 4, layers, bidirectional=both_ways,
                                       batch_first=batch_first, **options)

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = rnn.pack_padded_sequence(x, lengths, self.batch_first, enforce_sorted=False)
        result, states = self.layer(packed)
        steps = x.shape[1 if self.batch_first else 0]
        y, again = rnn.pad_packed_sequence(result, self.batch_first, -1.5, steps)
        return (y, again, *(states if isinstance(states, tuple) else (states,)))


def traced(model: Any) -> Any:
    x = fl.randn(3, 5, 3) if model.batch_first else fl.randn(5, 3, 3)
    sizes = {0: "B", 1: "T"} if model.batch_first else {1: "B", 0: "T"}
    with fl.no_grad():
        return jit.trace(model, (x, fl.tensor([2, 5, 3])), dynamic={0: sizes, 1: {0: "B"}})


def batches(model: Any) -> Any:
    """Batches whose padding is not a number, and what the layer gives for them unrecorded."""
    for count, steps, lengths in BATCHES:
        x = fl.randn(count, steps, 3)
        for row, length in zip(x, lengths, strict=True):
            row[length:] = float("nan")
        given = (x if model.batch_first else x.transpose(0, 1).contiguous(), fl.tensor(lengths))
        with fl.no_grad():
            yield given, model(*given)


def assert_close(found: Any, wanted: Any, tolerance: float) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b.numpy(), rtol=0, atol=tolerance, strict=True)


@pytest.mark.parametrize(("kind", "layers", "both_ways", "projected"), KINDS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_programs(kind, layers, both_ways, projected, batch_first):
    fl.manual_seed(0)
    model = Reader(kind, layers, both_ways, projected, batch_first).eval()
    program = traced(model)
    content = io.BytesIO()
    program.save(content)
    runtime = RuntimeProgram(LIBRARY, content.getvalue()) if LIBRARY else None
    for given, wanted in batches(model):
        found = program(*given)
        assert_close(found, wanted, 1e-6)
        if runtime:
            assert_close(runtime(*given), found, 0)


@pytest.mark.parametrize(("kind", "layers", "both_ways", "projected"), KINDS)
def test_onnxruntime(kind, layers, both_ways, projected):
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    fl.manual_seed(0)
    model = Reader(kind, layers, both_ways, projected).eval()
    written = io.BytesIO()
    onnx.export(traced(model), f=written)
    session = onnxruntime.InferenceSession(written.getvalue(), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    for given, wanted in batches(model):
        found = session.run(None, dict(zip(names, (t.numpy() for t in given), strict=True)))
        assert_close(found, wanted, 1e-5)


def test_gradients():
    """Of a loss inside of the program, as of the layer unrecorded."""
    fl.manual_seed(0)
    model = Reader("LSTM", 2, True, 0)
    x, lengths = fl.randn(3, 5, 3), fl.tensor([2, 5, 3])

    def step(x: Any, lengths: Any) -> Any:
        y, _, hidden, cell = model(x, lengths)
        loss = (y ** 2).sum() + hidden.sum() + (cell ** 3).sum()
        loss.backward()
        return loss

    wanted = step(x, lengths).detach()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    program = jit.trace(step, (x, lengths), dynamic=False)
    model.zero_grad()
    assert_close([program(x, lengths).detach()], [wanted], 1e-5)
    assert_close([p.grad for p in model.parameters()], expected, 1e-5)


@pytest.mark.parametrize("lengths", [[8, 2], [0, 2]])
def test_lengths_that_do_not_fit(lengths):
    program = traced(Reader("GRU", 1, False, 0).eval())
    with pytest.raises(IndexError, match="out of bounds"):
        program(fl.randn(2, 7, 3), fl.tensor(lengths))


def test_what_a_program_cannot_know():
    x, lengths = fl.randn(2, 5, 3), fl.tensor([5, 3])

    def padded(x: Any, lengths: Any, total: int | None) -> Any:
        packed = rnn.pack_padded_sequence(x, lengths, True)
        return rnn.pad_packed_sequence(packed, True, total_length=total)[0]

    with pytest.raises(ValueError, match=r"write total_length=x.size\(1\)"):
        jit.trace(lambda x, n: padded(x, n, None), (x, lengths))
    with pytest.raises(ValueError, match="at least the steps of the padded input, 5, got 3"):
        jit.trace(lambda x, n: padded(x, n, 3), (x, lengths))
    with pytest.raises(AttributeError, match="depends on the lengths"):
        jit.trace(lambda x, n: rnn.pack_padded_sequence(x, n, True).data, (x, lengths))
    dropping = nn.GRU(3, 4, 2, dropout=0.5)
    with pytest.raises(NotImplementedError, match="in eval mode"):
        jit.trace(lambda x, n: dropping(rnn.pack_padded_sequence(x, n, True))[1], (x, lengths))
    longer = jit.trace(lambda x, n: padded(x, n, 8), (x, lengths), dynamic=False)
    assert_close([longer(x, lengths)], [padded(x, lengths, 8)], 0)
