"""Layers of integers that are made from their watched parts."""
from __future__ import annotations

import copy
from typing import Any

import flambeau.ao.nn.quantizable as quantizable

__all__ = ["LSTM", "MultiheadAttention"]


class _Observed:
    _FLOAT_MODULE: Any

    @classmethod
    def from_float(cls, *args: Any, **kwargs: Any) -> Any:
        """Refused: the watched layer comes between."""
        raise NotImplementedError(f"quantized.{cls.__name__}.from_float(): write prepare() on the "
                                  "network, run it on data, and convert()")

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The layer of integers for a watched one that has seen numbers."""
        from flambeau.ao import quantization

        made = copy.deepcopy(other)
        for name, part in list(made.named_children()):
            setattr(made, name, quantization.convert(part, inplace=True))
        del made.qconfig
        made.__class__ = cls
        return made


class LSTM(_Observed, quantizable.LSTM):
    """`flambeau.nn.LSTM` of integers; ``from_observed`` makes it."""

    _FLOAT_MODULE = quantizable.LSTM

    def _get_name(self) -> str:
        return "QuantizedLSTM"


class MultiheadAttention(_Observed, quantizable.MultiheadAttention):
    """`flambeau.nn.MultiheadAttention` with projections of integers."""

    _FLOAT_MODULE = quantizable.MultiheadAttention

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The layer of integers for a watched one that has seen numbers."""
        from flambeau.ao.quantization import FixedQParamsObserver

        # A product with a number is not watched: it keeps the integers.
        other.q_scaling_product.activation_post_process = FixedQParamsObserver(1.0, 0)
        return super().from_observed(other)
