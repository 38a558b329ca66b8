"""How layers know the integers of a weight that they keep as floats."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor

__all__ = ["ReferenceQuantizedModule", "dequantized", "quantized"]

_PLAIN = {"qscheme": flambeau.per_tensor_affine, "dtype": flambeau.quint8, "scale": 1.0,
          "zero_point": 0, "is_decomposed": False}
_STATE = ("weight_qscheme", "weight_dtype", "weight_scale", "weight_zero_point", "weight_axis")
_INTEGERS = {flambeau.qint8: flambeau.int8, flambeau.quint8: flambeau.uint8,
             flambeau.qint32: flambeau.int32}


def quantized(weight: Tensor, facts: dict[str, Any]) -> Any:
    """A weight as integers, or in ``float16``, as a dict says; others stay as they are.

    Args:
        weight: Floats.
        facts: ``qscheme``, ``dtype``, ``scale``, ``zero_point`` and ``axis``.
    """
    if facts["dtype"] is flambeau.float16:
        return weight.half()
    if facts["qscheme"] is None or not str(facts["dtype"]).rpartition(".")[2].startswith("q"):
        return weight
    scale, zero = facts["scale"], facts["zero_point"]
    if facts["qscheme"] == flambeau.per_tensor_affine:
        return flambeau.quantize_per_tensor(weight, float(scale), int(zero), facts["dtype"])
    return flambeau.quantize_per_channel(weight, scale, zero, facts["axis"], facts["dtype"])


def dequantized(weight: Tensor, facts: dict[str, Any]) -> Tensor:
    """What the integers of a weight stand for, through which the gradient does not flow.

    Args:
        weight: Floats.
        facts: As in `quantized`; where ``is_decomposed`` is true, operators on plain integers
            compute it, so that graphs show them.
    """
    if not facts.get("is_decomposed"):
        made = quantized(weight, facts)
        return made if made is weight else flambeau.dequantize(made)
    dtype = _INTEGERS.get(facts["dtype"], facts["dtype"])
    if dtype not in _INTEGERS.values():
        return dequantized(weight, {**facts, "is_decomposed": False})
    ops = flambeau.ops.quantized_decomposed
    ends = (facts["quant_min"], facts["quant_max"], dtype)
    if facts["qscheme"] == flambeau.per_tensor_affine:
        scale, zero = float(facts["scale"]), int(facts["zero_point"])
        made = ops.quantize_per_tensor(weight, scale, zero, *ends)
        return ops.dequantize_per_tensor(made, scale, zero, *ends)
    along = (facts["scale"], facts["zero_point"], facts["axis"], *ends)
    return ops.dequantize_per_channel(ops.quantize_per_channel(weight, *along), *along)


class ReferenceQuantizedModule:
    """A float layer that computes with what the integers of its weight stand for.

    ``weight_qscheme``, ``weight_dtype``, ``weight_scale``, ``weight_zero_point`` and
    ``weight_axis`` say which these are; states have them.
    """

    weight: Any
    weight_qscheme: Any
    weight_dtype: Any
    weight_scale: Any
    weight_zero_point: Any
    weight_axis: Any

    def _init_weight_qparams(self, weight_qparams: Any, device: Any = None) -> None:
        """Take what is known of the weight's integers."""
        facts: dict[str, Any] = {**_PLAIN, **(weight_qparams or {})}
        this: Any = self
        self.weight_qscheme, self.weight_dtype = facts["qscheme"], facts["dtype"]
        self.is_decomposed = facts["is_decomposed"]
        self.weight_quant_min, self.weight_quant_max = (
            facts.get(name) for name in ("quant_min", "quant_max"))
        points = flambeau.int32
        if facts["qscheme"] == flambeau.per_channel_affine_float_qparams:
            points = flambeau.float32
        for name, value, dtype in (("scale", facts["scale"], flambeau.float32),
                                   ("zero_point", facts["zero_point"], points)):
            this.register_buffer(f"weight_{name}",
                                 flambeau.as_tensor(value).detach().clone().to(dtype))
        this.register_buffer("weight_axis", flambeau.tensor(facts.get("axis", 0)))
        self.weight_axis_int = int(facts.get("axis", 0))

    def _facts(self) -> dict[str, Any]:
        return {"qscheme": self.weight_qscheme, "dtype": self.weight_dtype,
                "scale": self.weight_scale, "zero_point": self.weight_zero_point,
                "axis": self.weight_axis_int, "is_decomposed": self.is_decomposed,
                "quant_min": self.weight_quant_min, "quant_max": self.weight_quant_max}

    def get_weight(self) -> Tensor:
        """What the integers of the weight stand for."""
        return dequantized(self.weight, self._facts())

    def get_quantized_weight(self) -> Any:
        """The integers of the weight."""
        return quantized(self.weight.detach(), self._facts())

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write what is known of the integers, too."""
        super()._save_to_state_dict(destination, prefix, keep_vars)     # type: ignore[misc]
        for name in _STATE:
            destination[prefix + name] = getattr(self, name)
        if self.weight_qscheme != flambeau.per_channel_affine:
            destination.pop(prefix + "weight_axis", None)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Read what is known of the integers, too."""
        for name in _STATE:
            if prefix + name in state_dict:
                value = state_dict.pop(prefix + name)
                setattr(self, name, value)
        self.weight_axis_int = int(self.weight_axis)
        missing: list[str] = args[2]
        before = len(missing)
        super()._load_from_state_dict(state_dict, prefix, *args)        # type: ignore[misc]
        missing[before:] = [name for name in missing[before:]
                            if name.removeprefix(prefix) not in _STATE]
