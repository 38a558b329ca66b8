"""``LazyModuleMixin``: modules that learn the sizes of their parameters from the first input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from flambeau import Tensor

from ..parameter import is_lazy
from .module import Module
from .module._where import note_where

if TYPE_CHECKING:
    _Base = Module
else:
    _Base = object


class LazyModuleMixin(_Base):
    """Makes parameters at the first call, when their shapes are known.

    A lazy module registers ``UninitializedParameter`` and ``UninitializedBuffer``, and defines
    ``initialize_parameters(*args, **kwargs)``, which gets the arguments of the first call and
    materializes them. Then the module becomes an instance of ``cls_to_become``. A ``state_dict``
    that holds the parameters does the same for a module that was never called.

    Write it before the eager class: ``class LazyLinear(LazyModuleMixin, Linear)``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> net = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(2))
        >>> tuple(net(flambeau.zeros(5, 3)).shape)
        (5, 2)
        >>> net[0]
        Linear(in_features=3, out_features=8, bias=True)
    """

    cls_to_become: ClassVar[Any] = None
    _called: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make the parameters where that is not done yet, and run the module."""
        if not self._called:
            try:
                self._infer_parameters(self, args, kwargs)
            except Exception as error:
                note_where(self, error)
                raise
        return Module.__call__(self, *args, **kwargs)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters for the arguments of the first call; subclasses define it.

        Raises:
            NotImplementedError: The subclass does not define it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no initialize_parameters(): define it with the arguments "
            "of forward, and materialize every uninitialized parameter and buffer in it"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of this module has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"initialize_parameters() of {type(module).__name__} left a parameter or buffer "
                "without a shape; call materialize() on each"
            )
        module._called = True
        if module.cls_to_become is not None:
            del module.__dict__["_called"]
            module.__class__ = module.cls_to_become

    def _materialize(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Give shapes to all of these parameters and buffers that exist, or to none of them."""
        waiting = [name for name in shapes if getattr(self, name) is not None]
        lazy = [name for name in waiting if is_lazy(getattr(self, name))]
        if lazy and lazy != waiting:
            loaded = sorted(set(waiting) - set(lazy))
            raise RuntimeError(
                f"{type(self).__name__} got {', '.join(loaded)} from a state_dict, but not "
                f"{', '.join(lazy)}; load all of them or none"
            )
        for name in lazy:
            getattr(self, name).materialize(shapes[name])


def channels_of(input: Tensor, dims: int, module: Any) -> int:
    """The channels of a sample, or of a batch of them, with ``dims`` dimensions of space.

    Raises:
        RuntimeError: The input has another number of dimensions.

    Example:
        >>> import flambeau
        >>> channels_of(flambeau.zeros(2, 3, 8), 1, None)
        3
    """
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{type(module).__name__} takes an input of {dims + 1} dimensions, or {dims + 2} with "
            f"the batch, not of shape {tuple(input.shape)}"
        )
    return int(input.shape[-dims - 1])
