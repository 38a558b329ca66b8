"""``summary``: what each layer of a network gives, holds and costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.core import call, interpose

from ._flops import flops_of
from .modules.module import Module
from .parameter import Parameter, is_lazy


class LayerSummary:
    """One layer: numbers are of the layer itself, without the layers inside it.

    Attributes:
        path: Where it is in the network; empty for the network.
        kind: Its class.
        depth: How deep it is.
        input_shape: The shape of its first input, or several in a list; ``None`` if not called.
        output_shape: The same of its output.
        parameters: How many numbers it learns or holds as parameters.
        trainable: How many of these require a gradient.
        weight_bytes: Memory of its parameters and buffers.
        output_bytes: Memory of its outputs, over all calls.
        flops: Floating-point operations, over all calls.
        calls: How often it was called.
    """

    input_shape: Any
    output_shape: Any

    def __init__(self, path: str, kind: str, depth: int) -> None:
        self.path = path
        self.kind = kind
        self.depth = depth
        self.input_shape = self.output_shape = None
        self.parameters = self.trainable = 0
        self.weight_bytes = self.output_bytes = 0
        self.flops = self.calls = 0

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"LayerSummary({given})"


class Summary:
    """The layers of a network, and their totals; printing it gives a table.

    Args:
        layers: In the order of ``named_modules``.
    """

    def __init__(self, layers: list[LayerSummary]) -> None:
        self.layers = layers

    @property
    def total_parameters(self) -> int:
        """How many parameters there are."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def trainable_parameters(self) -> int:
        """How many of them require a gradient."""
        return sum(layer.trainable for layer in self.layers)

    @property
    def weight_bytes(self) -> int:
        """Memory of all parameters and buffers."""
        return sum(layer.weight_bytes for layer in self.layers)

    @property
    def output_bytes(self) -> int:
        """Memory of the outputs of the innermost layers: what a training step keeps, roughly."""
        return sum(layer.output_bytes for layer in self._innermost())

    @property
    def flops(self) -> int:
        """Floating-point operations of one forward pass."""
        return sum(layer.flops for layer in self.layers)

    def __str__(self) -> str:
        heads = ("Layer", "Input", "Output", "Parameters", "Weights", "Outputs", "FLOPs")
        rows = [_cells(layer) for layer in self.layers]
        total = (
            f"Total ({self.trainable_parameters:,} trainable)",
            "",
            "",
            f"{self.total_parameters:,}",
            _size(self.weight_bytes),
            _size(self.output_bytes),
            _count(self.flops),
        )
        widths = [max(map(len, column)) for column in zip(heads, *rows, total, strict=True)]
        rule = "-" * (sum(widths) + 2 * len(widths) - 2)
        lines = [_line(heads, widths), rule, *(_line(row, widths) for row in rows), rule]
        return "\n".join([*lines, _line(total, widths)])

    __repr__ = __str__

    def _innermost(self) -> Iterator[LayerSummary]:
        following = [*self.layers[1:], None]
        for layer, after in zip(self.layers, following, strict=True):
            if after is None or after.depth <= layer.depth:
                yield layer


def summary(model: Module, *inputs: Any, **options: Any) -> Summary:
    """Call a network once and tell shapes, parameters, memory and FLOPs of each layer.

    The call is in evaluation mode and without gradients, so the network is as before. A
    multiplication and an addition count as two operations. On the ``meta`` device nothing is
    computed, and no memory is needed for the largest network.

    Args:
        model: The network.
        inputs: What it is called with.
        options: The same by keyword.

    Returns:
        The layers and their totals, which print as a table.

    Raises:
        TypeError: ``model`` is not a module.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> nn.summary(net, flambeau.zeros(5, 4))
        Layer                 Input   Output  Parameters  Weights  Outputs  FLOPs
        -------------------------------------------------------------------------
        Sequential            (5, 4)  (5, 2)           0      0 B     40 B      0
          0: Linear           (5, 4)  (5, 8)          40    160 B    160 B    360
          1: ReLU             (5, 8)  (5, 8)           0      0 B    160 B     40
          2: Linear           (5, 8)  (5, 2)          18     72 B     40 B    170
        -------------------------------------------------------------------------
        Total (58 trainable)                          58    232 B    360 B    570
    """
    if not isinstance(model, Module):
        raise TypeError(
            f"summary() takes a module and what to call it with, not {type(model).__name__}"
        )
    found = _Counting(model)
    with flambeau.no_grad(), _evaluating(model), found.watching(), interpose("trace", found.count):
        model(*inputs, **options)
    found.weigh()
    return Summary(list(found.layers.values()))


class _Counting:
    """Layers by module, and which of them are being called, the innermost last."""

    def __init__(self, model: Module) -> None:
        self.layers: dict[int, LayerSummary] = {}
        self.modules: list[Module] = []
        self.open: list[LayerSummary] = []
        for path, module in model.named_modules():
            depth = path.count(".") + 1 if path else 0
            self.modules.append(module)
            self.layers[id(module)] = LayerSummary(path, type(module).__name__, depth)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Hooks that tell when a layer is entered and left."""
        handles = []
        for module in self.modules:
            handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
            handles.append(module.register_forward_hook(self._leave, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def weigh(self) -> None:
        """Add what each module holds, which lazy ones know after the call."""
        seen: set[int] = set()
        for module in self.modules:
            layer = self.layers[id(module)]
            layer.kind = type(module).__name__
            _weigh(layer, module, seen)

    def count(self, op: Any, args: list[Any], outs: Any) -> Any:
        """Run an operator, and count it for the layer that called it."""
        result = call(op, args, outs)
        several = list(result) if isinstance(result, tuple) else [result]
        if self.open:
            self.open[-1].flops += flops_of(op, args, several)
        return several if isinstance(result, tuple) else result

    def _enter(self, module: Module, args: Any, kwargs: Any) -> None:
        layer = self.layers[id(module)]
        layer.calls += 1
        layer.input_shape = _shapes([*args, *kwargs.values()])
        self.open.append(layer)

    def _leave(self, module: Module, args: Any, output: Any) -> None:
        layer = self.open.pop()
        layer.output_shape = _shapes(output)
        layer.output_bytes += sum(map(_bytes, _tensors(output)))


@contextmanager
def _evaluating(model: Module) -> Iterator[None]:
    """Evaluation mode, and afterwards each module's own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _weigh(layer: LayerSummary, module: Module, seen: set[int]) -> None:
    """Count what a module holds; what is shared counts where it comes first."""
    for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
        if id(tensor) in seen or is_lazy(tensor):
            continue
        seen.add(id(tensor))
        layer.weight_bytes += _bytes(tensor)
        if isinstance(tensor, Parameter):
            layer.parameters += tensor.numel()
            layer.trainable += tensor.numel() if tensor.requires_grad else 0


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _shapes(value: Any) -> Any:
    """The shape of the tensor in a value, or a list of several."""
    shapes = [tuple(tensor.shape) for tensor in _tensors(value)]
    return shapes[0] if len(shapes) == 1 else shapes


def _bytes(tensor: Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())


def _cells(layer: LayerSummary) -> tuple[str, ...]:
    name = layer.path.rpartition(".")[2]
    label = f"{name}: {layer.kind}" if name else layer.kind
    times = f" ({layer.calls} calls)" if layer.calls > 1 else ""
    return (
        "  " * layer.depth + label + times,
        _shape_text(layer.input_shape),
        _shape_text(layer.output_shape),
        f"{layer.parameters:,}",
        _size(layer.weight_bytes),
        _size(layer.output_bytes) if layer.calls else "-",
        _count(layer.flops) if layer.calls else "-",
    )


def _shape_text(shape: Any) -> str:
    if shape is None or shape == []:
        return "-"
    return ", ".join(map(str, shape)) if isinstance(shape, list) else str(shape)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    """Names and shapes to the left, numbers to the right."""
    placed = [
        cell.ljust(width) if i < 3 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()


def _size(count: int) -> str:
    return f"{count} B" if count < 1024 else _scaled(count, 1024, ("KiB", "MiB", "GiB", "TiB"))


def _count(count: int) -> str:
    return str(count) if count < 1000 else _scaled(count, 1000, ("K", "M", "G", "T"))


def _scaled(count: float, base: int, units: tuple[str, ...]) -> str:
    """Three digits and a unit, the first in which the number is less than ``base``."""
    power = 0
    while power < len(units) and count >= base:
        count /= base
        power += 1
    digits = f"{count:.0f}" if count >= 100 else f"{count:.3g}"
    return f"{digits} {units[power - 1]}"
