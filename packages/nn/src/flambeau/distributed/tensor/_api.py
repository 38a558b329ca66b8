"""``DTensor``: one tensor that the processes of a mesh share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor, distributed
from flambeau.distributed import DeviceMesh

from ._dispatch import dispatch
from ._functions import FromLocal, Redistribute, ToLocal, moved, spec_of
from ._layout import contiguous_stride, normalized
from ._redistribute import redistribute
from ._spec import DTensorSpec
from .placement_types import Partial, Placement, Replicate, Shard

Placements = Sequence[Placement] | None


class DTensor(Tensor):
    """A tensor that processes share, each with a part, all of it, or a summand.

    Operators are those of tensors, on the tensor as one: `shape` is that of all, and results are
    what a single process would compute. Each process computes on its part, and parts are exchanged
    where an operator needs others. All processes of the mesh call the same operators.

    Made by `distribute_tensor` and `from_local`.

    Example:
        >>> import flambeau
        >>> from flambeau.distributed import init_device_mesh, destroy_process_group
        >>> from flambeau.distributed.tensor import Shard, distribute_tensor
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> x = distribute_tensor(flambeau.ones(4, 2), mesh, [Shard(0)])
        >>> (x @ x.T).placements, x.to_local().shape
        ((Shard(dim=0),), flambeau.Size([4, 2]))
        >>> destroy_process_group()
    """

    _local_tensor: Tensor
    _spec: DTensorSpec

    @staticmethod
    def __new__(
        cls: Any, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool = False
    ) -> DTensor:
        """Wrap this process's part."""
        made: DTensor = Tensor._make_wrapper_subclass(
            cls, spec.shape, strides=spec.stride, dtype=local_tensor.dtype,
            device=local_tensor.device, requires_grad=requires_grad,
        )
        made._local_tensor = local_tensor.detach() if local_tensor.requires_grad else local_tensor
        made._spec = spec
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Made by `__new__`."""

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})"
        )

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Let all processes drop the same elements; leave other functions as they are."""
        if getattr(func, "__name__", None) == "dropout":
            return _dropped(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator on shared tensors."""
        return dispatch(func, args, kwargs or {})

    @staticmethod
    def __alike_parts__(tensors: Sequence[Any]) -> list[Tensor] | None:
        """This process's parts of a parameter, its state and its gradient, for optimizers.

        What is computed element by element can be on these; None where they are of different
        elements. The gradient, the last one, is exchanged if need be.
        """
        first = tensors[0]
        if not all(isinstance(t, DTensor) and t.shape == first.shape for t in tensors):
            return None
        spec = first._spec
        if any(p.is_partial() for p in spec.placements):
            return None
        parts = [*tensors[:-1], moved(tensors[-1], spec.placements)]
        if any(t._spec[:2] != spec[:2] for t in parts):
            return None
        return [t._local_tensor for t in parts]

    @property
    def device_mesh(self) -> DeviceMesh:
        """The processes."""
        mesh: DeviceMesh = self._spec.mesh
        return mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How they share the tensor, along each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Placements = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Placements = None,
    ) -> DTensor:
        """The tensor of which each process has a part.

        Args:
            local_tensor: This process's part.
            device_mesh: The processes; all by default.
            placements: How they share the tensor; each has all of it by default.
            run_check: Whether copies are copied again from the first process.
            shape: The tensor's shape; without it all parts are as large as this one.
            stride: The tensor's strides.
            grad_placements: How the gradient is shared; as the tensor by default.

        Raises:
            ValueError: Placements do not fit mesh or tensor.
        """
        mesh = device_mesh or default_mesh()
        placed = normalized(placements, mesh, local_tensor.ndim)
        spec = spec_of(local_tensor, mesh, placed, shape, stride)
        if run_check:
            for i, each in enumerate(placed):
                if each.is_replicate():
                    shared = local_tensor.detach().contiguous()
                    distributed.broadcast(shared, group=mesh.get_group(i), group_src=0)
                    with flambeau.no_grad():
                        local_tensor.copy_(shared)
        if grad_placements is not None:
            grad_placements = normalized(grad_placements, mesh, local_tensor.ndim)
        made: DTensor = FromLocal.apply(local_tensor, DTensor, spec, grad_placements)
        return made

    def to_local(self, *, grad_placements: Placements = None) -> Tensor:
        """This process's part.

        Args:
            grad_placements: How gradients of the parts are parts of the gradient; as the parts are
                of the tensor by default.
        """
        if not flambeau.is_grad_enabled() or not self.requires_grad:
            return self._local_tensor
        local: Tensor = ToLocal.apply(self, grad_placements)
        return local

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Placements = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor, shared in another way.

        Args:
            device_mesh: The same mesh, or None.
            placements: How it is to be shared.
            async_op: Accepted for compatibility.
            forward_dtype: A dtype to exchange it in.
            backward_dtype: A dtype to exchange the gradient in.

        Raises:
            RuntimeError: Placements are missing or `Partial`.
            NotImplementedError: Another mesh.
        """
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError(
                "redistribute(): tensors stay in their mesh; use full_tensor(), and "
                "distribute_tensor() in the other"
            )
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        placed = normalized(placements, self.device_mesh, self.ndim)
        for now, wanted in zip(self.placements, placed, strict=True):
            if wanted.is_partial() and now != wanted:
                raise RuntimeError("Can not redistribute to Partial, redistributing to Partial is "
                                   "for internal use only!")
        made: DTensor = Redistribute.apply(self, placed, (forward_dtype, backward_dtype))
        return made

    def full_tensor(self, *, grad_placements: Placements = None) -> Tensor:
        """All of the tensor, in each process.

        Args:
            grad_placements: How the processes' gradients make up the gradient; each has all of it
                by default.
        """
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        if id(self) not in memo:
            copied = DTensor(
                self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad
            )
            copied.__dict__.update(
                {k: v for k, v in self.__dict__.items() if k not in copied.__dict__}
            )
            memo[id(self)] = copied
        found: DTensor = memo[id(self)]
        return found


def _dropped(x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if not training or p == 0:
        return x
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    kept = (flambeau.rand_like(x) >= p).to(x.dtype)
    factor = kept * (1 / (1 - p) if p < 1 else 0.0)
    return x.mul_(factor) if inplace else x * factor


_meshes: weakref.WeakKeyDictionary[Any, DeviceMesh] = weakref.WeakKeyDictionary()


def default_mesh() -> DeviceMesh:
    """All processes, in one dimension."""
    if distributed.GroupMember.WORLD is None:
        distributed.init_process_group()
    world = distributed.GroupMember.WORLD
    if world not in _meshes:
        _meshes[world] = DeviceMesh("cpu", flambeau.arange(distributed.get_world_size()))
    return _meshes[world]


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Placements = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Share a tensor that the processes have.

    Args:
        tensor: The tensor, a leaf, of the same shape everywhere.
        device_mesh: The processes; all by default.
        placements: How they are to share it; each has all of it by default.
        src_data_rank: The process in the mesh whose values count; None: each process's own.

    Returns:
        The shared tensor, a leaf, which needs a gradient as ``tensor`` does.

    Raises:
        RuntimeError: The tensor is no leaf, or is to be partial.
        ValueError: It is shared already, in another way.

    Example:
        >>> import flambeau
        >>> from flambeau.distributed import init_device_mesh, destroy_process_group
        >>> from flambeau.distributed.tensor import Shard, distribute_tensor
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> distribute_tensor(flambeau.ones(2), mesh, [Shard(0)]).placements
        (Shard(dim=0),)
        >>> destroy_process_group()
    """
    mesh = device_mesh or default_mesh()
    placed = normalized(placements, mesh, tensor.ndim)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != placed:
            raise ValueError("distribute_tensor(): the tensor is shared already; use "
                             "redistribute()")
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but "
                           "found non-leaf tensor!")
    if any(each.is_partial() for each in placed):
        raise RuntimeError("distribute_tensor(): only Shard and Replicate, not Partial")
    local = tensor.detach()
    if src_data_rank is not None and mesh.get_coordinate() is not None:
        local = local.clone(memory_format=flambeau.contiguous_format)
        for i in range(mesh.ndim):
            distributed.broadcast(local, group=mesh.get_group(i), group_src=src_data_rank)
    local = redistribute(local, tensor.shape, mesh, [Replicate()] * mesh.ndim, placed)
    if local.data_ptr() == tensor.data_ptr() and any(each.is_shard() for each in placed):
        local = local.clone()
    strides = contiguous_stride(tensor.shape)
    spec = DTensorSpec(mesh, placed, tuple(tensor.shape), strides, tensor.dtype)
    return DTensor(local, spec, requires_grad=tensor.requires_grad)


def distribute_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
) -> Any:
    """Share the parameters and buffers of a network.

    Args:
        module: The network, which is changed.
        device_mesh: The processes; all by default.
        partition_fn: Takes a submodule's name, the submodule and the mesh, and replaces parameters
            by shared ones; each process has all of those that are left.
        input_fn: Takes the network, its inputs and the mesh, and gives the inputs of ``forward``.
        output_fn: Takes the network, its outputs and the mesh, and gives the results.

    Returns:
        The network.
    """
    from flambeau import nn

    mesh = device_mesh or default_mesh()
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError("distribute_module should only be called once on a module, but it has "
                           "already been called on this module!")
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        for key, p in each._parameters.items():
            if p is not None and not isinstance(p, DTensor):
                shared = distribute_tensor(p.detach(), mesh)
                each.register_parameter(key, nn.Parameter(shared, p.requires_grad))
        for key, b in each._buffers.items():
            if b is not None and not isinstance(b, DTensor):
                each._buffers[key] = distribute_tensor(b, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda mod, inputs: input_fn(mod, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda mod, inputs, out: output_fn(mod, out, mesh))
    module._distribute_module_applied = True
    return module


__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
]
