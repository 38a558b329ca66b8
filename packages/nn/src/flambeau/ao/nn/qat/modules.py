"""Layers whose weight is rounded, and trained by the gradient of what it was rounded to."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau import nn as layers
from flambeau.nn import functional as F
from flambeau.nn.utils import parametrize

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]


class _Rounded:
    """What such layers have beside the layer they are: ``weight_fake_quant`` and ``qconfig``."""

    _FLOAT_MODULE: Any
    weight: Any
    bias: Any
    qconfig: Any
    weight_fake_quant: Any

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._round_with(qconfig)

    def _round_with(self, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError(f"{type(self).__name__}: qconfig must be given: write "
                                 "qconfig=get_default_qat_qconfig()")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def _taken(cls, mod: Any, made: Any) -> Any:
        """The layer with the parameters of another, or with what computes them there."""
        for name in ("weight", "bias"):
            if parametrize.is_parametrized(mod, name):
                parametrize.transfer_parametrizations_and_params(mod, made, name)
            elif hasattr(mod, name):
                setattr(made, name, getattr(mod, name))
        return made.train(mod.training)

    @staticmethod
    def _inner(mod: Any) -> Any:
        """The layer with the weight, of such a layer with a ReLU."""
        inner = mod[0] if isinstance(mod, layers.Sequential) else mod
        if not getattr(mod, "qconfig", None):
            raise AssertionError(f"from_float(): {type(mod).__name__} has no qconfig: write "
                                 "network.qconfig = get_default_qat_qconfig(), then prepare_qat")
        inner.qconfig = mod.qconfig
        return inner


class Linear(_Rounded, layers.Linear):
    """`flambeau.nn.Linear` with a rounded weight.

    Args:
        in_features: Numbers in.
        out_features: Numbers out.
        bias: Whether there is one.
        qconfig: Its ``weight`` makes the fake quantization.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True,
                 qconfig: Any = None, device: Any = None, dtype: Any = None) -> None:
        super().__init__(in_features, out_features, bias, qconfig=qconfig, device=device,
                         dtype=dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The product with the rounded weight."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, whose parameters it shares."""
        mod = cls._inner(mod)
        return cls._taken(mod, cls(mod.in_features, mod.out_features, mod.bias is not None,
                                   qconfig=mod.qconfig))

    def to_float(self) -> Any:
        """The float layer with the same parameters."""
        made = layers.Linear(self.in_features, self.out_features, self.bias is not None)
        return self._taken(self, made)


def conv_arguments(mod: Any) -> dict[str, Any]:
    """The arguments of a convolution, by name."""
    return {"in_channels": mod.in_channels, "out_channels": mod.out_channels,
            "kernel_size": mod.kernel_size, "stride": mod.stride, "padding": mod.padding,
            "dilation": mod.dilation, "groups": mod.groups, "bias": mod.bias is not None,
            "padding_mode": mod.padding_mode}


class _Conv(_Rounded):
    def forward(self, input: Tensor) -> Tensor:
        """The convolution with the rounded weight."""
        this: Any = self
        return this._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, whose parameters it shares."""
        mod = cls._inner(mod)
        return cls._taken(mod, cls(**conv_arguments(mod), qconfig=mod.qconfig))

    def to_float(self) -> Any:
        """The float layer with the same parameters."""
        return self._taken(self, self._FLOAT_MODULE(**conv_arguments(self)))


class Conv1d(_Conv, layers.Conv1d):
    """`flambeau.nn.Conv1d` with a rounded weight, which ``qconfig`` says how to round."""

    _FLOAT_MODULE = layers.Conv1d


class Conv2d(_Conv, layers.Conv2d):
    """`flambeau.nn.Conv2d` with a rounded weight, which ``qconfig`` says how to round."""

    _FLOAT_MODULE = layers.Conv2d


class Conv3d(_Conv, layers.Conv3d):
    """`flambeau.nn.Conv3d` with a rounded weight, which ``qconfig`` says how to round."""

    _FLOAT_MODULE = layers.Conv3d


class _Table(_Rounded):
    """Tables have a scale and a zero point for each row."""

    def _round_with(self, qconfig: Any) -> None:
        super()._round_with(qconfig)
        scheme = self.weight_fake_quant.qscheme
        if scheme != flambeau.per_channel_affine_float_qparams:
            raise AssertionError(
                f"{type(self).__name__}: weights of tables have a scale and a zero point for each "
                f"row, a qscheme of per_channel_affine_float_qparams, and not {scheme}: write "
                "qconfig=default_embedding_qat_qconfig")

    @classmethod
    def _inner(cls, mod: Any) -> Any:
        if not isinstance(mod, cls._FLOAT_MODULE) or isinstance(mod, _Rounded):
            raise AssertionError(f"qat.{cls.__name__}.from_float(): expected a layer of nn."
                                 f"{cls._FLOAT_MODULE.__name__}, got {type(mod).__name__}")
        return _Rounded._inner(mod)


class Embedding(_Table, layers.Embedding):
    """`flambeau.nn.Embedding` with a rounded weight, which ``qconfig`` says how to round."""

    _FLOAT_MODULE = layers.Embedding

    def forward(self, input: Tensor) -> Tensor:
        """Rows of the rounded weight."""
        return F.embedding(input, self.weight_fake_quant(self.weight), self.padding_idx,
                           self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, whose parameters it shares."""
        mod = cls._inner(mod)
        return cls._taken(mod, cls(mod.num_embeddings, mod.embedding_dim, mod.padding_idx,
                                   mod.max_norm, mod.norm_type, mod.scale_grad_by_freq,
                                   mod.sparse, mod.weight.detach(), qconfig=mod.qconfig))


class EmbeddingBag(_Table, layers.EmbeddingBag):
    """`flambeau.nn.EmbeddingBag` with a rounded weight, which ``qconfig`` says how to round."""

    _FLOAT_MODULE = layers.EmbeddingBag

    def forward(self, input: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:
        """Bags of rows of the rounded weight."""
        return F.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
            self.include_last_offset, self.padding_idx)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a float one, whose parameters it shares."""
        mod = cls._inner(mod)
        return cls._taken(mod, cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.mode, mod.sparse, mod.weight.detach(),
            mod.include_last_offset, mod.padding_idx, qconfig=mod.qconfig))
