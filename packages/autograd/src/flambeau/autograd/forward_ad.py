"""Forward mode: tensors that carry a tangent through ordinary code.

``func.jvp`` is the same as a function; this is the form with a ``with`` block.
"""
from __future__ import annotations

from typing import NamedTuple

from flambeau.autograd.transforms.dual import DualLevel
from flambeau.autograd.transforms.stack import STATE
from flambeau.core import Tensor

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
        tangent: of the same shape and dtype.
        level: left out.

    Returns:
        A tensor that operators give tangents to, inside the block.

    Raises:
        RuntimeError: outside ``dual_level()``, shapes or dtypes differ, or one of them has a
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
    if tensor.shape != tangent.shape or tensor.dtype is not tangent.dtype:
        raise RuntimeError(
            f"make_dual(): expected a tangent of shape {list(tensor.shape)} and dtype "
            f"{tensor.dtype}, got {list(tangent.shape)} and {tangent.dtype}")
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
    return opened.with_history(tensor, tangent)


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
    if opened is None or not opened.is_mine(tensor):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*opened.unwrap(tensor))
