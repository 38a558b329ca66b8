"""Recurrent layers that compute with the integers of their weights."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import nn as layers
from flambeau.ao.nn.quantized.reference._weight import dequantized, quantized

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


class _Recurrent:
    """A recurrent layer; ``weight_qparams_dict`` has what is known of each weight, by its name."""

    _FLOAT: Any
    _IS_REFERENCE = True

    def __init__(self, *args: Any, weight_qparams_dict: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = dict(weight_qparams_dict or {})
        self.is_decomposed = found.pop("is_decomposed", False)
        self.weight_qparams_dict = found

    def _get_name(self) -> str:
        return f"QuantizedReference{self._FLOAT.__name__}"

    @contextmanager
    def _rounded(self) -> Iterator[None]:
        """Weights are what their integers stand for, within the block."""
        this: Any = self
        own = {name: this._parameters[name] for name in self.weight_qparams_dict}
        try:
            for name, weight in own.items():
                facts = {"is_decomposed": self.is_decomposed, **self.weight_qparams_dict[name]}
                this._parameters[name] = dequantized(weight, facts)
            yield
        finally:
            this._parameters.update(own)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the float layer computes."""
        with self._rounded():
            return self._FLOAT.forward(self, *args, **kwargs)

    def get_quantized_weight(self, name: str) -> Any:
        """The integers of a weight.

        Args:
            name: Such as ``weight_ih_l0``.
        """
        this: Any = self
        return quantized(this._parameters[name].detach(), self.weight_qparams_dict[name])

    @classmethod
    def from_float(cls, mod: Any, weight_qparams_dict: Any) -> Any:
        """The layer for a float one, whose parameters it shares.

        Args:
            mod: The float layer.
            weight_qparams_dict: What is known of each weight, by its name.
        """
        this: Any = cls
        names = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                 "bidirectional", "nonlinearity")
        made = this(**{name: getattr(mod, name) for name in names if hasattr(mod, name)
                       and not (name == "nonlinearity" and cls._FLOAT is not layers.RNNCell)},
                    weight_qparams_dict=weight_qparams_dict)
        for name, value in mod.named_parameters(recurse=False):
            setattr(made, name, value)
        return made


def _of(name: str) -> Any:
    kind = getattr(layers, name)
    return type(name, (_Recurrent, kind), {
        "_FLOAT": kind, "__module__": __name__, "__qualname__": name,
        "__doc__": f"`flambeau.nn.{name}` with weights whose integers ``weight_qparams_dict`` "
                   "describes."})


LSTM, GRU, LSTMCell, GRUCell, RNNCell = map(_of, ("LSTM", "GRU", "LSTMCell", "GRUCell", "RNNCell"))
