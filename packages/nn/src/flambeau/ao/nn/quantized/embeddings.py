"""Tables of integers, of which rows are floats."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import flambeau
import flambeau.ao.operators.tables as tables
from flambeau import Tensor
from flambeau import nn as layers

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(layers.Module):
    """Rows of a table of integers, each with a scale of its own; floats come out.

    Args:
        num_embeddings: Rows.
        embedding_dim: Numbers in a row.
        others: as in `flambeau.nn.Embedding`.
        dtype: ``quint8`` or ``quint4x2``.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
                 dtype: Any = flambeau.quint8) -> None:
        super().__init__()
        _expect_dtype(dtype)
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

    @property
    def dtype(self) -> Any:
        """The dtype of the table."""
        return self._weight.dtype

    @property
    def _packed_params(self) -> SimpleNamespace:
        return SimpleNamespace(dtype=self.dtype, _packed_weight=self._weight)

    def forward(self, indices: Tensor) -> Tensor:
        """Rows, as floats."""
        return tables.rows_of(self._weight, indices)

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
        _expect_dtype(observer.dtype)
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made.padding_idx = mod.padding_idx
        made.set_weight(flambeau.quantize_per_channel(mod.weight.detach().float(), scale, zero, 0,
                                                      observer.dtype))
        return made


def _expect_dtype(dtype: Any) -> None:
    if dtype not in (flambeau.quint8, flambeau.quint4x2):
        raise NotImplementedError(f"Embedding: tables are of quint8 or quint4x2, not {dtype}: "
                                  "write float_qparams_weight_only_qconfig or its form of 4 bits")


class EmbeddingBag(Embedding):
    """Sums of rows of a table of integers.

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
        return tables.bag(self._weight, indices, offsets, mode=tables.MODES.index(self.mode),
                          per_sample_weights=per_sample_weights,
                          include_last_offset=self.include_last_offset)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a float table."""
        made = super().from_float(mod)
        made.mode, made.include_last_offset = mod.mode, mod.include_last_offset
        return made
