"""Random numbers: the runtime draws its own."""

from __future__ import annotations

from typing import Any

from flambeau.jit.ir import Node, Value
from flambeau.onnx.exporting.builder import DTYPES, Builder, Name
from flambeau.onnx.exporting.table import emits, refuse


def _filled(b: Builder, node: Node, x: Value, value: Any = 0) -> Name:
    """A tensor of the node's shape; floats, which alone ONNX draws."""
    if "float" not in x.dtype:
        refuse(node, f"random numbers of {x.dtype} are not written")
    return b.add("Expand", b.constant(value, x.dtype), b.shape(x.shape))


@emits("random_uniform")
def write_uniform(b: Builder, node: Node, x: Value, low: Any = 0.0, high: Any = 1.0,
                  *_: Any) -> Name:
    return b.add("RandomUniformLike", _filled(b, node, x), low=float(low), high=float(high),
                 dtype=DTYPES[x.dtype])


@emits("random_normal")
def write_normal(b: Builder, node: Node, x: Value, mean: Any = 0.0, std: Any = 1.0,
                 *_: Any) -> Name:
    return b.add("RandomNormalLike", _filled(b, node, x), mean=float(mean), scale=float(std),
                 dtype=DTYPES[x.dtype])


@emits("random_bernoulli")
def write_bernoulli(b: Builder, node: Node, x: Value, p: Any = 0.5, *_: Any) -> Name:
    chances = b.add("Expand", b.constant(p, "float32"), b.shape(x.shape))
    return b.add("Bernoulli", chances, dtype=DTYPES[x.dtype])


@emits("bernoulli")
def write_bernoulli_of(b: Builder, node: Node, x: Value, *_: Any) -> Name:
    return b.add("Bernoulli", b.of(x), dtype=DTYPES[x.dtype])
