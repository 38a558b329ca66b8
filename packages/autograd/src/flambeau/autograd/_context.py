"""What a custom function's ``forward`` leaves for its ``backward``."""
from __future__ import annotations

import warnings

from flambeau.autograd._engine import KeptTensor, SavedTensor, handle_of_none, raise_second_time
from flambeau.core import Tensor

__all__ = ["BackwardCFunction", "FunctionCtx"]


class FunctionCtx:
    """What ``forward`` leaves for ``backward``: saved tensors, and whatever else is set on it."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    _materialize_non_diff_grads = True      # zeros for outputs that are marked, too

    def __init__(self) -> None:
        self._to_save: tuple[Tensor | None, ...] = ()
        self._saved: tuple[KeptTensor | None, ...] | None = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._constant: tuple[Tensor, ...] = ()
        self._to_forward: tuple[Tensor | None, ...] = ()
        self._hidden: dict[str, str] | None = None
        self._node = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs and outputs for ``backward``, guarded against writes in between.

        Args:
            tensors: inputs or outputs of ``forward``, or None.

        Raises:
            TypeError: something else than a tensor or None was passed, and an input requires grad.
        """
        self._to_save = tensors

    def _wanted(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_backward`` was given, where there is a ``backward`` to keep it for."""
        for tensor in self._to_save:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward() takes tensors and None, not {type(tensor).__name__}: "
                    "keep other values as attributes, ctx.size = size")
        return self._to_save

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``, which reads them as ``saved_for_forward``.

        Args:
            tensors: inputs or outputs of ``forward``, or None.
        """
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_forward() takes tensors and None, not "
                                f"{type(tensor).__name__}")
        self._to_forward = tensors

    @property
    def saved_for_forward(self) -> tuple[Tensor | None, ...]:
        """What ``save_for_forward`` kept; ``saved_tensors`` in ``jvp``, too."""
        return self._to_forward

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` wrote to; it must return them.

        Args:
            tensors: inputs that were changed in place.
        """
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs carry no gradient.

        Args:
            tensors: outputs of ``forward``; or tensors it keeps for ``backward`` that do not
                depend on its inputs, such as masks.
        """
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what ``backward`` gets for outputs that were not used.

        Args:
            value: True (the default) for zeros, False for None.
        """
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: they were freed by a backward pass, or written to since.
        """
        if self._saved is None:
            raise_second_time(self._node)
        saved = self._saved or ()
        return tuple([s.unpack(self._node) if s is not None else None for s in saved])

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """``saved_tensors`` under its old name."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning,
                      stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """What holds them: each takes hooks of its own (``register_hooks``)."""
        if self._saved is None:
            raise_second_time(self._node)
        return tuple([handle_of_none() if s is None else s for s in self._saved or ()])

    def read(self, node, name: str):
        """An attribute, read through the graph node (``y.grad_fn.saved_tensors``)."""
        before, self._node = self._node, node
        try:
            return getattr(self, name)
        finally:
            self._node = before


#: What ``forward`` and ``backward`` get as ctx, under PyTorch's name.
BackwardCFunction = FunctionCtx
