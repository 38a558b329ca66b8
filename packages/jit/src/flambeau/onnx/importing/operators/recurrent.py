"""Recurrent networks, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau as fl
from flambeau.nn import functional as F
from flambeau.onnx.importing.table import Call, computes

#: What ONNX calls the functions of gates; each is made of its alpha and beta.
_FUNCTIONS: dict[str, Callable[[float, float], Callable[[fl.Tensor], fl.Tensor]]] = {
    "sigmoid": lambda a, b: fl.sigmoid, "tanh": lambda a, b: fl.tanh,
    "relu": lambda a, b: F.relu, "affine": lambda a, b: lambda x: a * x + b,
    "leakyrelu": lambda a, b: lambda x: F.leaky_relu(x, a),
    "thresholdedrelu": lambda a, b: lambda x: F.threshold(x, a, 0.0),
    "scaledtanh": lambda a, b: lambda x: a * fl.tanh(b * x),
    "hardsigmoid": lambda a, b: lambda x: fl.clamp(a * x + b, 0, 1),
    "elu": lambda a, b: lambda x: F.elu(x, a), "softsign": lambda a, b: F.softsign,
    "softplus": lambda a, b: F.softplus}
#: Their alpha and beta where nothing is said.
_DEFAULTS = {"leakyrelu": (0.01, 0.0), "thresholdedrelu": (1.0, 0.0), "hardsigmoid": (0.2, 0.5),
             "elu": (1.0, 0.0), "affine": (1.0, 0.0), "scaledtanh": (1.0, 1.0)}

State = tuple[fl.Tensor, ...]
Cell = Callable[[fl.Tensor, State], State]
Gates = Callable[[fl.Tensor, fl.Tensor], fl.Tensor]


def _functions(call: Call, each: list[str], directions: int) -> list[Any]:
    names = call.get("activations") or each * directions
    alphas, betas = list(call.get("activation_alpha") or []), list(call.get("activation_beta")
                                                                   or [])
    found = []
    for name in names:
        key = name.lower()
        if key not in _FUNCTIONS:
            raise call.refuse(f"there is no activation {name!r}")
        alpha, beta = _DEFAULTS.get(key, (0.0, 0.0))
        if key in _DEFAULTS:
            alpha = alphas.pop(0) if alphas else alpha
            beta = betas.pop(0) if betas and key in ("hardsigmoid", "affine", "scaledtanh") \
                else beta
        found.append(_FUNCTIONS[key](alpha, beta))
    return found


def _limited(call: Call, x: fl.Tensor) -> fl.Tensor:
    limit = call.get("clip")
    return fl.clamp(x, -limit, limit) if limit else x


def _run(x: fl.Tensor, state: State, cell: Cell, lengths: fl.Tensor | None, backward: bool
         ) -> tuple[fl.Tensor, State]:
    """All steps of a direction; sequences that are over keep their state and give zeros."""
    steps = list(x.unbind(0))
    outputs: list[Any] = [None] * len(steps)
    for t in reversed(range(len(steps))) if backward else range(len(steps)):
        new = cell(steps[t], state)
        output = new[0]
        if lengths is not None:
            alive = (lengths > t).unsqueeze(-1)
            new = tuple(fl.where(alive, a, b) for a, b in zip(new, state, strict=True))
            output = fl.where(alive, output, fl.zeros_like(output))
        outputs[t], state = output, new
    return fl.stack(outputs), state


def _network(call: Call, x: fl.Tensor, states: list[fl.Tensor | None], lengths: Any,
             cell_of: Callable[[int], Cell], hidden: int) -> Any:
    """Directions of a layer: outputs and the last states, as the layout says."""
    batched = call.get("layout", 0)
    x = x.transpose(0, 1) if batched else x
    direction = call.get("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    zero = fl.zeros(directions, x.shape[1], hidden, dtype=x.dtype, device=x.device)
    first = [zero if each is None else each.transpose(0, 1) if batched else each
             for each in states]
    outputs, lasts = [], []
    for d in range(directions):
        y, last = _run(x, tuple(each[d] for each in first), cell_of(d), lengths,
                       direction == "reverse" or d == 1)
        outputs.append(y)
        lasts.append(last)
    y = fl.stack(outputs, 1)
    ends = [fl.stack([each[k] for each in lasts]) for k in range(len(states))]
    if batched:
        y = y.permute(2, 0, 1, 3)
        ends = [each.transpose(0, 1) for each in ends]
    return (y, *ends)


def _lengths(lengths: fl.Tensor | None, x: fl.Tensor, call: Call) -> fl.Tensor | None:
    steps = x.shape[1] if call.get("layout", 0) else x.shape[0]
    return None if lengths is None or bool((lengths == steps).all()) else lengths


def _is_plain(call: Call, lengths: fl.Tensor | None, each: list[str]) -> bool:
    """Whether it is a layer of PyTorch's."""
    names = [name.lower() for name in call.get("activations") or each]
    return (lengths is None and not call.get("clip") and not call.get("input_forget")
            and all(a == b.lower() for a, b in zip(names, each * 2, strict=False)))


def _layer(call: Call, function: Callable[..., Any], x: fl.Tensor, weights: list[fl.Tensor],
           order: list[int], states: list[fl.Tensor | None]) -> Any:
    """A layer of PyTorch's, whose gates lie in another order."""
    hidden = weights[1].shape[-1]
    directions = weights[0].shape[0]
    batched = call.get("layout", 0)
    backward = call.get("direction", "forward") == "reverse"
    x = x.transpose(0, 1) if batched else x
    x = x.flip(0) if backward else x
    zero = fl.zeros(directions, x.shape[1], hidden, dtype=x.dtype, device=x.device)
    first = [zero if each is None else each.transpose(0, 1) if batched else each
             for each in states]
    flat = []
    for d in range(directions):
        for part in weights:
            gates = part[d].split(hidden)
            if len(gates) == 2 * len(order):  # both biases
                flat += [fl.cat([gates[k] for k in order]),
                         fl.cat([gates[k + len(order)] for k in order])]
            else:
                flat.append(fl.cat([gates[k] for k in order]))
    state = tuple(first) if len(first) > 1 else first[0]
    y, *ends = function(x, state, flat, len(weights) > 2, 1, 0.0, False, directions == 2, False)
    y = y.flip(0) if backward else y
    y = y.reshape(*y.shape[:2], directions, hidden)
    if batched:
        return (y.permute(1, 0, 2, 3), *(each.transpose(0, 1) for each in ends))
    return (y.permute(0, 2, 1, 3), *ends)


@computes("RNN")
def rnn(call: Call, x: fl.Tensor, w: fl.Tensor, r: fl.Tensor, b: fl.Tensor | None = None,
        lengths: fl.Tensor | None = None, h0: fl.Tensor | None = None) -> Any:
    """``h = f(x w' + h r' + b)``."""
    hidden = r.shape[-1]
    functions = _functions(call, ["Tanh"], w.shape[0])

    def cell_of(d: int) -> Cell:
        bias = 0 if b is None else b[d, :hidden] + b[d, hidden:]

        def cell(x: fl.Tensor, state: State) -> State:
            return (functions[d](_limited(call, x @ w[d].T + state[0] @ r[d].T + bias)),)

        return cell

    return _network(call, x, [h0], _lengths(lengths, x, call), cell_of, hidden)


@computes("GRU")
def gru(call: Call, x: fl.Tensor, w: fl.Tensor, r: fl.Tensor, b: fl.Tensor | None = None,
        lengths: fl.Tensor | None = None, h0: fl.Tensor | None = None) -> Any:
    """Gated recurrent units; gates in the order update, reset, new."""
    hidden = r.shape[-1]
    after = call.get("linear_before_reset", 0)
    if after and _is_plain(call, _lengths(lengths, x, call), ["Sigmoid", "Tanh"]):
        return _layer(call, fl.gru, x, [w, r] if b is None else [w, r, b], [1, 0, 2], [h0])
    functions = _functions(call, ["Sigmoid", "Tanh"], w.shape[0])

    def cell_of(d: int) -> Cell:
        gate, new = functions[2 * d:2 * d + 2]
        given = fl.zeros(6 * hidden, dtype=x.dtype, device=x.device) if b is None else b[d]
        wb, rb = given[:3 * hidden], given[3 * hidden:]

        def cell(x: fl.Tensor, state: State) -> State:
            (h,) = state
            xz, xr, xn = (x @ w[d].T + wb).split(hidden, -1)
            hz, hr = (h @ r[d, :2 * hidden].T + rb[:2 * hidden]).split(hidden, -1)
            z, reset = gate(_limited(call, xz + hz)), gate(_limited(call, xr + hr))
            last = r[d, 2 * hidden:].T
            inner = reset * (h @ last + rb[2 * hidden:]) if after else (
                (reset * h) @ last + rb[2 * hidden:])
            n = new(_limited(call, xn + inner))
            return ((1 - z) * n + z * h,)

        return cell

    return _network(call, x, [h0], _lengths(lengths, x, call), cell_of, hidden)


@computes("LSTM")
def lstm(call: Call, x: fl.Tensor, w: fl.Tensor, r: fl.Tensor, b: fl.Tensor | None = None,
         lengths: fl.Tensor | None = None, h0: fl.Tensor | None = None,
         c0: fl.Tensor | None = None, p: fl.Tensor | None = None) -> Any:
    """Long short-term memory; gates in the order input, output, forget, cell."""
    hidden = r.shape[-1]
    if p is None and _is_plain(call, _lengths(lengths, x, call), ["Sigmoid", "Tanh", "Tanh"]):
        return _layer(call, fl.lstm, x, [w, r] if b is None else [w, r, b], [0, 2, 3, 1],
                      [h0, c0])
    def gates_of(d: int) -> Gates:
        bias = 0 if b is None else b[d, :4 * hidden] + b[d, 4 * hidden:]
        return lambda x, before: x @ w[d].T + before @ r[d].T + bias

    return lstm_by_gates(call, x, w.shape[0], hidden, gates_of, lengths, h0, c0, p)


def lstm_by_gates(call: Call, x: fl.Tensor, directions: int, hidden: int,
                  gates_of: Callable[[int], Gates], lengths: fl.Tensor | None,
                  h0: fl.Tensor | None, c0: fl.Tensor | None, p: fl.Tensor | None) -> Any:
    """An LSTM whose gates, before their activations, are a function of input and hidden state."""
    functions = _functions(call, ["Sigmoid", "Tanh", "Tanh"], directions)
    coupled = call.get("input_forget", 0)

    def cell_of(d: int) -> Cell:
        f, g, h = functions[3 * d:3 * d + 3]
        gates = gates_of(d)
        peep = [0, 0, 0] if p is None else list(p[d].split(hidden))

        def cell(x: fl.Tensor, state: State) -> State:
            before, c = state
            i, o, forget, new = gates(x, before).split(hidden, -1)
            i = f(_limited(call, i + peep[0] * c))
            forget = 1 - i if coupled else f(_limited(call, forget + peep[2] * c))
            c = forget * c + i * g(_limited(call, new))
            return f(_limited(call, o + peep[1] * c)) * h(c), c

        return cell

    return _network(call, x, [h0, c0], _lengths(lengths, x, call), cell_of, hidden)
