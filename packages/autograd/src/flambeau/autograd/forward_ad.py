"""Forward mode: tensors that carry a tangent through ordinary code.

``func.jvp`` is the same as a function; this is the form with a ``with`` block.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flambeau.autograd.transforms.batch import BatchLevel
from flambeau.autograd.transforms.dual import DualLevel
from flambeau.autograd.transforms.stack import STATE, empty_strided_at_levels, level_of
from flambeau.core import Tensor, ops

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
           "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` gives."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """A block in which tensors may have tangents; they are constants again after it.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd import forward_ad
        >>> x = flambeau.tensor([1.0, 2.0])
        >>> with forward_ad.dual_level():
        ...     y = forward_ad.make_dual(x, flambeau.ones(2)) ** 2
        ...     forward_ad.unpack_dual(y).tangent
        tensor([2., 4.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error) -> None:
        exit_dual_level()


def _open_level() -> DualLevel | None:
    for level in reversed(STATE.levels):
        if isinstance(level, DualLevel) and level.is_block:
            return level
    return None


def enter_dual_level() -> int:
    """Begin a block; what ``with dual_level()`` does.

    Raises:
        RuntimeError: one is open already.
    """
    if _open_level() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment: nest "
                           "flambeau.func.jvp instead")
    level = DualLevel()
    level.is_block = True
    level.__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the block.

    Args:
        level: 0, the only one there is.

    Raises:
        RuntimeError: none is open, or a transform that was begun inside it still is.
    """
    opened = _open_level()
    if opened is None or STATE.levels[-1] is not opened:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was "
                           "created: leave dual_level() blocks in the order they were entered")
    opened.__exit__(None, None, None)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with a tangent.

    Args:
        tensor: the value.
        tangent: of the same shape; of another dtype it is converted.
        level: left out.

    Returns:
        A tensor that operators give tangents to, inside the block.

    Raises:
        RuntimeError: outside ``dual_level()``, the shapes differ, or one of them has a
            tangent already.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(flambeau.tensor(2.0), flambeau.tensor(1.0))
        ...     forward_ad.unpack_dual(x * x).tangent
        tensor(4.)
    """
    opened = _open_level()
    if opened is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, "
                           "make sure to enter_dual_level() first: with dual_level(): ...")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: "
                         f"{tensor.dtype}")
    _check_tangent(tensor, tangent)
    batch = _batch_inside(opened, tensor, tangent)
    if batch is not None:
        return _below(batch, lambda *pair: batch.wrap(make_dual(*pair), True),
                      _whole(batch, tensor), _whole(batch, tangent))
    tensor, before = opened.unwrap(tensor)
    if before is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported: take unpack_dual(x).primal, or add the tangents")
    tangent, second = opened.unwrap(tangent)
    if second is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level 0 is not "
            "supported: nest flambeau.func.jvp for second derivatives")
    return opened.with_history(tensor, _laid_out(tensor, tangent.to(tensor.dtype)), shares=True)


def _check_tangent(tensor: Tensor, tangent: Tensor) -> None:
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: "
                         f"{tangent.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported: make_dual() got a tensor of shape "
            f"{list(tensor.shape)} and a tangent of shape {list(tangent.shape)}")
    if tangent.is_complex() and not tensor.is_complex():
        raise RuntimeError(f"make_dual(): a tensor of {tensor.dtype} moves along real numbers, "
                           f"and its tangent is of {tangent.dtype}: write tangent.real")


# ---- layout --------------------------------------------------------------------------------------
# Views are taken of a tangent as they are of its value, and as_strided() reaches all of the memory
# below it. So a tangent is laid out like its value; one that is not is copied.
def _laid_out(tensor: Tensor, tangent: Tensor) -> Tensor:
    at_levels = level_of(tensor) or level_of(tangent)
    if _has_layout_of(tangent, tensor) and (at_levels or _room(tensor) == _room(tangent)):
        return tangent
    if _overlaps(tensor):                   # there is no room for other values in that layout
        return tangent
    if at_levels:
        return ops.copy_(empty_strided_at_levels(tensor.shape, tensor.stride(), tensor), tangent)
    memory = ops.full_of((_room(tensor),), 0, dtype=tensor.dtype, device=tensor.device)
    view = ops.as_strided(memory, tensor.shape, tensor.stride(), tensor.storage_offset())
    return ops.copy_(view, tangent)


def _has_layout_of(tangent: Tensor, tensor: Tensor) -> bool:
    if not tensor.numel():
        return True
    if tensor.storage_offset() != tangent.storage_offset():
        return False
    pairs = zip(tensor.shape, tensor.stride(), tangent.stride(), strict=True)
    return all(a == b or n == 1 for n, a, b in pairs)


def _overlaps(tensor: Tensor) -> bool:
    """Whether two elements may share memory, as in an expanded tensor."""
    last = 0
    for step, n in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if n > 1 and step <= last:
            return True
        last += (n - 1) * step
    return False


def _room(tensor: Tensor) -> int:
    """How many elements the memory below a tensor holds."""
    return tensor.untyped_storage().nbytes() // tensor.element_size() if tensor.numel() else 0


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor; None for tensors without one.

    Args:
        tensor: any tensor.
        level: left out.

    Example:
        >>> import flambeau
        >>> from flambeau.autograd import forward_ad
        >>> with forward_ad.dual_level():
        ...     forward_ad.unpack_dual(flambeau.tensor(2.0))
        UnpackedDualTensor(primal=tensor(2.), tangent=None)
    """
    opened = _open_level()
    if opened is None:
        return UnpackedDualTensor(tensor, None)
    batch = _batch_inside(opened, tensor)
    if batch is not None:
        inner, batched = batch.unwrap(tensor)

        def wrapped(x: Tensor) -> UnpackedDualTensor:
            primal, tangent = unpack_dual(x)
            return UnpackedDualTensor(batch.wrap(primal, batched),
                                      None if tangent is None else batch.wrap(tangent, batched))

        return _below(batch, wrapped, inner)
    primal, tangent = opened.unwrap(tensor)
    return UnpackedDualTensor(ops.alias(primal), tangent)


# ---- a vmap inside the block ---------------------------------------------------------------------
# Its tensors stand for batches of duals, so duals are made and unpacked one level below it.
def _batch_inside(opened: DualLevel, *tensors: Tensor) -> BatchLevel | None:
    """The innermost level that the tensors are of, if that began inside the block."""
    number = max([level_of(t) for t in tensors])
    if number <= opened.number:
        return None
    level = STATE.levels[number - 1]
    if not isinstance(level, BatchLevel):
        raise RuntimeError(
            "make_dual() and unpack_dual() are called inside func.grad(), func.vjp() or "
            "func.jvp() for a dual_level() block around that: begin the block inside the "
            "function that is transformed")
    return level


def _below(level: BatchLevel, function: Callable, *tensors: Tensor):
    STATE.depth, before = level.number - 1, STATE.depth
    try:
        return function(*tensors)
    finally:
        STATE.depth = before


def _whole(level: BatchLevel, tensor: Tensor) -> Tensor:
    """All samples of a tensor; one that they share is repeated."""
    inner, batched = level.unwrap(tensor)
    return inner if batched else inner.expand(level.size, *inner.shape)
