"""Tensors as one run of elements in the CPU's memory."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.core import _core
from flambeau.core.layouts import strided


def flat(tensor: Any) -> Any:
    """The elements in order, over the tensor's memory where it can be."""
    return tensor.detach().cpu().contiguous().view(-1)


class Plain:
    """A tensor that is written to, as one run of elements.

    Args:
        tensor: The tensor.
        changed: Whether its elements may be changed on the way.

    Raises:
        TypeError: It is no dense tensor.
    """

    def __init__(self, tensor: Any, changed: bool = True) -> None:
        if not isinstance(tensor, _core.Tensor) or tensor.layout is not strided:
            kind = getattr(tensor, "layout", type(tensor).__name__)
            raise TypeError(f"processes exchange dense tensors, not {kind}; send the values and "
                            "indices of sparse ones")
        self._tensor = tensor
        self._lies_plain = tensor.is_cpu and tensor.is_contiguous()
        self.flat = flat(tensor)
        if not changed and self._lies_plain:
            self.flat = self.flat.clone()

    def write_back(self) -> None:
        """Have the tensor hold the elements."""
        if self._lies_plain:
            _core.bump_version(self._tensor)
        else:
            self._tensor.detach().copy_(self.flat.view(self._tensor.shape))


def same_kind(what: str, tensors: Sequence[Any] | None, count: int, model: Any = None) -> None:
    """Check that there is a tensor for each process, of the model's elements.

    Raises:
        ValueError: There is not.
    """
    given = 0 if tensors is None else len(tensors)
    if tensors is None or given != count:
        raise ValueError(f"{what}(): the list must have {count} element{'s' * (count > 1)}, as "
                         f"many as there are processes, not {given}")
    for each in tensors if model is not None else ():
        if each.dtype is not model.dtype or each.numel() != model.numel():
            raise ValueError(f"{what}(): a tensor of shape {tuple(each.shape)} and {each.dtype} is "
                             f"not like the one of shape {tuple(model.shape)} and {model.dtype}")


def stacked(what: str, whole: Any, count: int, part: Any) -> list[Any]:
    """A flat tensor cut into one part for each process.

    Raises:
        ValueError: It has not as many elements as all parts.
    """
    if whole.numel() != count * part.numel() or whole.dtype is not part.dtype:
        raise ValueError(
            f"{what}(): {count} processes with {part.numel()} elements of {part.dtype} each do not "
            f"make {whole.numel()} elements of {whole.dtype}")
    size = part.numel()
    return [whole[i * size:(i + 1) * size] for i in range(count)]
