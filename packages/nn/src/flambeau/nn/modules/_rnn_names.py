"""What programs ask of PyTorch's recurrent layers, or assign to them, under private names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau import Tensor

from .module import Module

_PLACE = "_assigned_flat_weights"


class RecurrentNames(Module):
    """The flat list of weights, and the checks one by one.

    The list is made of the attributes each time. A program may assign another, of weights that it
    has dropped or computed; an entry holds until its attribute is assigned again, as in PyTorch.
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    proj_size: int
    bidirectional: bool
    batch_first: bool
    _all_weights: list[list[str]]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        found = [getattr(self, name) for names in self._all_weights for name in names]
        if _PLACE not in self.__dict__:
            return found
        assigned = self.__dict__[_PLACE]
        return [value if old is now else now
                for now, (old, value) in zip(found, assigned, strict=True)]

    @_flat_weights.setter
    def _flat_weights(self, weights: Sequence[Any]) -> None:
        self.__dict__.pop(_PLACE, None)
        found = self._flat_weights
        if len(weights) != len(found):
            raise ValueError(f"{type(self).__name__} has {len(found)} weights, not {len(weights)}")
        if any(value is not now for now, value in zip(found, weights, strict=True)):
            self.__dict__[_PLACE] = list(zip(found, weights, strict=True))

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless an input has the features that this layer takes.

        Args:
            input: A batch, or the data of a packed sequence.
            batch_sizes: Those of a packed sequence.

        Raises:
            RuntimeError: It has others, or another number of dimensions.
        """
        wanted = 2 if batch_sizes is not None else 3
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError("input.size(-1) must be equal to input_size. Expected "
                               f"{self.input_size}, got {input.size(-1)}")

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, width: int) -> tuple[int, ...]:
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None \
            else int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, width

    def get_expected_hidden_size(self, input: Tensor,
                                 batch_sizes: Tensor | None) -> tuple[int, ...]:
        """The shape of the hidden state for an input; arguments as in ``check_input``."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, ...]:
        """The shape of LSTM's cell state for an input; arguments as in ``check_input``."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, ...],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise unless a state has a shape.

        Args:
            hx: The state.
            expected_hidden_size: The shape.
            msg: The text of the error, with two gaps.

        Raises:
            RuntimeError: It has another.
        """
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless an input and its states fit; arguments as in ``check_input``."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if self.mode != "LSTM":
            self.check_hidden_size(hidden, expected)
            return
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes),
                               "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """States in another order of the batch.

        Args:
            hx: The state, or LSTM's two.
            permutation: Indices along the batch, or None.
        """
        if permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple(each.index_select(1, permutation) for each in hx)
        return hx.index_select(1, permutation)
