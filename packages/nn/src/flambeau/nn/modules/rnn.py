"""Recurrent layers: ``RNN``, ``LSTM`` and ``GRU``."""

from __future__ import annotations

from typing import Any, ClassVar

from flambeau import Tensor

from ._rnn_base import RNNBase as RNNBase


class RNN(RNNBase):
    r"""Elman's recurrent network: ``h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)``.

    Shapes: input ``(steps, batch, input_size)``, ``(batch, steps, input_size)`` with
    ``batch_first``, ``(steps, input_size)`` or a ``PackedSequence``; ``h_0`` and ``h_n``
    ``(layers * directions, batch, hidden_size)``, without the batch for a single sequence; output
    like the input with ``directions * hidden_size`` features.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        num_layers: Layers on top of each other.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        bias: Whether there are biases.
        batch_first: Whether the batch is the first dimension of input and output.
        dropout: Probability of dropping an output of every layer but the last, when training.
        bidirectional: Whether a second direction reads the sequences from their ends.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: An argument is not possible.

    Source: J. L. Elman, Finding structure in time, Cognitive Science 14, 1990.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> output, hidden = nn.RNN(4, 6, num_layers=2)(flambeau.zeros(5, 3, 4))
        >>> tuple(output.shape), tuple(hidden.shape)
        ((5, 3, 6), (2, 3, 6))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Output of all steps, and the hidden state after the last, from ``hx`` or zeros."""
        result, (hidden,) = self._run(input, None if hx is None else (hx,))
        return result, hidden


class _Gated(RNNBase):
    """A layer whose class decides how its gates work."""

    _mode: ClassVar[str]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            self._mode,
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class GRU(_Gated):
    r"""Gated recurrent units.

    ``r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)``, ``z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)``,
    ``n = tanh(W_in x + b_in + r * (W_hn h + b_hn))``, ``h' = (1 - z) * n + z * h``; the weights of
    ``r``, ``z`` and ``n`` lie one above the other.

    Shapes: input ``(steps, batch, input_size)``, ``(batch, steps, input_size)`` with
    ``batch_first``, ``(steps, input_size)`` or a ``PackedSequence``; ``h_0`` and ``h_n``
    ``(layers * directions, batch, hidden_size)``, without the batch for a single sequence; output
    like the input with ``directions * hidden_size`` features.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        num_layers: Layers on top of each other.
        bias: Whether there are biases.
        batch_first: Whether the batch is the first dimension of input and output.
        dropout: Probability of dropping an output of every layer but the last, when training.
        bidirectional: Whether a second direction reads the sequences from their ends.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: An argument is not possible.

    Source: K. Cho et al., Learning phrase representations using RNN encoder-decoder, EMNLP 2014;
    with the reset gate after the product, as in cuDNN.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> output, hidden = nn.GRU(4, 6, bidirectional=True)(flambeau.zeros(5, 3, 4))
        >>> tuple(output.shape), tuple(hidden.shape)
        ((5, 3, 12), (2, 3, 6))
    """

    _mode = "GRU"

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """Output of all steps, and the hidden state after the last, from ``hx`` or zeros."""
        result, (hidden,) = self._run(input, None if hx is None else (hx,))
        return result, hidden


class LSTM(_Gated):
    r"""Long short-term memory.

    ``i, f, o = sigmoid(W_i. x + b_i. + W_h. h + b_h.)``, ``g = tanh(W_ig x + b_ig + W_hg h +
    b_hg)``, ``c' = f * c + i * g``, ``h' = o * tanh(c')``, or ``h' = W_hr (o * tanh(c'))`` with a
    projection; the weights of ``i``, ``f``, ``g`` and ``o`` lie one above the other.

    Shapes: input ``(steps, batch, input_size)``, ``(batch, steps, input_size)`` with
    ``batch_first``, ``(steps, input_size)`` or a ``PackedSequence``; ``h_0`` and ``h_n``
    ``(layers * directions, batch, proj_size or hidden_size)``, ``c_0`` and ``c_n``
    ``(layers * directions, batch, hidden_size)``, without the batch for a single sequence; output
    like the input with ``directions * (proj_size or hidden_size)`` features.

    Args:
        input_size: Features of the input.
        hidden_size: Features of the cell state, and of the hidden state without a projection.
        num_layers: Layers on top of each other.
        bias: Whether there are biases.
        batch_first: Whether the batch is the first dimension of input and output.
        dropout: Probability of dropping an output of every layer but the last, when training.
        bidirectional: Whether a second direction reads the sequences from their ends.
        proj_size: Size to which the hidden state is projected, 0 for no projection.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        ValueError: An argument is not possible.

    Source: S. Hochreiter and J. Schmidhuber, Long short-term memory, Neural Computation 9, 1997;
    projections: H. Sak et al., Interspeech 2014.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> lstm = nn.LSTM(4, 6, proj_size=2, batch_first=True)
        >>> output, (hidden, cell) = lstm(flambeau.zeros(3, 5, 4))
        >>> tuple(output.shape), tuple(hidden.shape), tuple(cell.shape)
        ((3, 5, 2), (1, 3, 2), (1, 3, 6))
    """

    _mode = "LSTM"

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """Output of all steps and ``(h_n, c_n)`` after the last, from ``(h_0, c_0)`` or zeros."""
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise RuntimeError(
                "LSTM: hx is a pair, the hidden and the cell state: lstm(input, (h_0, c_0)); got "
                f"{type(hx).__name__}"
            )
        result, (hidden, cell) = self._run(input, None if hx is None else tuple(hx))
        return result, (hidden, cell)
