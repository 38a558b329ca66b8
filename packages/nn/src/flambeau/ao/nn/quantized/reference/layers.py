"""Linear layers, convolutions and tables that compute with the integers of their weight."""
from __future__ import annotations

from typing import Any

from flambeau import Tensor
from flambeau import nn as layers
from flambeau.ao.nn.qat.modules import conv_arguments
from flambeau.ao.nn.quantized.reference._weight import ReferenceQuantizedModule
from flambeau.nn import functional as F

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
           "Embedding", "EmbeddingBag", "Linear"]


class _Layer(ReferenceQuantizedModule):
    _FLOAT: Any
    _IS_REFERENCE = True

    def __init__(self, *args: Any, weight_qparams: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._init_weight_qparams(weight_qparams)

    def _get_name(self) -> str:
        return f"QuantizedReference{self._FLOAT.__name__}" if "Conv" not in self._FLOAT.__name__ \
            else f"Reference{self._FLOAT.__name__}"

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: Any = None,
                   use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, whose parameters it shares.

        Args:
            mod: The float layer.
            weight_qparams: What is known of the weight's integers.
            use_precomputed_fake_quant: Without effect.
        """
        made: Any = cls(**cls._arguments(mod), weight_qparams=weight_qparams)
        for name in ("weight", "bias"):
            if hasattr(mod, name):
                value = getattr(mod, name)
                computed = isinstance(value, Tensor) and not isinstance(value, layers.Parameter)
                setattr(made, name, layers.Parameter(value.detach()) if computed else value)
        return made.train(mod.training)

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        raise NotImplementedError


class Linear(_Layer, layers.Linear):
    """`flambeau.nn.Linear` with a weight whose integers ``weight_qparams`` describes.

    Args:
        in_features, out_features, bias_: What the float layer takes.
        device, dtype: Where the parameters are made, and their dtype.
        weight_qparams: A dict of ``qscheme``, ``dtype``, ``scale``, ``zero_point``, ``axis``.
    """

    _FLOAT = layers.Linear

    def __init__(self, in_features: int, out_features: int, bias_: bool = True,
                 device: Any = None, dtype: Any = None, weight_qparams: Any = None) -> None:
        super().__init__(in_features, out_features, bias_, device=device, dtype=dtype,
                         weight_qparams=weight_qparams)

    def forward(self, x: Tensor) -> Tensor:
        """The product of floats."""
        return F.linear(x, self.get_weight(), self.bias)

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        return {"in_features": mod.in_features, "out_features": mod.out_features,
                "bias_": mod.bias is not None}


class _Conv(_Layer):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
                 weight_qparams: Any = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation,
                         groups=groups, bias=bias, padding_mode=padding_mode, device=device,
                         dtype=dtype, weight_qparams=weight_qparams)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution of floats."""
        this: Any = self
        return this._conv_forward(x, self.get_weight(), this.bias)

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        return conv_arguments(mod)


class _ConvTranspose(_Layer):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
                 padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
                 dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None, weight_qparams: Any = None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, output_padding,
                         groups, bias, dilation, padding_mode, device=device, dtype=dtype,
                         weight_qparams=weight_qparams)

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution of floats."""
        this: Any = self
        own = this._parameters["weight"]
        this._parameters["weight"] = self.get_weight()
        try:
            return self._FLOAT.forward(self, x, output_size)
        finally:
            this._parameters["weight"] = own

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        return {**conv_arguments(mod), "output_padding": mod.output_padding}


def _of(base: Any, name: str) -> Any:
    kind = getattr(layers, name)
    return type(name, (base, kind), {
        "_FLOAT": kind, "__module__": __name__, "__qualname__": name,
        "__doc__": f"`flambeau.nn.{name}` with a weight whose integers ``weight_qparams`` "
                   "describes."})


Conv1d, Conv2d, Conv3d = (_of(_Conv, f"Conv{n}d") for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (
    _of(_ConvTranspose, f"ConvTranspose{n}d") for n in (1, 2, 3))


class Embedding(_Layer, layers.Embedding):
    """`flambeau.nn.Embedding` with a table whose integers ``weight_qparams`` describes."""

    _FLOAT = layers.Embedding

    def forward(self, input: Tensor) -> Tensor:
        """Rows, as floats."""
        return F.embedding(input, self.get_weight(), self.padding_idx, self.max_norm,
                           self.norm_type, self.scale_grad_by_freq, self.sparse)

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        return {name: getattr(mod, name) for name in (
            "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type",
            "scale_grad_by_freq", "sparse")}


class EmbeddingBag(_Layer, layers.EmbeddingBag):
    """`flambeau.nn.EmbeddingBag` with a table whose integers ``weight_qparams`` describes."""

    _FLOAT = layers.EmbeddingBag

    def forward(self, input: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:
        """A row of floats for each bag."""
        return F.embedding_bag(
            input, self.get_weight(), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
            self.include_last_offset, self.padding_idx)

    @staticmethod
    def _arguments(mod: Any) -> dict[str, Any]:
        return {name: getattr(mod, name) for name in (
            "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq",
            "mode", "sparse", "include_last_offset", "padding_idx")}
