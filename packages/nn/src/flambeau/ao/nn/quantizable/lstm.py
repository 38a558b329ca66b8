"""LSTM layers made of parts that are watched and quantized each for itself."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import nn as layers
from flambeau.ao.nn.quantized.between import FloatFunctional
from flambeau.nn import Module

__all__ = ["LSTM", "LSTMCell"]


class LSTMCell(Module):
    """`flambeau.nn.LSTMCell`, of which products, gates and sums are modules.

    Args:
        input_dim: Numbers in.
        hidden_dim: Numbers of the states.
        bias: Whether there are biases.
        device, dtype: Where parameters are made, and their dtype.
    """

    _FLOAT_MODULE = layers.LSTMCell

    def __init__(self, input_dim: int, hidden_dim: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_dim, hidden_dim, bias
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.igates = layers.Linear(input_dim, 4 * hidden_dim, **made)
        self.hgates = layers.Linear(hidden_dim, 4 * hidden_dim, **made)
        self.gates = FloatFunctional()
        self.input_gate, self.forget_gate = layers.Sigmoid(), layers.Sigmoid()
        self.cell_gate, self.output_gate = layers.Tanh(), layers.Sigmoid()
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()
        self.initial_hidden_state_qparams = self.initial_cell_state_qparams = (1.0, 0)
        self.hidden_state_dtype = self.cell_state_dtype = flambeau.quint8

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """The next states of ``[batch, numbers]``."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        hx, cx = hidden
        gates = self.gates.add(self.igates(x), self.hgates(hx))
        entering, forgetting, cell, leaving = gates.chunk(4, 1)
        kept = self.fgate_cx.mul(self.forget_gate(forgetting), cx)
        new = self.igate_cgate.mul(self.input_gate(entering), self.cell_gate(cell))
        cy = self.fgate_cx_igate_cgate.add(kept, new)
        return self.ogate_cy.mul(self.output_gate(leaving), cy.tanh()), cy

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> tuple[Any, Any]:
        """States of zeros.

        Args:
            batch_size: How many rows.
            is_quantized: Whether they are integers.
        """
        zeros = flambeau.zeros(batch_size, self.hidden_size)
        if not is_quantized:
            return zeros, zeros.clone()
        return (flambeau.quantize_per_tensor(zeros, *self.initial_hidden_state_qparams,
                                             self.hidden_state_dtype),
                flambeau.quantize_per_tensor(zeros, *self.initial_cell_state_qparams,
                                             self.cell_state_dtype))

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(cls, wi: Any, wh: Any, bi: Any = None, bh: Any = None) -> LSTMCell:
        """The cell with given weights and biases.

        Args:
            wi: Of the input, ``[4 * hidden, input]``.
            wh: Of the hidden state.
            bi, bh: Biases.
        """
        made = cls(wi.shape[1], wh.shape[1], bi is not None)
        for gates, weight, bias in ((made.igates, wi, bi), (made.hgates, wh, bh)):
            gates.weight = layers.Parameter(weight.detach())
            if bias is not None:
                gates.bias = layers.Parameter(bias.detach())
        return made

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False) -> LSTMCell:
        """The cell for a float one that has a ``qconfig``."""
        made = cls.from_params(other.weight_ih, other.weight_hh,
                               *((other.bias_ih, other.bias_hh) if other.bias else ()))
        made.qconfig = other.qconfig
        for part in (made.igates, made.hgates):
            part.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(Module):
    """A cell over all steps."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """Outputs of all steps, and the last states."""
        outs = []
        for step in range(x.shape[0]):
            hidden = self.cell(x[step], hidden)
            outs.append(hidden[0])
        return flambeau.stack(outs, 0), hidden


class _LSTMLayer(Module):
    """One layer, in one direction or both."""

    def __init__(self, cells: list[LSTMCell]) -> None:
        super().__init__()
        self.layer_fw = _LSTMSingleLayer(cells[0])
        if len(cells) > 1:
            self.layer_bw = _LSTMSingleLayer(cells[1])

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """Outputs of all steps, and the last states of each direction."""
        both = hasattr(self, "layer_bw")
        given = [None, None] if hidden is None else [(hidden[0][i], hidden[1][i])
                                                     for i in range(1 + both)]
        out, last = self.layer_fw(x, given[0])
        if not both:
            return out, [last]
        back, other = self.layer_bw(x.flip(0), given[1])
        return flambeau.cat([out, back.flip(0)], out.ndim - 1), [last, other]


class LSTM(Module):
    """`flambeau.nn.LSTM`, of which products, gates and sums are modules.

    Args:
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: As in
            `flambeau.nn.LSTM`; ``dropout`` has no effect.
        device, dtype: Where parameters are made, and their dtype.

    Example:
        >>> import flambeau
        >>> from flambeau.ao.nn import quantizable
        >>> out, (h, c) = quantizable.LSTM(4, 3)(flambeau.randn(5, 2, 4))
        >>> tuple(out.shape), tuple(h.shape)
        ((5, 2, 3), (1, 2, 3))
    """

    _FLOAT_MODULE = layers.LSTM

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.training = bidirectional, False
        directions = 2 if bidirectional else 1
        self.layers = layers.ModuleList([_LSTMLayer([
            LSTMCell(input_size if at == 0 else hidden_size * directions, hidden_size, bias,
                     device, dtype) for _ in range(directions)]) for at in range(num_layers)])

    def forward(self, x: Any, hidden: Any = None) -> Any:
        """Outputs of all steps and the last states, as the float layer has them."""
        unbatched = x.ndim == 2
        x = x.unsqueeze(0 if self.batch_first else 1) if unbatched else x
        x = x.transpose(0, 1) if self.batch_first else x
        if hidden is not None and unbatched:
            hidden = tuple(state.unsqueeze(1) for state in hidden)
        directions = 2 if self.bidirectional else 1
        last: list[Any] = []
        for at, layer in enumerate(self.layers):
            given = None if hidden is None else tuple(
                state[at * directions:(at + 1) * directions] for state in hidden)
            x, ended = layer(x, given)
            last += ended
        states = tuple(flambeau.stack([each[i] for each in last]) for i in (0, 1))
        x = x.transpose(0, 1) if self.batch_first else x
        if unbatched:
            x = x.squeeze(0 if self.batch_first else 1)
            states = tuple(state.squeeze(1) for state in states)
        return x, states

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None,
                   use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, watched.

        Args:
            other: The float layer.
            qconfig: The configuration; None: that of the layer.
            use_precomputed_fake_quant: Without effect.
        """
        from flambeau.ao import quantization

        made = cls(other.input_size, other.hidden_size, other.num_layers, other.bias,
                   other.batch_first, other.dropout, other.bidirectional)
        made.qconfig = getattr(other, "qconfig", qconfig)
        for at, layer in enumerate(made.layers):
            for name, end in (("layer_fw", ""), ("layer_bw", "_reverse")):
                if hasattr(layer, name):
                    names = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh")
                                                         if other.bias else ()))
                    given = [getattr(other, f"{each}_l{at}{end}") for each in names]
                    getattr(layer, name).cell = LSTMCell.from_params(*given)
        if other.training:
            return quantization.prepare_qat(made.train(), inplace=True)
        return quantization.prepare(made.eval(), inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Refused: `flambeau.ao.nn.quantized.LSTM` is made from this class."""
        raise NotImplementedError("quantizable.LSTM.from_observed(): write "
                                  "flambeau.ao.nn.quantized.LSTM.from_observed(layer)")
