"""``Variable`` of programs older than tensors that record gradients themselves."""
from __future__ import annotations

from flambeau.core import Tensor, _core


class _AnyTensor(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_AnyTensor):
    """A tensor; every tensor is a ``Variable``, and making one gives a tensor.

    Args:
        data: The values, shared with the result.
        requires_grad: Whether operations on the result are recorded.

    Example:
        >>> import flambeau
        >>> flambeau.autograd.Variable(flambeau.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Tensor:  # type: ignore[misc]
        return _core.requiring(data.detach(), requires_grad)
