"""Layers without products: activations, norms, tables of rows."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.quantized._weights import expect_quantized
from flambeau.ao.nn.quantized.linear import OutputScale, with_output_scale
from flambeau.nn import functional as F

__all__ = ["BatchNorm2d", "BatchNorm3d", "Dropout", "ELU", "Embedding", "EmbeddingBag",
           "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
           "LayerNorm", "LeakyReLU", "MaxPool2d", "PReLU", "ReLU6", "Sigmoid", "Softmax"]


class ReLU6(layers.ReLU6):
    """``min(max(x, 0), 6)`` of integers."""

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """Instead of a float layer."""
        return ReLU6(mod.inplace)


class MaxPool2d(layers.MaxPool2d):
    """`flambeau.nn.MaxPool2d`, which takes integers as it is."""


class Dropout(layers.Dropout):
    """Lets integers pass: quantized networks are not trained."""

    def _get_name(self) -> str:
        return "QuantizedDropout"

    def forward(self, input: Any) -> Any:
        """The input."""
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """Instead of a float layer."""
        return cls(mod.p, mod.inplace)


class _Through(OutputScale):
    """A float layer on what integers stand for; its result has the scale of this layer."""

    _FLOAT: Any

    def _get_name(self) -> str:
        return f"Quantized{self._FLOAT.__name__}"

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        x = expect_quantized(self._get_name(), input)
        return flambeau.quantize_per_tensor(self._FLOAT.forward(self, x.dequantize()).detach(),
                                            self.scale, self.zero_point, x.dtype)

    def extra_repr(self) -> str:
        """What the float layer says, and the scale."""
        words = self._FLOAT.extra_repr(self)
        return ", ".join(filter(None, (words, f"scale={self.scale}",
                                       f"zero_point={self.zero_point}")))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a layer that was prepared and has seen numbers."""
        post = mod.activation_post_process
        inner = mod[0] if isinstance(mod, layers.Sequential) else mod
        made: Any = cls.__new__(cls)
        layers.Module.__init__(made)
        state = {*inner._parameters, *inner._buffers, "qconfig"}
        made.__dict__.update((name, value) for name, value in vars(inner).items()
                             if not name.startswith("_") and name not in state)
        for name, value in inner._parameters.items():
            made.register_parameter(name, value)
        for name, value in inner._buffers.items():
            made.register_buffer(name, value)
        return with_output_scale(made, post)


def _through(float_kind: Any, name: str = "") -> Any:
    name = name or float_kind.__name__

    def __init__(self: Any, *args: Any, scale: float = 1.0, zero_point: int = 0,
                 **kwargs: Any) -> None:
        float_kind.__init__(self, *args, **kwargs)
        self.scale, self.zero_point = float(scale), int(zero_point)

    return type(name, (_Through, float_kind), {
        "__init__": __init__, "_FLOAT": float_kind, "__module__": __name__, "__qualname__": name,
        "__doc__": f"`flambeau.nn.{float_kind.__name__}` of integers: computed in floats, and "
                   "quantized with ``scale`` and ``zero_point``, which its arguments end with."})


Hardswish: Any = _through(layers.Hardswish)
ELU: Any = _through(layers.ELU)
LeakyReLU: Any = _through(layers.LeakyReLU)
Sigmoid: Any = _through(layers.Sigmoid)
Softmax: Any = _through(layers.Softmax)
PReLU: Any = _through(layers.PReLU)
LayerNorm: Any = _through(layers.LayerNorm)
GroupNorm: Any = _through(layers.GroupNorm)
InstanceNorm1d: Any = _through(layers.InstanceNorm1d)
InstanceNorm2d: Any = _through(layers.InstanceNorm2d)
InstanceNorm3d: Any = _through(layers.InstanceNorm3d)
BatchNorm2d: Any = _through(layers.BatchNorm2d)
BatchNorm3d: Any = _through(layers.BatchNorm3d)


class BNReLU2d(BatchNorm2d):
    """A batch norm and a ReLU of integers."""

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        return F.relu(super().forward(input))


class BNReLU3d(BatchNorm3d):
    """A batch norm and a ReLU of integers."""

    def forward(self, input: Any) -> Any:
        """Integers out of integers."""
        return F.relu(super().forward(input))


class Embedding(layers.Module):
    """Rows of a table of ``quint8``, each with a scale of its own; floats come out.

    Args:
        num_embeddings: Rows.
        embedding_dim: Numbers in a row.
        others: as in `flambeau.nn.Embedding`.
        dtype: ``quint8``.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
                 dtype: Any = flambeau.quint8) -> None:
        super().__init__()
        if dtype is not flambeau.quint8:
            raise NotImplementedError(f"Embedding: tables are of quint8, not {dtype}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        table = flambeau.zeros(num_embeddings, embedding_dim)
        ones = flambeau.ones(num_embeddings)
        self.set_weight(flambeau.quantize_per_channel(table, ones, ones * 0, 0, dtype)
                        if _weight is None else _weight)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def set_weight(self, w: Any) -> None:
        """Take another table."""
        self.__dict__["_weight"] = w

    def weight(self) -> Any:
        """The table."""
        return self._weight

    def _rows(self, index: Tensor) -> Tensor:
        table, quantizer = self._weight._values, self._weight._quantizer
        rows = F.embedding(index, table).float()
        return (rows - quantizer.zero_point[index].float().unsqueeze(-1)) \
            * quantizer.scale[index].float().unsqueeze(-1)

    def forward(self, indices: Tensor) -> Tensor:
        """Rows, as floats."""
        return self._rows(indices)

    def extra_repr(self) -> str:
        """Sizes."""
        return (f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
                f"dtype={self._weight.dtype}, qscheme={self._weight.qscheme()}")

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the table."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_params.dtype"] = self._weight.dtype
        destination[prefix + "_packed_params._packed_weight"] = self._weight

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Read the table."""
        state_dict.pop(prefix + "_packed_params.dtype", None)
        self.set_weight(state_dict.pop(prefix + "_packed_params._packed_weight", self._weight))
        super()._load_from_state_dict(state_dict, prefix, *args)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float table."""
        if hasattr(mod, "weight_fake_quant"):
            observer = mod.weight_fake_quant
        else:
            from flambeau.ao.quantization.qconfig import default_float_qparams_observer

            observer = default_float_qparams_observer()
            if getattr(mod, "qconfig", None) is not None:
                observer = mod.qconfig.weight()
            observer(mod.weight.detach())
        if observer.qscheme != flambeau.per_channel_affine_float_qparams:
            raise AssertionError(f"{cls.__name__}: tables have a scale and a zero point for each "
                                 "row: write qconfig = float_qparams_weight_only_qconfig")
        scale, zero = observer.calculate_qparams()
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made.padding_idx = mod.padding_idx
        made.set_weight(flambeau.quantize_per_channel(mod.weight.detach().float(), scale, zero, 0,
                                                      flambeau.quint8))
        return made


class EmbeddingBag(Embedding):
    """Sums of rows of a table of ``quint8``.

    Args:
        num_embeddings: Rows.
        embedding_dim: Numbers in a row.
        others: as in `flambeau.nn.EmbeddingBag`; ``mode`` is ``"sum"``.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "sum",
                 sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
                 dtype: Any = flambeau.quint8) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.include_last_offset = mode, include_last_offset

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    def forward(self, indices: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:
        """A row for each bag."""
        used, inverse = indices.unique(return_inverse=True)
        return F.embedding_bag(inverse, self._rows(used), offsets, mode=self.mode,
                               per_sample_weights=per_sample_weights,
                               include_last_offset=self.include_last_offset)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float table."""
        made = super().from_float(mod)
        made.mode, made.include_last_offset = mod.mode, mod.include_last_offset
        return made
