"""Calls of recurrent networks and cells (see ``calls.py``)."""

from __future__ import annotations

from call import call_of as _c
from call import quiet

_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _weights(gates, features, hidden, state=0):
    """Shapes of the parameters of one layer and direction."""
    rows, state = gates * hidden, state or hidden
    return [(rows, features), (rows, state), (rows,), (rows,)]


def _states(name, tensors):
    """The states as the function takes them, and the tensors after them."""
    if name.startswith("lstm"):
        return list(tensors[:2]), list(tensors[2:])
    return tensors[0], list(tensors[1:])


def _input(name, layers=1, both=False, biases=True, first=False, projection=0):
    """A network over sequences of 4 steps and a batch of 3, with 2 features and 5 units."""
    ways, gates, out = (2 if both else 1), _GATES[name], projection or 5
    params = []
    for layer in range(layers):
        for _ in range(ways):
            shapes = _weights(gates, out * ways if layer else 2, 5, projection)
            shapes = shapes if biases else shapes[:2]
            params += [*shapes, (projection, 5)] if projection else shapes
    states = [(layers * ways, 3, out), (layers * ways, 3, 5)][:2 if name == "lstm" else 1]

    def call(lib, x, *tensors):
        hx, weights = _states(name, tensors)
        return getattr(lib, name)(x, hx, weights, biases, layers, 0.0, False, both, first)

    call = quiet(call) if projection else call      # PyTorch says that it is slow then
    return _c(call, (3, 4, 2) if first else (4, 3, 2), *states, *params, domain=(-1.0, 1.0))


def _data(name):
    """Packed sequences of 4, 3 and 1 steps."""
    states = [(2, 3, 5)] * (2 if name == "lstm" else 1)
    params = _weights(_GATES[name], 2, 5) * 2

    def call(lib, x, *tensors):
        hx, weights = _states(name, tensors)
        sizes = lib.tensor([3, 2, 2, 1])
        return getattr(lib, name)(x, sizes, hx, weights, True, 1, 0.0, False, True)

    return _c(call, (8, 2), *states, *params, domain=(-1.0, 1.0))


def _cell(name, gates, biases):
    states = [(3, 5)] * (2 if name == "lstm_cell" else 1)

    def call(lib, x, *tensors):
        hx, weights = _states(name, tensors)
        return getattr(lib, name)(x, hx, *weights)

    return _c(call, (3, 2), *states, *_weights(gates, 2, 5)[:4 if biases else 2],
              domain=(-1.0, 1.0))


RECURRENT = {f"{name}.input": [_input(name), _input(name, 2, True), _input(name, biases=False),
                               _input(name, first=True)] for name in _GATES}
RECURRENT["lstm.input"] += [_input("lstm", 2, True, projection=3),
                            _input("lstm", biases=False, projection=3)]
RECURRENT |= {f"{name}.data": [_data(name)] for name in _GATES}
RECURRENT |= {f"{name}_cell": [_cell(f"{name}_cell", gates, biases) for biases in (True, False)]
              for name, gates in _GATES.items()}

RECURRENT_ELSEWHERE = {"recurrent": "lstm.input", "recurrent_grad": "autograd's gradcheck"}
