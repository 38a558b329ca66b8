"""Shapes and dtypes of a graph's values, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import flambeau
from flambeau.fx.interpreter import Interpreter
from flambeau.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor.

    Args:
        shape: Its shape.
        dtype: Its dtype.
        requires_grad: Whether gradients flow into it.
        stride: Its strides.
        memory_format: The order of its dimensions in memory; None for another one.
        is_quantized: False.
        qparams: Empty.
    """

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


_FORMATS = {flambeau.contiguous_format: 0, flambeau.channels_last: 4,
            flambeau.channels_last_3d: 5}


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    form = None
    if include_contiguity:
        form = next((each for each in _FORMATS
                     if _FORMATS[each] in (0, result.ndim)
                     and result.is_contiguous(memory_format=each)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad,
                          tuple(result.stride()), form, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and notes ``tensor_meta`` and ``type`` in the ``meta`` of its nodes.

    Args:
        gm: The module.
        fake_mode: Has no effect.

    Example:
        >>> import flambeau
        >>> from flambeau import fx
        >>> from flambeau.fx.passes.shape_prop import ShapeProp
        >>> module = fx.symbolic_trace(lambda x: x.sum(0))
        >>> _ = ShapeProp(module).propagate(flambeau.ones(2, 3))
        >>> [tuple(node.meta["tensor_meta"].shape) for node in module.graph.nodes]
        [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.real_module = gm
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """The value of a node, which is noted.

        Args:
            n: The node.
        """
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
                               ) from error
        found = False

        def note(x: Any) -> Any:
            nonlocal found
            if isinstance(x, flambeau.Tensor):
                found = True
                return _extract_tensor_metadata(x)
            return x

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph.

        Args:
            args: Its arguments.

        Returns:
            Its result.
        """
        return super().run(*args)
