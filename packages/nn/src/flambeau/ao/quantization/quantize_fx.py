"""Graph mode: networks are traced, and quantized without stubs. It needs flambeau-jit.

Example:
    >>> import flambeau
    >>> from flambeau import nn
    >>> from flambeau.ao import quantization as q
    >>> from flambeau.ao.quantization import quantize_fx
    >>> network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten()).eval()
    >>> ready = quantize_fx.prepare_fx(network, q.get_default_qconfig_mapping("x86"), None)
    >>> data = flambeau.rand(8, 3, 6, 6)
    >>> wanted = ready(data)        # observers watch
    >>> bool((quantize_fx.convert_fx(ready)(data) - wanted).abs().max() < 0.1)
    True
"""
from __future__ import annotations

from typing import Any

from flambeau import rooms

_NAMES = ("convert_fx", "convert_to_reference_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx")


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    rooms.enter("fx")
    return getattr(rooms.import_module(rooms.PREFIX + "fx.quantization"), name)


def __dir__() -> list[str]:
    return [*globals(), *_NAMES]
