"""Recurrent layers with weights of integers, for floats."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.quantized.dynamic.linear import dynamic_product, dynamic_weight
from flambeau.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNNCell"]


def _lstm(inputs: Tensor, hidden: Tensor, state: Any) -> Any:
    i, f, g, o = (inputs + hidden).chunk(4, -1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru(inputs: Tensor, hidden: Tensor, state: Any) -> Any:
    r, z, n = inputs.chunk(3, -1)
    hr, hz, hn = hidden.chunk(3, -1)
    update = (z + hz).sigmoid()
    new = (n + (r + hr).sigmoid() * hn).tanh()
    return (new + update * (state[0] - new),)


class _Quantized:
    """Weights by the names that the float layer has for them."""

    _FLOAT: Any

    def __init__(self, *args: Any, dtype: Any = flambeau.qint8, **kwargs: Any) -> None:
        from flambeau.ao.quantization import qconfig

        self._take(self._FLOAT(*args, **kwargs),
                   qconfig.float16_dynamic_qconfig if dtype is flambeau.float16 else None)

    def _take(self, mod: Any, qconfig: Any) -> None:
        this: Any = self
        layers.Module.__init__(this)
        for name, value in mod.__dict__.items():
            if not name.startswith("_") and name != "qconfig":
                this.__dict__[name] = value
        this.weights = {
            name: dynamic_weight(value, qconfig) if name.startswith("weight") else value.detach()
            for name, value in mod.named_parameters()}
        this.eval()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float layer."""
        made: Any = cls.__new__(cls)
        made._take(mod, getattr(mod, "qconfig", None))
        return made

    def _get_name(self) -> str:
        return f"DynamicQuantized{self._FLOAT.__name__}"

    def extra_repr(self) -> str:
        """What the float layer says."""
        words: str = self._FLOAT.extra_repr(self)
        return words

    def _product(self, x: Tensor, which: str) -> Tensor:
        weights: Any = self.__dict__["weights"]
        return dynamic_product(x, weights[f"weight_{which}"], weights.get(f"bias_{which}"))

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write weights and biases."""
        for name, value in self.__dict__["weights"].items():
            destination[prefix + name] = value

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
                              missing_keys: Any, unexpected_keys: Any, error_msgs: Any) -> None:
        """Read weights and biases."""
        weights = self.__dict__["weights"]
        for name in weights:
            if prefix + name in state_dict:
                weights[name] = state_dict[prefix + name]
            elif strict:
                missing_keys.append(prefix + name)


class _Layers(_Quantized):
    _step: Any
    _states: int

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Outputs and last states, as the float layer has them."""
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        this: Any = self
        unbatched = input.ndim == 2
        x = input.unsqueeze(0 if this.batch_first else 1) if unbatched else input
        x = x.transpose(0, 1) if this.batch_first else x
        given = self._given(hx, x, unbatched)
        out, last = self._over_layers(x, given, None)
        out = out.transpose(0, 1) if this.batch_first else out
        if unbatched:
            out = out.squeeze(0 if this.batch_first else 1)
            last = [state.squeeze(1) for state in last]
        return out, tuple(last) if self._states == 2 else last[0]

    def _packed(self, input: Any, hx: Any) -> Any:
        padded, lengths = pad_packed_sequence(input)
        given = self._given(hx, padded, False)
        out, last = self._over_layers(padded, given, lengths)
        packed = pack_padded_sequence(out, lengths, enforce_sorted=input.sorted_indices is None)
        return packed, tuple(last) if self._states == 2 else last[0]

    def _given(self, hx: Any, x: Tensor, unbatched: bool) -> list[Tensor]:
        this: Any = self
        rows = this.num_layers * (2 if this.bidirectional else 1)
        if hx is None:
            return [x.new_zeros(rows, x.shape[1], this.hidden_size)] * self._states
        states = list(hx) if self._states == 2 else [hx]
        return [state.unsqueeze(1) for state in states] if unbatched else states

    def _over_layers(self, x: Tensor, given: list[Tensor], lengths: Any) -> Any:
        this: Any = self
        last: list[list[Tensor]] = [[] for _ in given]
        row = 0
        for layer in range(this.num_layers):
            both = []
            for suffix in ("", "_reverse") if this.bidirectional else ("",):
                out, ended = self._along(x, f"l{layer}{suffix}", bool(suffix),
                                         [state[row] for state in given], lengths)
                both.append(out)
                for kept, state in zip(last, ended, strict=True):
                    kept.append(state)
                row += 1
            x = flambeau.cat(both, -1)
        return x, [flambeau.stack(states) for states in last]

    def _along(self, x: Tensor, which: str, backward: bool, state: Any, lengths: Any) -> Any:
        """One layer over all steps; sequences that have ended keep their state."""
        inputs = self._product(x.reshape(-1, x.shape[-1]), f"ih_{which}")
        inputs = inputs.reshape(*x.shape[:-1], -1)
        outs: list[Any] = [None] * x.shape[0]
        steps = range(x.shape[0])
        for t in reversed(steps) if backward else steps:
            new = type(self)._step(inputs[t], self._product(state[0], f"hh_{which}"), state)
            if lengths is None:
                state = new
                outs[t] = state[0]
                continue
            runs = (lengths.to(x.device) > t).unsqueeze(1)
            state = tuple(flambeau.where(runs, a, b) for a, b in zip(new, state, strict=True))
            outs[t] = flambeau.where(runs, state[0], flambeau.zeros_like(state[0]))
        return flambeau.stack(outs), state


class LSTM(_Layers, layers.LSTM):
    """`flambeau.nn.LSTM` with weights of ``qint8``; ``from_float`` makes it."""

    _FLOAT, _step, _states = layers.LSTM, staticmethod(_lstm), 2


class GRU(_Layers, layers.GRU):
    """`flambeau.nn.GRU` with weights of ``qint8``; ``from_float`` makes it."""

    _FLOAT, _step, _states = layers.GRU, staticmethod(_gru), 1


class _Cell(_Quantized):
    def _state(self, input: Tensor, hx: Any) -> Tensor:
        this: Any = self
        return input.new_zeros(*input.shape[:-1], this.hidden_size) if hx is None else hx


class LSTMCell(_Cell, layers.LSTMCell):
    """`flambeau.nn.LSTMCell` with weights of ``qint8``; ``from_float`` makes it."""

    _FLOAT = layers.LSTMCell

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next states."""
        state = (self._state(input, None),) * 2 if hx is None else hx
        return _lstm(self._product(input, "ih"), self._product(state[0], "hh"), state)


class GRUCell(_Cell, layers.GRUCell):
    """`flambeau.nn.GRUCell` with weights of ``qint8``; ``from_float`` makes it."""

    _FLOAT = layers.GRUCell

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next state."""
        state = self._state(input, hx)
        return _gru(self._product(input, "ih"), self._product(state, "hh"), (state,))[0]


class RNNCell(_Cell, layers.RNNCell):
    """`flambeau.nn.RNNCell` with weights of ``qint8``; ``from_float`` makes it."""

    _FLOAT = layers.RNNCell

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """The next state."""
        this: Any = self
        both = self._product(input, "ih") + self._product(self._state(input, hx), "hh")
        return both.relu() if this.nonlinearity == "relu" else both.tanh()
