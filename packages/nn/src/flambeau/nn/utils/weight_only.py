"""Layers whose weights are int8, int4 or halves, and whose inputs and sums stay float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import flambeau
from flambeau import Tensor

from .._core import ops, spread_weight
from ..modules.attention import MultiheadAttention
from ..modules.linear import Linear
from ..modules.module import Module
from ..modules.sparse import Embedding
from .quantization import KINDS, replace_layers
from .quantized_attention import attention_of

_HALVES = {"float16": flambeau.float16, "bfloat16": flambeau.bfloat16}
_FORMS = ("int4", "int8", *_HALVES)
_SMALLEST, _GREATEST = 2.0**-14, 65504.0        # of float16, without subnormal numbers


@dataclass(frozen=True)
class QuantizedWeight:
    """A matrix in few bits: ``whole * scale + offset``, with factors for each group of columns.

    Args:
        values: Of int8, ``(rows, columns)``; of uint8 for four bits, 32 columns in 16 bytes:
            the first 16 in the low halves, the others in the high ones; or float16 or bfloat16
            without factors. Numbers of four bits count from 0 where there are offsets, and
            from -8 where there are none.
        scales: ``(rows, groups)`` of float32, float16 or bfloat16.
        offsets: As ``scales``, or None.
        group: How many columns have one scale, a multiple of 32; 0 for all of them.
        columns: How many columns the matrix has.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> exact = nn.utils.QuantizedWeight(flambeau.tensor([[1, -2]], dtype=flambeau.int8),
        ...                                  flambeau.tensor([[0.5]]), None, 0, 2)
        >>> exact.dequantize()
        tensor([[ 0.5000, -1.0000]])
    """

    values: Tensor
    scales: Tensor | None
    offsets: Tensor | None
    group: int
    columns: int

    def dequantize(self) -> Tensor:
        """The matrix in float32."""
        result: Tensor = spread_weight(self.values, self.scales, self.offsets, self.group,
                                       self.columns)
        return result


def pack_int4(whole: Tensor) -> Tensor:
    """Two numbers from 0 to 15 in a byte, as ``QuantizedWeight`` has them.

    Args:
        whole: Integers of shape ``(rows, columns)``.

    Returns:
        uint8 of shape ``(rows, columns rounded up to 32, / 2)``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.utils.pack_int4(flambeau.arange(32).reshape(1, 32) // 2)[0, :4]
        tensor([128, 128, 145, 145], dtype=flambeau.uint8)
    """
    rows, columns = whole.shape
    blocks = -(-columns // 32)
    room = flambeau.full((rows, blocks * 32), 8, dtype=flambeau.uint8, device=whole.device)
    room[:, :columns] = whole.to(flambeau.uint8)
    low, high = room.reshape(rows, blocks, 2, 16).unbind(2)
    return (low | high << 4).reshape(rows, -1)


def _stored(factors: Tensor) -> Tensor:
    """Factors as float16 where that loses no more than digits."""
    sizes = factors.abs()
    fits = ((sizes >= _SMALLEST) | (sizes == 0)) & (sizes <= _GREATEST)
    return factors.half() if bool(fits.all()) else factors


def _groups(weight: Tensor, group: int) -> Tensor:
    """The matrix as (rows, groups, columns of a group); the last column is repeated at the end."""
    rows, columns = weight.shape
    group = group or columns
    missing = -columns % group
    if missing:
        weight = flambeau.cat([weight, weight[:, -1:].expand(rows, missing)], 1)
    return weight.reshape(rows, -1, group)


def _rounded(groups: Tensor, bits: int, symmetric: bool) -> tuple[Tensor, Tensor, Tensor | None]:
    """Integers, scales, offsets."""
    low, high = groups.amin(2), groups.amax(2)
    if not symmetric:
        steps, offsets = 2**bits - 1, _stored(low)
        scales = _stored((high - offsets.float()) / steps)
        whole = (groups - offsets.float().unsqueeze(2)) / _divisor(scales)
        return whole.round().clamp(0, steps), scales, offsets
    most = 2 ** (bits - 1)
    if bits == 8:
        scales = _stored(flambeau.maximum(high, -low) / (most - 1))
    else:               # the greatest magnitude becomes -8, which the positive numbers lack
        scales = _stored(flambeau.where(high > -low, high, low) / -most)
    whole = (groups / _divisor(scales)).round().clamp(-most, most - 1)
    return whole, scales, None


def _divisor(scales: Tensor) -> Tensor:
    scales = scales.float()
    return flambeau.where(scales == 0, 1.0, scales).unsqueeze(2)


def quantize_weight(
    weight: Tensor, weights: str = "int4", group: int = 32, symmetric: bool = True
) -> QuantizedWeight:
    r"""A matrix of floats in few bits, rounded to the nearest.

    Args:
        weight: Of shape ``(rows, columns)``.
        weights: ``"int4"``, ``"int8"``, ``"float16"`` or ``"bfloat16"``.
        group: How many columns have one scale, a multiple of 32; 0 for all of them.
        symmetric: False adds an offset to each group, so that all steps lie between its least
            and its greatest number.

    Raises:
        ValueError: A number is infinite or NaN, or an argument is none of these.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> weight = flambeau.randn(8, 64)
        >>> few = nn.utils.quantize_weight(weight, "int4", symmetric=False)
        >>> few.values.shape, few.scales.dtype
        (flambeau.Size([8, 32]), flambeau.float16)
        >>> bool((few.dequantize() - weight).abs().max() < 0.3)
        True
    """
    _check(weights, group)
    weight = weight.detach()
    columns = weight.shape[1]
    if weights in _HALVES:
        return QuantizedWeight(weight.to(_HALVES[weights]), None, None, 0, columns)
    weight = weight.float()
    if not bool(weight.isfinite().all()):
        raise ValueError("quantize_weight(): weight has elements that are infinite or NaN")
    group = 0 if group >= columns else group
    bits = 4 if weights == "int4" else 8
    whole, scales, offsets = _rounded(_groups(weight, group), bits, symmetric)
    whole = whole.reshape(weight.shape[0], -1)[:, :columns]
    if bits == 4:
        values = pack_int4(whole if offsets is not None else whole + 8)
    elif offsets is None:
        values = whole.to(flambeau.int8)
    else:               # int8 counts from -128
        values = (whole - 128).to(flambeau.int8)
        offsets = offsets.float() + 128 * scales.float()
    return QuantizedWeight(values.contiguous(), scales, offsets, group, columns)


def _check(weights: str, group: int) -> None:
    if weights not in _FORMS:
        raise ValueError(f"weights must be one of {', '.join(map(repr, _FORMS))}, got {weights!r}")
    if group < 0 or group % 32:
        raise ValueError(f"group must be a multiple of 32, or 0 for a scale per row, got {group}")


class _WeightOnly(Module):
    """A matrix in few bits. Casts of the module leave it as it is."""

    weight: Tensor
    scales: Tensor | None
    offsets: Tensor | None

    def __init__(self, weight: QuantizedWeight) -> None:
        super().__init__()
        self.group, self.columns = weight.group, weight.columns
        self.register_buffer("weight", weight.values)
        self.register_buffer("scales", weight.scales)
        self.register_buffer("offsets", weight.offsets)

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        """Move to another device; a cast of the module leaves dtypes as they are."""
        before = dict(self._buffers)
        super()._apply(fn, recurse)
        for name, old in before.items():
            new = self._buffers[name]
            if old is not None and new is not None and new.dtype is not old.dtype:
                self._buffers[name] = old.to(new.device)
        return self

    def extra_repr(self) -> str:
        four = self.weight.dtype is flambeau.uint8
        kind = "int4" if four else str(self.weight.dtype).rpartition(".")[2]
        group = f", group={self.group}" if self.group else ""
        return f"{self.columns}, {self.weight.shape[0]}, weights={kind!r}{group}"


class WeightOnlyLinear(_WeightOnly):
    r"""``Linear`` with weights in few bits, which become float32 as they are multiplied.

    Inputs are not rounded. A row of the input takes less time than in float32 where weights come
    from memory, and about as long where they lie in the caches, as many rows do. Results of fewer
    than 16 rows have the same bits on every processor, with any number of threads, and for a row
    alone or among others; those of more are products of floats. Gradients pass to the input, to
    the bias, and to the scales.

    Shapes: input ``(*, in_features)`` of float32, float16 or bfloat16, output
    ``(*, out_features)``.

    Args:
        weight: What :func:`quantize_weight` or a loader made.
        bias: ``(out_features,)``, or None.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> linear, x = nn.Linear(64, 32), flambeau.randn(8, 64)
        >>> few = nn.utils.WeightOnlyLinear(nn.utils.quantize_weight(linear.weight), linear.bias)
        >>> with flambeau.no_grad():
        ...     difference = few(x) - linear(x)
        >>> bool(difference.abs().max() < 0.2)
        True
    """

    bias: Tensor | None

    def __init__(self, weight: QuantizedWeight, bias: Tensor | None = None) -> None:
        super().__init__(weight)
        self.register_buffer("bias", None if bias is None else bias.detach().float().clone())

    def forward(self, input: Tensor) -> Tensor:
        """Apply the map to the last dimension of ``input``."""
        result: Tensor = ops.weight_only_linear(input, self.weight, self.scales, self.offsets,
                                                self.bias, self.group)
        return result

    def rows(self, start: int, count: int) -> Callable[[Tensor], Tensor]:
        """The layer that computes some of the outputs."""
        part = slice(start, start + count)
        weight, *rest = (None if each is None else each[part] for each in (
            self.weight, self.scales, self.offsets, self.bias))
        return lambda input: ops.weight_only_linear(input, weight, *rest, self.group)


class WeightOnlyEmbedding(_WeightOnly):
    """``Embedding`` whose table has few bits; what it gives is float32.

    Args:
        weight: What :func:`quantize_weight` or a loader made.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> table, words = nn.Embedding(100, 64), flambeau.tensor([[1, 5], [99, 1]])
        >>> few = nn.utils.WeightOnlyEmbedding(nn.utils.quantize_weight(table.weight, "int8"))
        >>> bool((few(words) - table(words)).abs().max() < 0.05)
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        """The rows of the table at the indices of ``input``."""
        at = input.reshape(-1)
        scales, offsets = (None if f is None else f[at] for f in (self.scales, self.offsets))
        rows: Tensor = spread_weight(self.weight[at], scales, offsets, self.group, self.columns)
        return rows.reshape(*input.shape, self.columns)


def quantize_weights(
    module: Module,
    weights: str = "int4",
    group: int = 32,
    symmetric: bool = True,
    kinds: tuple[type[Module], ...] = KINDS,
    skip: Callable[[str, Module], bool] | None = None,
) -> Module:
    """A copy of a trained network whose linear layers and tables have weights in few bits.

    Inputs are not rounded, as they are by :func:`quantize_dynamic`: less is lost, and less is
    gained in time. Which layers change, and which weights stay shared, is as there.

    Args:
        module: The network, which stays as it is.
        weights: ``"int4"``, ``"int8"``, ``"float16"`` or ``"bfloat16"``.
        group: How many columns have one scale, a multiple of 32; 0 for all of them.
        symmetric: False adds an offset to each group.
        kinds: The kinds of layers that change, of ``Linear``, ``Embedding`` and
            ``MultiheadAttention``.
        skip: Called with a layer's name and the layer: true leaves it as it is.

    Returns:
        The copy, in evaluation mode.

    Raises:
        ValueError: An argument is none of these, a weight is infinite or NaN, or a table has
            ``max_norm``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        >>> nn.utils.quantize_weights(model, "int4", group=64)
        Sequential(
          (0): WeightOnlyLinear(64, 128, weights='int4')
          (1): ReLU()
          (2): WeightOnlyLinear(128, 10, weights='int4', group=64)
        )
    """
    _check(weights, group)

    def linear(layer: Any) -> Module:
        few = quantize_weight(layer.weight, weights, group, symmetric)
        return WeightOnlyLinear(few, layer.bias)

    def table(layer: Any) -> Module:
        if layer.max_norm is not None:
            raise ValueError("quantize_weights(): a table with max_norm changes as it is read; "
                             "set max_norm to None if its rows are final")
        return WeightOnlyEmbedding(quantize_weight(layer.weight, weights, group, symmetric))

    forms = {Linear: linear, Embedding: table, MultiheadAttention: attention_of(linear)}
    return replace_layers(module, forms, kinds, skip, "quantize_weights")
