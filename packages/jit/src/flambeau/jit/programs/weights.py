"""Captured tensors in saved programs: each piece of memory once, and tensors by their layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError
from flambeau.jit.ir import Capture
from flambeau.jit.printing import show_type

Tensor = Any


def place_captures(captures: Sequence[Capture], items: list[dict[str, Any]]) -> dict[str, Tensor]:
    """The tensors to save, by name; notes in the captures' JSON data where they lie in them.

    Raises:
        ProgramError: tensors of several dtypes or storages lie over one another.
    """
    by_memory: dict[int, list[int]] = {}
    for number, capture in enumerate(captures):
        by_memory.setdefault(bridge.memory_address(capture.tensor), []).append(number)
    _refuse_overlaps(captures, by_memory)
    tensors: dict[str, Tensor] = {}
    for numbers in by_memory.values():
        first = captures[numbers[0]]
        alone = len(numbers) == 1 and first.tensor.is_contiguous()
        tensors[first.name] = first.tensor.detach() if alone else bridge.whole_memory(first.tensor)
        for number in numbers:
            tensor, item = captures[number].tensor, items[number]
            item["requires_grad"] = bool(tensor.requires_grad)
            if not alone:
                if tensor.dtype != first.tensor.dtype:
                    _fail(first, captures[number])
                item["place"] = [first.name, tensor.storage_offset(), list(tensor.stride())]
    return tensors


def _refuse_overlaps(captures: Sequence[Capture], by_memory: dict[int, list[int]]) -> None:
    end, last = 0, None
    for address in sorted(by_memory):
        capture = captures[by_memory[address][0]]
        size = bridge.storage_bytes(capture.tensor)
        if last is not None and size and address < end:
            _fail(last, capture)
        if size and address + size > end:
            end, last = address + size, capture


def _fail(one: Capture, other: Capture) -> None:
    raise ProgramError(
        f"{one.name} and {other.name} share memory in a way that a file does not hold: make one of "
        "them a view of the other, of its dtype, or clone() it before tracing"
    )


def fill_captures(captures: Sequence[Capture], items: list[dict[str, Any]], content: bytes) -> None:
    """Give captures the tensors of a file.

    Raises:
        ProgramError: they are not what the graph captures.
    """
    try:
        tensors = bridge.tensors_from_bytes(content)
    except Exception as error:
        raise ProgramError(f"weights.safetensors: {error}") from None
    used = set()
    for capture, item in zip(captures, items, strict=True):
        place = item.get("place", [capture.name])
        name = place.pop(0) if isinstance(place, list) and place else None
        if not isinstance(name, str) or name not in tensors:
            raise ProgramError("weights.safetensors does not hold the tensors the graph captures")
        used.add(name)
        tensor = _placed(tensors[name], capture, place) if place else tensors[name]
        found = bridge.value_of(tensor)
        if (found.shape, found.dtype) != (capture.value.shape, capture.value.dtype):
            raise ProgramError(
                f"{capture.name} is {show_type(found)} in weights.safetensors, the graph says "
                f"{show_type(capture.value)}"
            )
        if item.get("requires_grad", False):
            tensor = _requiring(tensor, capture)
        capture.tensor = tensor
    if used != set(tensors):
        raise ProgramError("weights.safetensors does not hold the tensors the graph captures")


def _placed(memory: Tensor, capture: Capture, place: list[Any]) -> Tensor:
    try:
        offset, strides = place
        return bridge.call("as_strided", [memory, capture.value.shape, strides, offset])[0]
    except Exception as error:
        raise ProgramError(f"{capture.name} does not lie in weights.safetensors: {error}") from None


def _requiring(tensor: Tensor, capture: Capture) -> Tensor:
    """A leaf that requires grad, where autograd is installed."""
    try:
        leaf = tensor.detach()
        leaf.requires_grad = True
        return leaf
    except RuntimeError as error:
        raise ProgramError(f"{capture.name}: {error}") from None
    except ImportError:
        return tensor
