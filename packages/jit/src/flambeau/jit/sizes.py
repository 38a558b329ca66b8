"""Which sizes of the inputs vary, and which sizes a function is recorded with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import TraceError

Tensor = Any
Marks = list[dict[int, str]]


def mark_sizes(
    examples: Sequence[Tensor], dynamic: bool | Mapping[int, Mapping[int, str]]
) -> tuple[Marks, dict[str, int]]:
    """The symbol of each size that varies, per input, and the example's size for each symbol.

    Raises:
        TraceError: ``dynamic`` names an input or a dimension that is not there, or gives one
            symbol to sizes that differ.
    """
    marks = _first_sizes(examples) if dynamic is True else [{} for _ in examples]
    if isinstance(dynamic, Mapping):
        for number, dims in dynamic.items():
            if not 0 <= number < len(examples):
                raise TraceError(f"dynamic names input {number}, but there are {len(examples)}")
            marks[number] = {_wrap(examples[number], d, number): n for d, n in dims.items()}
    sizes: dict[str, int] = {}
    for tensor, dims in zip(examples, marks, strict=True):
        for d, name in dims.items():
            if sizes.setdefault(name, tensor.shape[d]) != tensor.shape[d]:
                raise TraceError(
                    f"dynamic calls two sizes {name}, but they are {sizes[name]} and "
                    f"{tensor.shape[d]} in the example: give them two names"
                )
    return marks, sizes


def _first_sizes(examples: Sequence[Tensor]) -> Marks:
    batch = next((t.shape[0] for t in examples if t.ndim), None)
    return [{0: "N"} if t.ndim and t.shape[0] == batch else {} for t in examples]


def _wrap(tensor: Tensor, dim: int, number: int) -> int:
    if not -tensor.ndim <= dim < tensor.ndim:
        raise TraceError(f"dynamic names dimension {dim} of input {number} of {tensor.ndim}")
    return dim % tensor.ndim


def choose_sizes(
    base: Mapping[str, int], steps: tuple[int, int] = (3, 1)
) -> list[dict[str, int]]:
    """The sizes to record with: the example's, then each symbol alone, then all together.

    Steps of 3 and 1 in this order: no counter of calls grows like that.
    """
    alone, together = steps
    start = {name: max(size, 2) for name, size in base.items()}
    samples = [start]
    for name, size in start.items():
        samples.append({**start, name: size + alone})
    if start:
        grown = enumerate(start.items(), 1)
        samples.append({name: size + together * number for number, (name, size) in grown})
    return samples


def resize(example: Tensor, dims: Mapping[int, str], sizes: Mapping[str, int]) -> Tensor:
    """A tensor like the example with other sizes; its memory is not filled."""
    shape = [sizes.get(dims.get(d, ""), size) for d, size in enumerate(example.shape)]
    value = bridge.value_of(example)
    result = bridge.empty_on(shape, value.dtype, value.device)
    if example.requires_grad:
        result.requires_grad = True
    return result
