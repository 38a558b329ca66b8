"""What all pruning methods are: a mask on a parameter, applied before each ``forward``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import flambeau
from flambeau import Tensor

from ...modules.module import Module
from ...modules.module._hooks import hooks_of
from ...parameter import Parameter


class BasePruningMethod(ABC):
    """A way to choose which elements of a parameter become zero.

    Subclasses say what they choose from in ``PRUNING_TYPE`` (``"unstructured"``: elements,
    ``"structured"``: slices along ``self.dim``, ``"global"``: both, as they like) and define
    ``compute_mask``.

    Example:
        >>> import flambeau
        >>> from flambeau import nn
        >>> from flambeau.nn.utils import prune
        >>> class EveryOther(prune.BasePruningMethod):
        ...     PRUNING_TYPE = "unstructured"
        ...     def compute_mask(self, t, default_mask):
        ...         mask = default_mask.clone()
        ...         mask.view(-1)[::2] = 0
        ...         return mask
        >>> layer = nn.Linear(2, 2, bias=False)
        >>> _ = EveryOther.apply(layer, "weight")
        >>> layer.weight_mask.tolist()
        [[0.0, 1.0], [0.0, 1.0]]
    """

    PRUNING_TYPE: str
    _tensor_name: str
    handle: Any = None

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones where ``t`` stays, zeros where it is pruned.

        Args:
            t: What the choice is made by, the parameter or scores of importance.
            default_mask: The mask so far; what it prunes stays pruned.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned parameter."""
        mask, original = (getattr(module, f"{self._tensor_name}_{x}") for x in ("mask", "orig"))
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Prune a parameter, or prune more of it.

        The parameter becomes ``name_orig``, its mask is the buffer ``name_mask``.

        Args:
            module: The module that has the parameter.
            name: The name of the parameter.
            args: What the method is constructed with.
            importance_scores: What is chosen by, instead of the parameter; of its shape.
            kwargs: The same by name.

        Returns:
            The method, or the container of all methods on this parameter.
        """
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        older = method_of(module, name)
        with flambeau.no_grad():
            if older is None:
                value = getattr(module, name)
                scores = _scores(importance_scores, value)
                mask = method.compute_mask(scores, flambeau.ones_like(value))
            else:
                value = older.apply_mask(module)
                scores = _scores(importance_scores, value)
                mask = combined_mask(method, scores, getattr(module, f"{name}_mask"))
        if older is None:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", value)
        else:
            older.handle.remove()
            container = older if isinstance(older, PruningContainer) else PruningContainer(older)
            container.add_pruning_method(method)
            method = container
        module.register_buffer(f"{name}_mask", mask.to(value.dtype))
        method(module, None)
        method.handle = module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """A pruned copy of a tensor.

        Args:
            t: The tensor.
            default_mask: What is pruned already; nothing when left out.
            importance_scores: What is chosen by, instead of ``t``; of its shape.
        """
        scores = _scores(importance_scores, t)
        mask = flambeau.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Leave the pruned values as a plain parameter; the hook is removed by ``prune.remove``."""
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        with flambeau.no_grad():
            original.copy_(self.apply_mask(module))
        for attribute in (name, f"{name}_mask", f"{name}_orig"):
            delattr(module, attribute)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Pruning methods applied to one parameter one after the other.

    Each chooses among what the ones before it have left.

    Args:
        args: The methods, all for the same parameter.
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        self._tensor_name = args[0]._tensor_name if args else ""
        self.handle = args[0].handle if args else None
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method at the end.

        Raises:
            TypeError: It is no pruning method.
            ValueError: It is for another parameter.
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is not a BasePruningMethod subclass")
        self._tensor_name = self._tensor_name or method._tensor_name
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"a container of methods for {self._tensor_name!r} cannot take one for "
                f"{method._tensor_name!r}"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask after the last method has chosen among what is left."""
        return combined_mask(self._pruning_methods[-1], t, default_mask)


def combined_mask(method: BasePruningMethod, t: Tensor, default_mask: Tensor) -> Tensor:
    """The mask after a method has chosen among what the mask before has left."""
    before = default_mask.to(t.dtype)
    left = _left(method, before)
    mask = before.clone()
    mask[left] = method.compute_mask(t[left], before[left]).to(t.dtype)
    return mask


def _left(method: Any, mask: Tensor) -> Any:
    """An index of what a method may choose from."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    everything = slice(None)
    if method.PRUNING_TYPE == "global":
        return (everything,) * mask.ndim
    if method.PRUNING_TYPE != "structured":
        raise ValueError(
            f"{type(method).__name__}.PRUNING_TYPE is {method.PRUNING_TYPE!r}; it is one of "
            "'unstructured', 'structured' and 'global'"
        )
    dim = dim_of(method.dim, mask)
    others = [d for d in range(mask.ndim) if d != dim]
    kept = (mask.sum(others) if others else mask) != 0
    return (*(everything for _ in range(dim)), kept)


def dim_of(dim: int, t: Tensor) -> int:
    """A dimension counted from the front."""
    if not -t.ndim <= dim < t.ndim:
        raise IndexError(f"dim is from {-t.ndim} to {t.ndim - 1}, not {dim}")
    return dim % t.ndim


def method_of(module: Module, name: str) -> Any:
    """The method or container that prunes a parameter, or None."""
    for hook in hooks_of(module, "forward_pre"):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return hook
    if not isinstance(getattr(module, name, None), Parameter):
        raise AttributeError(
            f"{type(module).__name__} has no parameter {name!r}; it has {[*module._parameters]}"
        )
    return None


def _scores(given: Tensor | None, original: Tensor) -> Tensor:
    if given is None:
        return original
    if given.shape != original.shape:
        raise AssertionError(
            f"importance_scores is {list(given.shape)}, and the parameter {list(original.shape)}; "
            "they must have the same shape"
        )
    return given
