"""What a program has in common with a module: parameters, buffers, a state, a mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from flambeau.jit import bridge
from flambeau.jit.errors import ProgramError

if TYPE_CHECKING:
    from flambeau.jit.ir import Capture, Graph

Tensor = Any


class State:
    """Names for a program's captured tensors."""

    graph: Graph
    training: bool | None

    def _captures(self) -> list[Capture]:
        return [capture for capture in self.graph.captures if not capture.constant]

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Names and captured tensors that require grad."""
        for capture in self._captures():
            if capture.tensor.requires_grad:
                yield capture.name, capture.tensor

    def parameters(self) -> Iterator[Tensor]:
        """The captured tensors that require grad, for an optimizer."""
        return (tensor for _, tensor in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Names and captured tensors that do not require grad."""
        for capture in self._captures():
            if not capture.tensor.requires_grad:
                yield capture.name, capture.tensor

    def buffers(self) -> Iterator[Tensor]:
        """The captured tensors that do not require grad."""
        return (tensor for _, tensor in self.named_buffers())

    def state_dict(self) -> dict[str, Tensor]:
        """The captured tensors by name, sharing memory with the program."""
        return {capture.name: capture.tensor.detach() for capture in self._captures()}

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        """Copy values into the captured tensors.

        Args:
            state_dict: a tensor for each name of ``state_dict()``, of its shape.

        Raises:
            ProgramError: names or shapes differ; nothing is written then.
        """
        captures = {capture.name: capture.tensor for capture in self._captures()}
        missing, more = captures.keys() - state_dict.keys(), state_dict.keys() - captures.keys()
        if missing or more:
            raise ProgramError(
                f"load_state_dict(): missing {sorted(missing)}, unexpected {sorted(more)}; a "
                "program has what the function used")
        for name, tensor in captures.items():
            if tensor.shape != state_dict[name].shape:
                raise ProgramError(
                    f"load_state_dict(): {name} has shape {list(tensor.shape)}, the new value "
                    f"{list(state_dict[name].shape)}")
        with bridge.no_grad():
            for name, tensor in captures.items():
                tensor.copy_(state_dict[name])

    def train(self, mode: bool = True) -> State:
        """The program, if it was traced in this mode: what it does was decided then.

        Raises:
            ProgramError: it was traced in the other mode.
        """
        if self.training is not None and self.training is not mode:
            now, wanted = ("training", "eval") if self.training else ("eval", "training")
            raise ProgramError(
                f"the program was traced in {now} mode, and does what the module did then; call "
                f"model.{'train' if mode else 'eval'}() and trace again for {wanted} mode")
        return self

    def eval(self) -> State:
        """The program, if it was not traced in training mode; see ``train``."""
        return self.train(False)

    def to(self, *args: Any, **kwargs: Any) -> State:
        """The program, if its tensors are there and of this dtype: both are part of the graph.

        Raises:
            ProgramError: they are not.
        """
        for capture in self._captures():
            tensor = capture.tensor
            if not tensor.is_floating_point():
                continue
            moved = tensor.detach().to(*args, **kwargs)
            if moved.dtype is not tensor.dtype or moved.device != tensor.device:
                raise ProgramError(
                    f"to(): devices and dtypes are part of a program, and {capture.name} is "
                    f"{bridge.dtype_name(tensor.dtype)} on {tensor.device}; move the model, "
                    "model.to(...), and trace it again")
        return self
