"""Backends that count, for programs that test how often they are compiled."""
from __future__ import annotations

from typing import Any

import flambeau
from flambeau import rooms
from flambeau.utils import _pytree


def op_count(graph: Any) -> int:
    """How many calls a graph has.

    Args:
        graph: A ``GraphModule``.
    """
    return sum(node.op.startswith("call_") for node in graph.graph.nodes)


class CompileCounter:
    """A backend that runs graphs as they are, and counts them: ``compile(fn, backend=counter)``."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.frame_count += 1
        self.op_count += op_count(gm)
        return gm.forward

    def clear(self) -> None:
        """Begin at nought."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same, which keeps the graphs and leaves them to another backend.

    Args:
        backend: Its name, or a function of a graph and example inputs.
    """

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        if callable(self.backend):
            return self.backend(gm, example_inputs)
        return rooms.import_module(f"{rooms.PREFIX}jit").compile(gm, backend=self.backend)

    def clear(self) -> None:
        """Begin at nought."""
        super().clear()
        self.graphs: list[Any] = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        return gm.forward


def same(a: Any, b: Any, tol: float = 1e-4, equal_nan: bool = False) -> bool:
    """Say whether two trees of tensors are alike.

    Args:
        a: Tensors in containers.
        b: The same.
        tol: Relative and absolute tolerance.
        equal_nan: Whether NaN is like NaN.
    """
    leaves, spec = _pytree.tree_flatten(a)
    others, other_spec = _pytree.tree_flatten(b)
    return spec == other_spec and all(
        x.dtype == y.dtype and x.shape == y.shape
        and flambeau.allclose(x, y, atol=tol, rtol=tol, equal_nan=equal_nan)
        if isinstance(x, flambeau.Tensor) and isinstance(y, flambeau.Tensor) else x == y
        for x, y in zip(leaves, others, strict=True))


def rand_strided(size: Any, stride: Any, dtype: Any = flambeau.float32, device: Any = "cpu",
                 extra_size: int = 0) -> Any:
    """Random numbers in a shape with these strides.

    Args:
        size: The shape.
        stride: Elements from one to the next, for each dimension.
        dtype: Of the tensor.
        device: Where it lies.
        extra_size: Elements behind the last.
    """
    count = 1 + extra_size + sum((n - 1) * step for n, step in zip(size, stride, strict=True)
                                 ) if all(size) else extra_size
    made = flambeau.randn(count, device=device) * (1 if dtype.is_floating_point else 10)
    return made.to(dtype).as_strided(tuple(size), tuple(stride))
