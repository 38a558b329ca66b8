"""Margins around lines, planes and volumes: constant, reflected, replicated, circular."""

from __future__ import annotations

from typing import ClassVar

from flambeau import Tensor

from .._siblings import functional as F
from ._sizes import Size, spread
from .module import Module


class _PadNd(Module):
    """Margins of one mode, on both sides of the last ``_dims`` dimensions."""

    _mode: ClassVar[str]
    _dims: ClassVar[int]

    def __init__(self, padding: Size) -> None:
        super().__init__()
        self.padding = spread(padding, 2 * self._dims, "padding")

    def forward(self, input: Tensor) -> Tensor:
        """Put the margins around ``input``."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """Put the margins around ``input``."""
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise ValueError(
                f"{type(self).__name__} takes an input of {self._dims + 1} or {self._dims + 2} "
                f"dimensions, not of shape {tuple(input.shape)}"
            )
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Continues a line at both ends as if it were a ring.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, left + L + right)``.

    Args:
        padding: Widths on the left and on the right, or one number for both; at most ``L``,
            and negative ones cut off.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.CircularPad1d((1, 2))(flambeau.arange(3.0).reshape(1, 3))
        tensor([[2., 0., 1., 2., 0., 1.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continues a plane on all sides as if it were a torus.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output
    ``(N, C, top + H + bottom, left + W + right)``.

    Args:
        padding: Widths on the left, right, top and bottom, or one number for all; at most the
            plane's size, and negative ones cut off.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.CircularPad2d((1, 0, 0, 1))(flambeau.arange(4.0).reshape(1, 2, 2))
        tensor([[[1., 0., 1.],
                 [3., 2., 3.],
                 [1., 0., 1.]]])
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Continues a volume on all sides circularly.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, D', H', W')``.

    Args:
        padding: Widths on the left, right, top, bottom, front and back, or one number for all.

    Raises:
        ValueError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.CircularPad3d(1)(flambeau.zeros(1, 2, 3, 4)).shape)
        (1, 4, 5, 6)
    """

    _dims = 3


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Size, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Put the margins around ``input``."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Adds a constant at both ends of the last dimension.

    Shapes: input ``(*, L)``; output ``(*, left + L + right)``.

    Args:
        padding: Widths on the left and on the right, or one number for both; negative ones cut
            off.
        value: What the margins hold.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ConstantPad1d((1, 0), 9.0)(flambeau.zeros(1, 2))
        tensor([[9., 0., 0.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds a constant around the last two dimensions.

    Shapes: input ``(*, H, W)``; output ``(*, top + H + bottom, left + W + right)``.

    Args:
        padding: Widths on the left, right, top and bottom, or one number for all.
        value: What the margins hold.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ConstantPad2d((1, 0, 1, 0), 9.0)(flambeau.zeros(1, 1, 1))
        tensor([[[9., 9.],
                 [9., 0.]]])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds a constant around the last three dimensions.

    Shapes: input ``(*, D, H, W)``; output ``(*, D', H', W')``.

    Args:
        padding: Widths on the left, right, top, bottom, front and back, or one number for all.
        value: What the margins hold.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ConstantPad3d(1, 9.0)(flambeau.zeros(1, 2, 3, 4)).shape)
        (1, 4, 5, 6)
    """

    _dims = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors a line at both ends, without repeating the end itself.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, left + L + right)``.

    Args:
        padding: Widths on the left and on the right, or one number for both; less than ``L``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ReflectionPad1d(2)(flambeau.arange(3.0).reshape(1, 3))
        tensor([[2., 1., 0., 1., 2., 1., 0.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors a plane on all sides.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output
    ``(N, C, top + H + bottom, left + W + right)``.

    Args:
        padding: Widths on the left, right, top and bottom, or one number for all.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ReflectionPad2d((1, 0, 0, 1))(flambeau.arange(4.0).reshape(1, 2, 2))
        tensor([[[1., 0., 1.],
                 [3., 2., 3.],
                 [1., 0., 1.]]])
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors a volume on all sides.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, D', H', W')``.

    Args:
        padding: Widths on the left, right, top, bottom, front and back, or one number for all.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ReflectionPad3d(1)(flambeau.zeros(1, 2, 3, 4)).shape)
        (1, 4, 5, 6)
    """

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the ends of a line.

    Shapes: input ``(N, C, L)`` or ``(C, L)``; output ``(N, C, left + L + right)``.

    Args:
        padding: Widths on the left and on the right, or one number for both.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ReplicationPad1d(2)(flambeau.arange(3.0).reshape(1, 3))
        tensor([[0., 0., 0., 1., 2., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the border of a plane.

    Shapes: input ``(N, C, H, W)`` or ``(C, H, W)``; output
    ``(N, C, top + H + bottom, left + W + right)``.

    Args:
        padding: Widths on the left, right, top and bottom, or one number for all.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ReplicationPad2d((1, 0, 0, 1))(flambeau.arange(4.0).reshape(1, 2, 2))
        tensor([[[0., 0., 1.],
                 [2., 2., 3.],
                 [2., 2., 3.]]])
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the border of a volume.

    Shapes: input ``(N, C, D, H, W)`` or ``(C, D, H, W)``; output ``(N, C, D', H', W')``.

    Args:
        padding: Widths on the left, right, top, bottom, front and back, or one number for all.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ReplicationPad3d(1)(flambeau.zeros(1, 2, 3, 4)).shape)
        (1, 4, 5, 6)
    """

    _dims = 3


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Size) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Adds zeros at both ends of the last dimension.

    Shapes: input ``(*, L)``; output ``(*, left + L + right)``.

    Args:
        padding: Widths on the left and on the right, or one number for both; negative ones cut
            off.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> nn.ZeroPad1d((2, -1))(flambeau.ones(1, 3))
        tensor([[0., 0., 1., 1.]])
    """


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Adds zeros around the last two dimensions.

    Shapes: input ``(*, H, W)``; output ``(*, top + H + bottom, left + W + right)``.

    Args:
        padding: Widths on the left, right, top and bottom, or one number for all.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ZeroPad2d((1, 0, 2, 0))(flambeau.ones(1, 3, 3)).shape)
        (1, 5, 4)
    """


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Adds zeros around the last three dimensions.

    Shapes: input ``(*, D, H, W)``; output ``(*, D', H', W')``.

    Args:
        padding: Widths on the left, right, top, bottom, front and back, or one number for all.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> tuple(nn.ZeroPad3d(1)(flambeau.ones(1, 2, 3, 4)).shape)
        (1, 4, 5, 6)
    """
