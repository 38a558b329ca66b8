"""Where a composite has a fast path in C++ beside its Python function, both say the same, to the
bit: values, dtypes, strides, and the kind and text of errors."""

from __future__ import annotations

import itertools
import warnings

import pytest
from arrays import LAYOUTS, lay_out
from call import ALL
from calls import CALLS, ELSEWHERE

import flambeau
from flambeau.core import _core, composites
from flambeau.core.opdefs import OPDEFS


def _has_function(symbol):
    try:
        return composites.find(symbol) is not None
    except NotImplementedError:
        return False


PAIRS = [row.key for row in OPDEFS
         if row.category == "composite" and row.call and _has_function(row.symbol)]


def _changed(x):
    """An input in other layouts, and tensors that it may not be exchanged for."""
    for layout in LAYOUTS:
        yield lay_out(x, layout)
    if x.ndim:
        yield x[:0]
        yield x[..., :1]
        yield x.flatten()
    yield x.unsqueeze(0)
    if x.ndim in (4, 5):
        yield x.contiguous(memory_format=flambeau.channels_last if x.ndim == 4 else
                           flambeau.channels_last_3d)
    yield x.double() if x.dtype is not flambeau.float64 else x.float()
    yield x.cfloat()
    if x.is_floating_point():
        yield x * flambeau.nan
        yield x * flambeau.inf
    else:
        yield x.int()
        yield x.byte()
        yield x != 0


def _variations(inputs):
    """The inputs of a call, one of them changed, all of them, and as they are."""
    yield inputs
    for i, x in enumerate(inputs):
        for other in _changed(x):
            yield [*inputs[:i], other, *inputs[i + 1:]]
    if len(inputs) > 1:
        yield from map(list, zip(*map(_changed, inputs), strict=False))


def _facts(value):
    """What two results have to agree in."""
    if isinstance(value, (tuple, list)):
        return type(value), [_facts(each) for each in value]
    if not isinstance(value, flambeau.Tensor):
        return type(value), repr(value)
    return (value.dtype, tuple(value.shape), value.stride(), value.storage_offset(),
            bytes(value.contiguous().view(-1).view(
                flambeau.uint8).tolist()) if value.numel() else b"")


def _outcome(call, inputs):
    try:
        return _facts(call.function(flambeau, *inputs))
    except Exception as error:   # of whatever kind: the other path has to raise the same
        return type(error), str(error)


def _without_fast_path(key, call, inputs):
    _core._take_fast_path(key, False)
    try:
        return _outcome(call, inputs)
    finally:
        _core._take_fast_path(key, True)


def _cases(key):
    """Calls with the same inputs twice: some write to them."""
    for call in CALLS.get(key) or CALLS[ELSEWHERE[key]]:
        for dtype in ALL:
            yield from zip(itertools.repeat(call), _variations(call.inputs(flambeau, dtype)),
                           _variations(call.inputs(flambeau, dtype)))


@pytest.mark.parametrize("key", PAIRS)
def test_fast_path_agrees_with_the_function(key):
    for call, inputs, again in _cases(key):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast, function = _outcome(call, inputs), _without_fast_path(key, call, again)
        assert fast == function, [(x.dtype, x.shape, x.stride()) for x in inputs]
