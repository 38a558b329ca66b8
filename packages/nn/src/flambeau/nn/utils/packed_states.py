"""Quantized weights as exporters pack them into int32: GPTQ, AWQ, compressed-tensors."""

from __future__ import annotations

from collections.abc import Mapping

import flambeau
from flambeau import Tensor

from ..modules.linear import Linear
from ..modules.module import Module
from .weight_only import QuantizedWeight, WeightOnlyLinear, pack_int4

# A column's place in a number of 32 bits, as AWQ interleaves eight of them.
_AWQ_PLACES = (0, 4, 1, 5, 2, 6, 3, 7)


def unpack_state(
    tensors: Mapping[str, Tensor], gptq_v2: bool = False
) -> dict[str, Tensor | QuantizedWeight]:
    r"""A state dict whose packed weights become :class:`QuantizedWeight`, without loss.

    For a layer ``name`` it knows

    * GPTQ: ``name.qweight`` of int32 ``(in * bits / 32, out)``, ``name.qzeros`` ``(groups,
      out * bits / 32)``, ``name.scales`` ``(groups, out)``, ``name.g_idx``;
    * AWQ: ``name.qweight`` of int32 ``(in, out / 8)`` with columns interleaved, ``name.qzeros``
      and ``name.scales``;
    * compressed-tensors: ``name.weight_packed`` of int32 ``(out, in * bits / 32)`` with
      ``name.weight_scale``, ``name.weight_shape`` and perhaps ``name.weight_zero_point``; or
      ``name.weight`` of int8 with ``name.weight_scale`` of a row or a group.

    Args:
        tensors: What :func:`flambeau.load` made of a file of safetensors.
        gptq_v2: Zero points of GPTQ are as they are; the format before has them less one.

    Returns:
        A quantized weight as ``name.weight``; other tensors as they are.

    Raises:
        ValueError: Tensors of a layer are missing or their shapes do not fit, bits are other than
            4 or 8, or columns are grouped in another order than they lie (``desc_act``).

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> state = nn.utils.unpack_state({"0.weight": flambeau.ones(2, 4, dtype=flambeau.int8),
        ...                                "0.weight_scale": flambeau.tensor([[0.5], [2.0]])})
        >>> state["0.weight"].dequantize()
        tensor([[0.5000, 0.5000, 0.5000, 0.5000],
                [2.0000, 2.0000, 2.0000, 2.0000]])
    """
    rest = dict(tensors)
    result: dict[str, Tensor | QuantizedWeight] = {}
    for key in tensors:
        if key not in rest:         # a part of a layer that is done
            continue
        name, dot, last = key.rpartition(".")
        layer = {part: rest[name + dot + part] for part in _PARTS if name + dot + part in rest}
        if last == "qweight":
            weight = _of_columns(name, layer, gptq_v2)
        elif last == "weight_packed":
            weight = _compressed(name, layer)
        elif last == "weight_scale" and "weight_packed" not in layer:
            weight = _of_bytes(name, layer)
        else:
            continue
        result[name + dot + "weight"] = weight
        for part in layer:
            del rest[name + dot + part]
    return {**rest, **result}


_PARTS = ("qweight", "qzeros", "scales", "g_idx", "weight_packed", "weight_scale",
          "weight_zero_point", "weight_shape", "weight_g_idx", "weight")


def _part(name: str, layer: Mapping[str, Tensor], part: str) -> Tensor:
    if part not in layer:
        raise ValueError(f"unpack_state(): layer {name!r} has {', '.join(layer)}, but no {part}")
    return layer[part]


def _spread(packed: Tensor, bits: int) -> Tensor:
    """Numbers of some bits of each int32, the lowest first, along a new last dimension."""
    shifts = flambeau.arange(0, 32, bits, device=packed.device)
    return (packed.to(flambeau.int64).unsqueeze(-1) >> shifts) & (2**bits - 1)


def _along(packed: Tensor, bits: int, dim: int) -> Tensor:
    """Numbers that are packed along a dimension of a matrix."""
    numbers = _spread(packed if dim else packed.t(), bits).flatten(1)
    return numbers if dim else numbers.t()


def _bits(name: str, bits: int, fits: bool) -> int:
    if bits not in (4, 8) or not fits:
        raise ValueError(f"unpack_state(): the shapes of layer {name!r} do not fit four or eight "
                         "bits in int32")
    return bits


def _group(name: str, columns: int, groups: int) -> int:
    group = columns // max(groups, 1)
    if groups < 1 or group * groups != columns or (groups > 1 and group % 32):
        raise ValueError(f"unpack_state(): layer {name!r} has {groups} scales for {columns} "
                         "columns; groups of a multiple of 32 columns can be read")
    return 0 if groups == 1 else group


def _matrix(whole: Tensor, scales: Tensor, zeros: Tensor | None, bits: int, group: int
            ) -> QuantizedWeight:
    """From integers, zero points and scales, (rows, ...), counted from 0."""
    columns, middle = whole.shape[1], 2 ** (bits - 1)
    zeros = None if zeros is None or bool((zeros == middle).all()) else zeros
    offsets = None
    if zeros is not None:           # int8 counts from -128
        offsets = ((middle if bits == 8 else 0) - zeros).float() * scales.float()
    values = pack_int4(whole) if bits == 4 else (whole - middle).to(flambeau.int8)
    return QuantizedWeight(values.contiguous(), scales.contiguous(), offsets, group, columns)


def _of_columns(name: str, layer: Mapping[str, Tensor], gptq_v2: bool) -> QuantizedWeight:
    """GPTQ and AWQ, whose matrices are (in, out)."""
    packed, zeros, scales = (_part(name, layer, p) for p in ("qweight", "qzeros", "scales"))
    if packed.ndim != 2 or zeros.ndim != 2 or scales.ndim != 2 or zeros.shape[1] == 0:
        raise ValueError(f"unpack_state(): qweight, qzeros and scales of {name!r} must be matrices")
    groups, rows = scales.shape
    bits = _bits(name, 32 * zeros.shape[1] // max(rows, 1), len(zeros) == groups)
    if packed.shape[1] == rows:
        whole, zero = _along(packed, bits, 0), _along(zeros, bits, 1)
        zero = zero if gptq_v2 else zero + 1
    else:
        _bits(name, bits, bits == 4 and packed.shape[1] * 8 == rows)
        places = list(_AWQ_PLACES)
        whole, zero = (_spread(t, 4)[:, :, places].flatten(1) for t in (packed, zeros))
    group = _group(name, len(whole), groups)
    order = layer.get("g_idx")
    if order is not None and group:
        plain = flambeau.arange(len(whole), device=order.device) // group
        if not flambeau.equal(order.to(flambeau.int64), plain):
            raise ValueError(f"unpack_state(): columns of layer {name!r} are grouped in another "
                             "order than they lie (desc_act, g_idx), which is not read; export "
                             "the model with desc_act=False")
    return _matrix(whole.t(), scales.t(), zero.t(), bits, group)


def _compressed(name: str, layer: Mapping[str, Tensor]) -> QuantizedWeight:
    """compressed-tensors, whose matrices are (out, in)."""
    packed, scales, shape = (_part(name, layer, p)
                             for p in ("weight_packed", "weight_scale", "weight_shape"))
    rows, columns = (int(n) for n in shape.tolist())
    held = packed.shape[1] if packed.ndim == 2 else 0
    bits = next((b for b in (4, 8) if held == -(-columns * b // 32)), 0)
    _bits(name, bits, packed.ndim == 2 and packed.shape[0] == rows and scales.shape[0] == rows)
    if "weight_g_idx" in layer:
        raise ValueError(f"unpack_state(): columns of layer {name!r} are grouped in another order "
                         "than they lie (weight_g_idx), which is not read")
    zeros = layer.get("weight_zero_point")
    if zeros is not None and zeros.dtype is flambeau.int32:
        zeros = _along(zeros, bits, 0)[:rows]
    elif zeros is not None:
        zeros = zeros.to(flambeau.int64) + 2 ** (bits - 1)
    group = _group(name, columns, scales.shape[1])
    return _matrix(_along(packed, bits, 1)[:, :columns], scales, zeros, bits, group)


def _of_bytes(name: str, layer: Mapping[str, Tensor]) -> QuantizedWeight:
    weight, scales = _part(name, layer, "weight"), _part(name, layer, "weight_scale")
    if weight.dtype is not flambeau.int8 or weight.ndim != 2:
        raise ValueError(f"unpack_state(): {name!r} has a weight_scale, and a weight that is no "
                         f"matrix of int8 but {weight.dtype} of shape {tuple(weight.shape)}")
    scales = scales.reshape(len(weight) if scales.numel() > 1 else 1, -1)
    scales = scales.expand(len(weight), scales.shape[1]).contiguous()
    zeros = layer.get("weight_zero_point")
    offsets = None
    if zeros is not None and bool(zeros.any()):
        offsets = -zeros.float().reshape(-1, scales.shape[1]) * scales.float()
    group = _group(name, weight.shape[1], scales.shape[1])
    return QuantizedWeight(weight, scales, offsets, group, weight.shape[1])


def load_quantized(module: Module, state: Mapping[str, Tensor | QuantizedWeight]) -> Module:
    """Load a state in which weights of linear layers are quantized, and change those layers.

    Args:
        module: A network, whose ``Linear`` layers become :class:`WeightOnlyLinear` where the state
            has a quantized weight.
        state: From :func:`unpack_state`, or tensors of :func:`load_gguf` under the names that
            the network has for them.

    Returns:
        The network, changed.

    Raises:
        ValueError: A quantized weight has no ``Linear`` of its shape.
        RuntimeError: Other keys or shapes do not fit.

    Example:
        >>> from flambeau import nn
        >>> few = nn.utils.quantize_weight(nn.Linear(64, 8).weight)
        >>> nn.utils.load_quantized(nn.Sequential(nn.Linear(64, 8, bias=False)), {"0.weight": few})
        Sequential(
          (0): WeightOnlyLinear(64, 8, weights='int4', group=32)
        )
    """
    rest = dict(state)
    for key, few in state.items():
        if not isinstance(few, QuantizedWeight):
            continue
        name, _, last = key.rpartition(".")
        layer = dict(module.named_modules()).get(name)
        shape = (few.values.shape[0], few.columns)
        if last != "weight" or not name or not isinstance(layer, Linear) or \
                tuple(layer.weight.shape) != shape:
            raise ValueError(f"load_quantized(): {key!r} is a quantized matrix of shape {shape}; "
                             f"the network has no Linear of that shape there, but {layer}")
        parent, _, attribute = name.rpartition(".")
        new = WeightOnlyLinear(few, layer.bias)
        setattr(module.get_submodule(parent), attribute, new)
        del rest[key]
        for part, value in new.named_buffers():
            if part != "bias":
                rest[f"{name}.{part}"] = value
    module.load_state_dict(rest)
    return module
