"""Which function writes each operator: the files beside this one fill the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.jit.ir import Node
from flambeau.onnx.exporting.builder import Builder, Name

#: Takes the builder, the node and the node's arguments; returns the name of its first output, or
#: a list of names.
Emitter = Callable[..., "Name | list[Name]"]

EMITTERS: dict[str, Emitter] = {}


def emits(*keys: str) -> Callable[[Emitter], Emitter]:
    """Make a function the writer of operators."""

    def register(function: Emitter) -> Emitter:
        EMITTERS.update(dict.fromkeys(keys, function))
        return function

    return register


def refuse(node: Node, why: str) -> Any:
    """Say that a call has no form in ONNX.

    Raises:
        ExportError: Always.
    """
    from flambeau.onnx.errors import ExportError

    raise ExportError(f"onnx.export(): {node.op} at {node.where or 'an unknown line'}: {why}")


def each(value: Any, n: int) -> list[int]:
    """One number for every dimension, or one for each."""
    numbers = [value] if isinstance(value, int) else list(value)
    return numbers * n if len(numbers) == 1 else numbers


__all__ = ["EMITTERS", "Builder", "emits", "each", "refuse"]
