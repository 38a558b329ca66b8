"""The base of recurrent layers: weights, states, packed sequences, and the call of the kernel.

Each layer and direction is one call of the core's kernel ``recurrent``: one product for the input
part of all steps, then the steps with the recurrent weight packed once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor

from .._core import ops
from .._siblings import init
from ..parameter import Parameter
from ..utils._masked_rnn import run_masked
from ..utils._masked_sequence import MaskedSequence
from ..utils.rnn import PackedSequence
from ._rnn_names import RecurrentNames

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_NETWORKS = {mode: getattr(ops, mode.lower()) for mode in _GATES}


class RNNBase(RecurrentNames):
    r"""What recurrent layers share: parameters, checks and the call of the network.

    For each layer ``k`` the parameters are ``weight_ih_l{k}`` ``(gates * hidden_size, features)``,
    ``weight_hh_l{k}`` ``(gates * hidden_size, hidden or proj_size)``, with ``bias`` also
    ``bias_ih_l{k}`` and ``bias_hh_l{k}`` ``(gates * hidden_size,)``, with ``proj_size`` also
    ``weight_hr_l{k}`` ``(proj_size, hidden_size)``; those of the backward direction end in
    ``_reverse``. All start uniform in ``[-1/sqrt(hidden_size), 1/sqrt(hidden_size)]``.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        input_size: Features of the input.
        hidden_size: Features of the hidden state.
        num_layers: Layers on top of each other.
        bias: Whether there are biases.
        batch_first: Whether sequences come as ``(batch, steps, features)``, not
            ``(steps, batch, features)``. States are not affected.
        dropout: Probability of dropping an output of every layer but the last, when training.
        bidirectional: Whether a second direction reads the sequences from their ends.
        proj_size: Size of the projection of LSTM's hidden state, 0 for none.
        device: Where the parameters are made.
        dtype: Their dtype.

    Raises:
        TypeError: A size or a flag has another type.
        ValueError: A size, the dropout or the mode is not possible.

    Example:
        >>> from flambeau import nn
        >>> [name for name, _ in nn.RNNBase("GRU", 2, 3, bias=False).named_parameters()]
        ['weight_ih_l0', 'weight_hh_l0']
    """

    def __init__(
        self,
        mode: str,
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
        super().__init__()
        _check_sizes(mode, input_size, hidden_size, num_layers, proj_size)
        _check_options(bias, batch_first, dropout, num_layers)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._add_layer(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _add_layer(self, layer: int, suffix: str, factory: dict[str, Any]) -> None:
        """Parameters of one layer and direction."""
        rows, state = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        features = state * self._directions if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, features),
            "weight_hh": (rows, state),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = []
        for kind, shape in shapes.items():
            names.append(f"{kind}_l{layer}{suffix}")
            setattr(self, names[-1], Parameter(flambeau.empty(shape, **factory)))
        self._all_weights.append(names)

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """For each layer and direction, its parameters."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: the kernel packs weights at every call; there for PyTorch's programs."""

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        plain = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False}
        for name, usual in (plain | {"dropout": 0, "bidirectional": False}).items():
            value = getattr(self, name)
            if value != usual:
                text += f", {name}={value}"
        return text

    # ---- running -------------------------------------------------------------------------------
    def _run(self, input: Any, states: tuple[Tensor, ...] | None) -> tuple[Any, Any]:
        """Output and last states of a packed or padded batch, or of a single sequence."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, states)
        if isinstance(input, MaskedSequence):
            return self._run_masked(input, states)
        name = type(self).__name__
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {input.ndim}D tensor instead"
            )
        single = input.ndim == 2
        self._check_states_rank(states, single)
        if single:
            input = input.unsqueeze(self._batch_dim)
            states = None if states is None else tuple([s.unsqueeze(1) for s in states])
        states = self._checked(input, states, input.shape[self._batch_dim])
        result, *last = self._call(input, states, batch_first=self.batch_first)
        if single:
            return result.squeeze(self._batch_dim), [s.squeeze(1) for s in last]
        return result, last

    def _run_packed(self, input: Any, states: tuple[Tensor, ...] | None) -> tuple[Any, Any]:
        """States are those of the sequences as the user ordered them."""
        data, batch_sizes, order, back = input
        if data.ndim != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {data.ndim}")
        self._check_states_rank(states, False)
        ordered = self._checked(data, states, int(batch_sizes[0]))
        if states is not None and order is not None:
            ordered = tuple([s.index_select(1, order) for s in states])
        result, *last = self._call(data, ordered, batch_sizes)
        if back is not None:
            last = [s.index_select(1, back) for s in last]
        return PackedSequence(result, batch_sizes, order, back), last

    def _run_masked(self, input: Any, states: tuple[Tensor, ...] | None) -> tuple[Any, Any]:
        """Where the lengths are inputs of a program."""
        if self.training and self.dropout and self.num_layers > 1:
            raise NotImplementedError(
                "dropout draws numbers for the elements of a packed sequence, whose count a "
                "program does not know; record the network in eval mode"
            )
        self._check_states_rank(states, False)
        states = self._checked(input.padded, states, input.padded.shape[1])

        def network(x: Tensor, own: tuple[Tensor, ...], weights: Sequence[Tensor]) -> Any:
            hx = list(own) if self.mode == "LSTM" else own[0]
            options = (self.bias, 1, 0.0, False, False, False)
            return _NETWORKS[self.mode](x, hx, weights, *options)

        return run_masked(
            network, self.mode == "LSTM", input, states, self.all_weights, self._directions
        )

    def _call(self, input: Tensor, states: tuple[Tensor, ...], *sizes: Tensor, **last: Any) -> Any:
        hx = list(states) if self.mode == "LSTM" else states[0]
        return _NETWORKS[self.mode](
            input,
            *sizes,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            **last,
        )

    @property
    def _batch_dim(self) -> int:
        return 0 if self.batch_first else 1

    def _state_sizes(self, batch: int) -> list[tuple[int, int, int]]:
        """Shapes of the hidden state and, for LSTM, the cell state."""
        count = self.num_layers * self._directions
        hidden = (count, batch, self.proj_size or self.hidden_size)
        return [hidden, (count, batch, self.hidden_size)] if self.mode == "LSTM" else [hidden]

    def _check_states_rank(self, states: tuple[Tensor, ...] | None, single: bool) -> None:
        rank = 2 if single else 3
        if states is None or all(s.ndim == rank for s in states):
            return
        ranks = " and ".join(f"{s.ndim}-D" for s in states)
        kind = "unbatched 2-D" if single else "batched 3-D"
        raise RuntimeError(
            f"{type(self).__name__}: For {kind} input, hx should also be {rank}-D, got {ranks}"
        )

    def _checked(
        self, input: Tensor, states: tuple[Tensor, ...] | None, batch: int
    ) -> tuple[Tensor, ...]:
        """The states, zeros where none are given, after all checks."""
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{self.mode}(): input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.shape[-1]}"
            )
        dtype = self._flat_weights[0].dtype
        if input.dtype is not dtype and not flambeau.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        sizes = self._state_sizes(batch)
        if states is None:
            return tuple(
                [flambeau.zeros(size, dtype=input.dtype, device=input.device) for size in sizes]
            )
        for i, (state, size) in enumerate(zip(states, sizes, strict=True)):
            if tuple(state.shape) != size:
                which = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {which} size {size}, got {list(state.shape)}")
        return states


def _check_sizes(mode, input_size, hidden_size, num_layers, proj_size):
    if mode not in _GATES:
        known = ", ".join(_GATES)
        raise ValueError(f"Unrecognized RNN mode: {mode}; the modes are {known}")
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if proj_size and mode != "LSTM":
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def _check_options(bias, batch_first, dropout, num_layers):
    for name, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            f"element being zeroed, got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
