"""Layers of bfloat16, whose input part takes pairs where processors do: beside float64."""
from __future__ import annotations

import pytest

import flambeau as fl
from flambeau.core import ops

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def _layer(mode, features, hidden, steps=5, batch=3):
    fl.manual_seed(features)
    rows = GATES[mode] * hidden
    shapes = [(steps, batch, features), (batch, hidden), (batch, hidden), (rows, features),
              (rows, hidden), (rows,), (rows,)]
    made = [(fl.randn(shape) * (1 if i == 0 else 0.2)).bfloat16() for i, shape in enumerate(shapes)]
    made[2] = made[2] if mode == "lstm" else None
    return made


def _run(mode, args, packed=None):
    return ops.recurrent(*args, None, packed, mode, False)[0]


def _moved(t):
    """The same tensor two bytes further, where no pair begins."""
    return fl.cat([t.flatten()[:1], t.flatten()])[1:].view(t.shape)


def _distance(found, wanted):
    return ((found.double() - wanted).abs().max() / wanted.abs().max().clamp(min=1)).item()


@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize("features", [1, 15, 16, 17, 18, 64, 130])
def test_beside_float64(mode, features):
    args = _layer(mode, features, 24)
    wanted = _run(mode, [None if a is None else a.double() for a in args])
    strided = [args[0].transpose(0, 1).contiguous().transpose(0, 1), *args[1:]]
    moved = [_moved(args[0]), *args[1:3], _moved(args[3]), *args[4:]]
    for given in (args, strided, moved):
        found = _run(mode, given)
        assert found.dtype == fl.bfloat16
        assert _distance(found, wanted) < 0.02
    assert fl.equal(_run(mode, args), _run(mode, strided))


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_more_steps_than_one_piece_holds(mode):
    args = _layer(mode, 32, 64, steps=60, batch=32)
    wanted = _run(mode, [None if a is None else a.double() for a in args])
    assert _distance(_run(mode, args), wanted) < 0.02


@pytest.mark.parametrize("mode", GATES)
def test_packed_rows_are_those_of_the_batch(mode):
    args = _layer(mode, 32, 24, steps=4, batch=3)
    packed = [args[0].reshape(12, 32), *args[1:]]
    found = _run(mode, packed, [3, 3, 3, 3])
    assert fl.equal(found.reshape(4, 3, 24), _run(mode, args))


def test_nan_reaches_its_own_sequence_alone():
    args = _layer("lstm", 32, 24)
    args[0][1, 2, 5] = float("nan")
    found = _run("lstm", args)
    assert not found[0].isnan().any()
    assert not found[:, :2].isnan().any()
    assert found[1:, 2].isnan().all()
