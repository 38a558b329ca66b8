"""Where quantization begins and ends in a network."""
from __future__ import annotations

from typing import Any

from flambeau.nn import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(Module):
    """Passes numbers, and keeps the configuration that it is given."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input."""
        return x


class QuantStub(_Stub):
    """Passes numbers, which an observer watches; `convert` makes it quantize them.

    Args:
        qconfig: The configuration; None: that of the network.
    """


class DeQuantStub(_Stub):
    """Passes numbers; `convert` makes it dequantize them.

    Args:
        qconfig: The configuration; None: that of the network.
    """


class QuantWrapper(Module):
    """A network between a `QuantStub` and a `DeQuantStub`.

    Args:
        module: The network.

    Example:
        >>> from flambeau import nn
        >>> from flambeau.ao.quantization import QuantWrapper
        >>> sorted(name for name, _ in QuantWrapper(nn.ReLU()).named_children())
        ['dequant', 'module', 'quant']
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        """Quantize, compute, dequantize."""
        return self.dequant(self.module(self.quant(X)))
