"""Single steps of recurrent layers: ``RNNCell``, ``LSTMCell``, ``GRUCell`` and their base."""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor

from .._core import ops
from .._siblings import init
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """What cells share: parameters and checks.

    The parameters are ``weight_ih`` ``(num_chunks * hidden_size, input_size)``, ``weight_hh``
    ``(num_chunks * hidden_size, hidden_size)``, ``bias_ih`` and ``bias_hh``
    ``(num_chunks * hidden_size,)``, uniform in ``[-1/sqrt(hidden_size), 1/sqrt(hidden_size)]``.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        bias: Whether there are biases.
        num_chunks: How many gates a step has.
        device: Where the parameters are made.
        dtype: Their dtype.

    Example:
        >>> from flambeau import nn
        >>> tuple(nn.RNNCellBase(2, 3, True, num_chunks=4).weight_ih.shape)
        (12, 2)
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        factory = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(flambeau.empty(rows, input_size, **factory))
        self.weight_hh = Parameter(flambeau.empty(rows, hidden_size, **factory))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(flambeau.empty(rows, **factory)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        if nonlinearity != "tanh":
            text += f", nonlinearity={nonlinearity}"
        return text

    def _step(self, operator: Any, input: Tensor, states: tuple[Tensor, ...] | None) -> Any:
        """``operator`` of the input and the states, or of zeros."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: input has inconsistent input_size: got {input.shape[-1]}, expected "
                f"{self.input_size}"
            )
        pair = operator is ops.lstm_cell
        if states is None:
            shape = (*input.shape[:-1], self.hidden_size)
            zeros = flambeau.zeros(shape, dtype=input.dtype, device=input.device)
            states = (zeros, zeros) if pair else (zeros,)
        for i, state in enumerate(states):
            self._check_state(f"hx[{i}]" if pair else "hidden", state, input)
        hx = list(states) if pair else states[0]
        return operator(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def _check_state(self, which: str, state: Tensor, input: Tensor) -> None:
        name = type(self).__name__
        if state.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {state.ndim}D instead")
        if tuple(state.shape) != (*input.shape[:-1], self.hidden_size):
            raise RuntimeError(
                f"{name}: {which} has shape {list(state.shape)}, but input of shape "
                f"{list(input.shape)} needs {[*input.shape[:-1], self.hidden_size]}"
            )


class RNNCell(RNNCellBase):
    r"""A step of Elman's network: ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Shapes: input ``(batch, input_size)`` or ``(input_size,)``; hidden state
    ``(batch, hidden_size)`` or ``(hidden_size,)``.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        bias: Whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        RuntimeError: The nonlinearity is not known, when the cell is called.

    Source: J. L. Elman, Finding structure in time, Cognitive Science 14, 1990.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.RNNCell(4, 6)(flambeau.zeros(3, 4)).shape)
        (3, 6)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The hidden state after one step from ``hx``, or from zeros."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"Unknown nonlinearity: {self.nonlinearity}; select 'tanh' or 'relu'"
            )
        operator = ops.rnn_tanh_cell if self.nonlinearity == "tanh" else ops.rnn_relu_cell
        return self._step(operator, input, None if hx is None else (hx,))


class LSTMCell(RNNCellBase):
    r"""A step of an LSTM.

    ``i, f, o = sigmoid(W_i. x + b_i. + W_h. h + b_h.)``, ``g = tanh(W_ig x + b_ig + W_hg h +
    b_hg)``, ``c' = f * c + i * g``, ``h' = o * tanh(c')``.

    Shapes: input ``(batch, input_size)`` or ``(input_size,)``; states ``(batch, hidden_size)`` or
    ``(hidden_size,)``.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the states.
        bias: Whether there are biases.
        device: Where the parameters are made.
        dtype: Their dtype.

    Source: S. Hochreiter and J. Schmidhuber, Long short-term memory, Neural Computation 9, 1997.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> hidden, cell = nn.LSTMCell(4, 6)(flambeau.zeros(3, 4))
        >>> tuple(hidden.shape), tuple(cell.shape)
        ((3, 6), (3, 6))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Hidden and cell state after one step from ``hx``, a pair of them, or from zeros."""
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise RuntimeError(
                "LSTMCell: hx is a pair, the hidden and the cell state: cell(input, (h, c)); got "
                f"{type(hx).__name__}"
            )
        hidden, cell = self._step(ops.lstm_cell, input, None if hx is None else tuple(hx))
        return hidden, cell


class GRUCell(RNNCellBase):
    r"""A step of gated recurrent units.

    ``r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)``, ``z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)``,
    ``n = tanh(W_in x + b_in + r * (W_hn h + b_hn))``, ``h' = (1 - z) * n + z * h``.

    Shapes: input ``(batch, input_size)`` or ``(input_size,)``; hidden state
    ``(batch, hidden_size)`` or ``(hidden_size,)``.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        bias: Whether there are biases.
        device: Where the parameters are made.
        dtype: Their dtype.

    Source: K. Cho et al., Learning phrase representations using RNN encoder-decoder, EMNLP 2014.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.GRUCell(4, 6)(flambeau.zeros(4)).shape)
        (6,)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The hidden state after one step from ``hx``, or from zeros."""
        return self._step(ops.gru_cell, input, None if hx is None else (hx,))
