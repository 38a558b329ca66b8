"""LSTM, GRU and RNN."""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import Builder, Name
from flambeau.onnx.exporting.table import emits, refuse

#: mode -> (ONNX's word, the order of its gates in ours, its activation)
_MODES = {"lstm": ("LSTM", (0, 3, 1, 2), None), "gru": ("GRU", (1, 0, 2), None),
          "tanh": ("RNN", (0,), ["Tanh"]), "relu": ("RNN", (0,), ["Relu"])}


def _gates(b: Builder, name: Name, order: tuple[int, ...], hidden: int) -> Name:
    """Rows by gate in ONNX's order, with a first dimension for the direction."""
    parts = [b.add("Slice", name, b.whole(g * hidden), b.whole((g + 1) * hidden), b.whole(0))
             for g in order]
    whole = b.add("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
    return b.add("Unsqueeze", whole, b.whole(0))


@emits("recurrent")
def write_recurrent(b: Builder, node: Node, x: Value, hx: Value, cx: Value | None, weight_ih: Value,
               weight_hh: Value, bias_ih: Value | None, bias_hh: Value | None,
               weight_hr: Value | None = None, batch_sizes: Any = None, mode: str = "lstm",
               reverse: Any = False, keep: Any = False) -> list[Name]:
    if weight_hr is not None or batch_sizes is not None:
        refuse(node, "projections and packed sequences have no form in ONNX")
    word, order, activations = _MODES[mode.removeprefix("rnn_")]
    hidden = int(weight_hh.shape[1])  # type: ignore[arg-type]
    weights = [_gates(b, b.of(w), order, hidden) for w in (weight_ih, weight_hh)]
    bias = ""
    if bias_ih is not None and bias_hh is not None:
        both = [_gates(b, b.of(value), order, hidden) for value in (bias_ih, bias_hh)]
        bias = b.add("Concat", *both, axis=1)
    state = [b.add("Unsqueeze", b.of(value), b.whole(0)) for value in (hx, cx) if value is not None]
    count = 3 if word == "LSTM" else 2
    outputs = b.add_several(
        count, word, b.of(x), *weights, bias, "", *state, hidden_size=hidden,
        direction="reverse" if reverse else "forward", activations=activations,
        linear_before_reset=1 if word == "GRU" else None)
    axes = (b.whole(1), *[b.whole(0)] * (count - 1))
    return [b.add("Squeeze", name, axis) for name, axis in zip(outputs, axes, strict=True)]
