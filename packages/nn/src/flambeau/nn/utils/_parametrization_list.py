"""``ParametrizationList``: what one parametrized tensor is computed from, and the checks of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

from ..modules.container import ModuleList
from ..modules.module import Module
from ..parameter import Parameter


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order they apply, and what they start from.

    ``module.parametrizations.weight`` is one. It holds ``original``, or ``original0``,
    ``original1`` and so on where the first ``right_inverse`` gives several tensors.

    Args:
        modules: The parametrizations.
        original: The parameter or buffer that is parametrized.
        unsafe: Allow a change of dtype or shape.

    Raises:
        ValueError: There are none, or what they return does not fit.
    """

    unsafe: bool
    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList() needs at least one parametrization")
        super().__init__(modules)
        self.unsafe = unsafe
        wanted = original.dtype, original.shape
        with flambeau.no_grad():
            start = _inverted(self, original, strict=False)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(_tensors(start))
        if self.is_tensor:
            _check_start(original, start)
            store(original, start)
            register(self, "original", original)
        else:
            self._register_several(original, start)
        if not unsafe:
            _check_result(self(), *wanted)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes ``value``.

        Args:
            value: What the tensor is to be.

        Raises:
            RuntimeError: A parametrization has no ``right_inverse``.
            ValueError: What it returns does not fit the originals.
        """
        with flambeau.no_grad():
            start = _inverted(self, value, strict=True)
            parts = [start] if self.is_tensor else _tensors(start)
            if self.is_tensor and not isinstance(start, Tensor) or len(parts) != self.ntensors:
                raise ValueError(
                    f"right_inverse() gave {_kind(start)}, where {self.ntensors} tensors are "
                    "parametrized"
                )
            for original, part in zip(self.originals(), parts, strict=True):
                if original.dtype != part.dtype:
                    raise ValueError(
                        f"right_inverse() gave a tensor of dtype {part.dtype}, while the original "
                        f"has dtype {original.dtype}"
                    )
                store(original, part)

    def forward(self) -> Tensor:
        """Compute the parametrized tensor."""
        first, *rest = self
        x = first(*self.originals())
        for parametrization in rest:
            x = parametrization(x)
        return x

    def originals(self) -> list[Any]:
        """What the parametrized tensor is computed from."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{index}") for index in range(self.ntensors)]

    def _register_several(self, original: Tensor, start: Any) -> None:
        learned = isinstance(original, Parameter)
        for index, part in enumerate(_tensors(start)):
            part = part.detach()
            if learned:
                part = Parameter(part, original.requires_grad)
            register(self, f"original{index}", part)


def _inverted(parametrizations: Iterable[Any], value: Any, strict: bool) -> Any:
    """What the parametrizations start from to give ``value``."""
    for parametrization in reversed(list(parametrizations)):
        if hasattr(parametrization, "right_inverse"):
            try:
                value = parametrization.right_inverse(value)
            except NotImplementedError:
                if strict:
                    raise
        elif strict:
            raise RuntimeError(
                f"{type(parametrization).__name__} has no right_inverse(), so that the tensor it "
                "computes cannot be assigned: define right_inverse(self, value), or assign to the "
                "original"
            )
    return value


def _tensors(start: Any) -> list[Tensor]:
    if not isinstance(start, Sequence) or not all(isinstance(each, Tensor) for each in start):
        raise ValueError(
            f"right_inverse() must return a tensor or a sequence of tensors, not {_kind(start)}"
        )
    return list(start)


def _kind(value: Any) -> str:
    if isinstance(value, Sequence):
        return f"{len(value)} values ({', '.join(type(each).__name__ for each in value)})"
    return type(value).__name__


def store(original: Tensor, value: Tensor) -> None:
    """Overwrite a tensor, whose shape may change, without sharing memory with ``value``."""
    if original is value:
        return
    with flambeau.no_grad():
        if original.shape == value.shape:
            original.copy_(value)
        else:
            original.data = value.detach().clone()


def register(module: Module, name: str, tensor: Tensor) -> None:
    """Add a parameter or a buffer, whichever it is."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_start(original: Tensor, start: Tensor) -> None:
    for kind in ("dtype", "device"):
        wanted, given = getattr(original, kind), getattr(start, kind)
        if wanted != given:
            raise ValueError(
                f"right_inverse() may not change the {kind} of the tensor: it was {wanted} and "
                f"became {given}"
            )


def _check_result(result: Any, dtype: Any, shape: Any, what: str = "a parametrization") -> None:
    if not isinstance(result, Tensor):
        raise ValueError(f"{what} must return a tensor, not {type(result).__name__}")
    for kind, wanted in (("dtype", dtype), ("shape", shape)):
        given = getattr(result, kind)
        if given != wanted:
            raise ValueError(
                f"{what} may not change the {kind} of the tensor, which is {wanted} and became "
                f"{given}; write unsafe=True to allow it"
            )


def check_another(tensor: Tensor, parametrization: Any) -> None:
    """Whether one more parametrization fits a tensor that has some."""
    result = parametrization(tensor)
    _check_result(result, tensor.dtype, tensor.shape)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        start = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    _check_result(start, tensor.dtype, tensor.shape, "right_inverse() after the first")
