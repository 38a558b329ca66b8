"""Steps of recurrent layers with packed weights of integers."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flambeau
from flambeau.ao.nn.quantized.dynamic import rnn
from flambeau.ao.operators.products import linear_dynamic, linear_dynamic_fp16

__all__ = ["cells"]


def _product(x: Any, packed: Any) -> Any:
    halves = packed[0].dtype is flambeau.float16
    return linear_dynamic_fp16(x, packed) if halves else linear_dynamic(x, packed, True)


def _both(input: Any, hidden: Any, w_ih: Any, w_hh: Any) -> tuple[Any, Any]:
    return _product(input, w_ih), _product(hidden, w_hh)


def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """The next states of an LSTM; biases are those that weights are packed with."""
    return rnn._lstm(*_both(input, hx[0], w_ih, w_hh), hx)


def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """The next state of a GRU."""
    return rnn._gru(*_both(input, hx, w_ih, w_hh), (hx,))[0]


def _plain(activation: Callable[[Any], Any]) -> Callable[..., Any]:
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        inputs, hidden = _both(input, hx, w_ih, w_hh)
        return activation(inputs + hidden)

    return cell


def cells() -> dict[str, Callable[..., Any]]:
    """The operators of recurrent layers, by name."""
    return {"quantized_lstm_cell_dynamic": lstm_cell, "quantized_gru_cell_dynamic": gru_cell,
            "quantized_rnn_tanh_cell_dynamic": _plain(flambeau.tanh),
            "quantized_rnn_relu_cell_dynamic": _plain(flambeau.relu)}
