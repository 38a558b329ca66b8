"""How a layer's parameters are shared, and what goes in and out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flambeau import Tensor, nn

from .._api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "SequenceParallel"]


class ParallelStyle(ABC):
    """How a module's parameters are shared, and what goes in and out; a base class."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: Any) -> Any:
        """Change the module."""


def shared_input(x: Any, mesh: Any, now: Placement, wanted: Placement) -> Any:
    """A tensor that goes into a module, shared as it is to be."""
    if not isinstance(x, Tensor):
        return x
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, (now,))
    return x if x.placements == (wanted,) else x.redistribute(placements=(wanted,))


def given_out(x: Any, wanted: Placement, as_local: bool) -> Any:
    """A result, shared as it is to be, or this process's part."""
    x = x if x.placements == (wanted,) else x.redistribute(placements=(wanted,))
    return x.to_local() if as_local else x


class _Layer(ParallelStyle):
    """A layer with one input, whose parameters are cut."""

    def __init__(
        self, inputs: Placement, wanted: Placement, outputs: Placement, use_local_output: bool
    ) -> None:
        self.input_layouts = (inputs,)
        self.desired_input_layouts = (wanted,)
        self.output_layouts = (outputs,)
        self.use_local_output = use_local_output

    def _cuts(self, module: Any) -> dict[str, Placement]:
        """How the parameters are shared, by name."""
        raise NotImplementedError

    def _wanted(self, module: Any) -> Placement:
        return self.desired_input_layouts[0]

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        cuts, wanted = self._cuts(module), self._wanted(module)

        def partition(name: str, each: Any, mesh: Any) -> None:
            for key, p in list(each.named_parameters(recurse=False)):
                shared = distribute_tensor(
                    p, mesh, [cuts[key]], src_data_rank=self.src_data_rank)
                each.register_parameter(key, nn.Parameter(shared, p.requires_grad))

        def enter(mod: Any, inputs: Any, mesh: Any) -> Any:
            first = shared_input(inputs[0], mesh, self.input_layouts[0], wanted)
            return (first, *inputs[1:])

        def leave(mod: Any, outputs: Any, mesh: Any) -> Any:
            return given_out(outputs, self.output_layouts[0], self.use_local_output)

        return distribute_module(module, device_mesh, partition, enter, leave)


class ColwiseParallel(_Layer):
    """A `Linear` whose outputs are cut, or an `Embedding` whose columns are.

    Args:
        input_layouts: How inputs are shared that are plain tensors; each process has all of them
            by default.
        output_layouts: How outputs are to be shared; along the last dimension by default.
        use_local_output: Whether the result is this process's part, instead of a `DTensor`.
    """

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1),
                         use_local_output)

    def _cuts(self, module: Any) -> dict[str, Placement]:
        if isinstance(module, nn.Linear):
            return {"weight": Shard(0), "bias": Shard(0)}
        if isinstance(module, nn.Embedding):
            return {"weight": Shard(1)}
        raise NotImplementedError("ColwiseParallel currently only support nn.Linear and "
                                  f"nn.Embedding, not {type(module).__name__}!")


class RowwiseParallel(_Layer):
    """A `Linear` whose inputs are cut, or an `Embedding` whose rows are.

    Args:
        input_layouts: How inputs are shared that are plain tensors; along the last dimension by
            default.
        output_layouts: How outputs are to be shared; each process has all of them by default.
        use_local_output: Whether the result is this process's part, instead of a `DTensor`.
    """

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(),
                         use_local_output)

    def _wanted(self, module: Any) -> Placement:
        return Replicate() if isinstance(module, nn.Embedding) else Shard(-1)

    def _cuts(self, module: Any) -> dict[str, Placement]:
        if isinstance(module, nn.Linear):
            return {"weight": Shard(1), "bias": Replicate()}
        if isinstance(module, nn.Embedding):
            return {"weight": Shard(0)}
        raise NotImplementedError("RowwiseParallel currently only support nn.Linear and "
                                  f"nn.Embedding, not {type(module).__name__}!")


class SequenceParallel(ParallelStyle):
    """A layer of which each process computes some positions: normalization, dropout.

    Each process has all of the parameters.

    Args:
        sequence_dim: The dimension of the positions.
        use_local_output: Whether the result is this process's part, instead of a `DTensor`.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        cut = self.sequence_sharding[0]

        def partition(name: str, each: Any, mesh: Any) -> None:
            for key, p in list(each.named_parameters(recurse=False)):
                shared = distribute_tensor(
                    p, mesh, [Replicate()], src_data_rank=self.src_data_rank)
                each.register_parameter(key, nn.Parameter(shared, p.requires_grad))

        def enter(mod: Any, inputs: Any, mesh: Any) -> Any:
            if not isinstance(inputs[0], Tensor):
                raise ValueError("SequenceParallel: expecting input of a Tensor or DTensor, but "
                                 f"got {inputs[0]}")
            return (shared_input(inputs[0], mesh, cut, cut), *inputs[1:])

        def leave(mod: Any, outputs: Any, mesh: Any) -> Any:
            return outputs.to_local() if self.use_local_output else outputs

        return distribute_module(module, device_mesh, partition, enter, leave)
