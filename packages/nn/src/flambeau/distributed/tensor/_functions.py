"""Shared tensors from local ones, and back, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.autograd import Function

from ._layout import contiguous_stride, normalized
from ._redistribute import redistribute
from ._spec import DTensorSpec
from .placement_types import Partial, Placement, Replicate


def whole_gradients(placements: Sequence[Placement]) -> list[Placement]:
    """How gradients of tensors are shared: where these are partial, each process has all."""
    return [Replicate() if isinstance(p, Partial) else p for p in placements]


def moved(tensor: Any, placements: Sequence[Placement]) -> Any:
    """A shared tensor in another way, without gradients."""
    spec = tensor._spec
    if spec.placements == tuple(placements):
        return tensor
    local = redistribute(
        tensor._local_tensor, spec.shape, spec.mesh, spec.placements, placements
    )
    return type(tensor)(local, spec.placed(placements))


class ToLocal(Function):
    """This process's part."""

    @staticmethod
    def forward(ctx: Any, x: Any, placements: Any) -> Any:
        """Give the part."""
        ctx.kind, ctx.spec, ctx.placements = type(x), x._spec, placements
        local = x._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Gradients of the parts are parts of the gradient."""
        spec = ctx.spec
        placements: Sequence[Placement]
        if ctx.placements is None:
            placements = whole_gradients(spec.placements)
        else:
            placements = normalized(ctx.placements, spec.mesh, spec.ndim)
        return ctx.kind(grad, spec.placed(placements)), None


class FromLocal(Function):
    """The tensor of which each process has a part."""

    @staticmethod
    def forward(ctx: Any, local: Any, kind: Any, spec: DTensorSpec, grad_placements: Any) -> Any:
        """Give the tensor."""
        ctx.placements = spec.placements if grad_placements is None else grad_placements
        return kind(local.view_as(local), spec, requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """The part of the gradient."""
        return moved(grad, whole_gradients(ctx.placements))._local_tensor, None, None, None


class Redistribute(Function):
    """The tensor in another way."""

    @staticmethod
    def forward(ctx: Any, x: Any, placements: Any, dtypes: tuple[Any, Any]) -> Any:
        """Exchange."""
        ctx.spec, ctx.dtypes, ctx.dtype = x._spec, dtypes, x.dtype
        if dtypes[0] is not None and dtypes[0] != x.dtype:
            spec = x._spec._replace(dtype=dtypes[0])
            x = type(x)(x._local_tensor.to(dtypes[0]), spec)
        result = moved(x, placements)
        if result is x:
            return type(x)(x._local_tensor.view_as(x._local_tensor), x._spec)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Exchange back; where it was partial, each process has all of the gradient."""
        if ctx.dtypes[1] is not None:
            grad = grad.to(ctx.dtypes[1])
        back = moved(grad, whole_gradients(ctx.spec.placements))
        return back.to(ctx.dtype) if back.dtype != ctx.dtype else back, None, None


def spec_of(
    local: Any, mesh: Any, placements: Sequence[Placement], shape: Any, stride: Any
) -> DTensorSpec:
    """What a tensor is of which this process has a part.

    Without a shape, all parts are as large as this one.
    """
    if shape is None:
        sizes = list(local.shape)
        for i, each in enumerate(placements):
            if each.is_shard():
                sizes[each.dim] *= mesh.size(i)  # type: ignore[attr-defined]
        shape = sizes
    strides = contiguous_stride(shape) if stride is None else tuple(stride)
    return DTensorSpec(mesh, tuple(placements), tuple(shape), strides, local.dtype)
