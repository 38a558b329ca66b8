"""`torch.ao.quantization`, as far as networks are quantized without data."""
from __future__ import annotations

import warnings
from typing import Any

from flambeau import rooms


def quantize_dynamic(model: Any, qconfig_spec: Any = None, dtype: Any = None, mapping: Any = None,
                     inplace: bool = False) -> Any:
    """A copy of a network whose linear layers have weights of int8: `nn.utils.quantize_dynamic`.

    Args:
        model: The network, which stays as it is.
        qconfig_spec: The kinds of layers or the names of submodules that change; None: linear
            layers.
        dtype: ``torch.qint8``.
        mapping: Classes of other quantized layers; refused.
        inplace: Whether ``model`` itself changes; refused.

    Raises:
        NotImplementedError: Another dtype, a mapping or a change in place is wanted.
    """
    nn = rooms.enter("nn")
    if mapping is not None or inplace or not (dtype is None or str(dtype).endswith(".qint8")):
        raise NotImplementedError(
            "quantize_dynamic(): this makes a copy with weights of int8: leave out mapping and "
            f"inplace, and write dtype=torch.qint8, not {dtype}; for 16 bits write model.half() or "
            "model.bfloat16()")
    wanted = set(qconfig_spec) if qconfig_spec is not None else {nn.Linear}
    kinds = {each for each in wanted if isinstance(each, type)}
    names = {each for each in wanted if isinstance(each, str)}
    known = kinds & {nn.Linear, nn.Embedding}
    if unknown := kinds - known:
        warnings.warn("quantize_dynamic(): these layers have no quantized form and stay as they "
                      f"are: {', '.join(sorted(each.__name__ for each in unknown))}", stacklevel=2)

    def is_left(name: str, layer: Any) -> bool:
        parts = name.split(".")
        inside = any(".".join(parts[:i]) in names for i in range(1, len(parts) + 1))
        return not inside and type(layer) not in known

    return nn.utils.quantize_dynamic(model, (nn.Linear, nn.Embedding) if names else tuple(known),
                                     is_left)
