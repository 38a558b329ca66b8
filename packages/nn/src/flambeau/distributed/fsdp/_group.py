"""The parameters of some modules, which are whole while these compute.

Whole parameters are results of a function of the parts: its forward pass gathers the rows of all
processes, its backward pass adds all processes' gradients and keeps this one's rows. It is older
than what the modules compute, so that it comes last in their backward pass: no parameter is waited
for. What the backward pass needs of whole parameters that are not kept is remembered by its
position in them (`SavedWhole`), and read when the rows are there again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import flambeau
from flambeau import distributed
from flambeau.autograd import Function
from flambeau.autograd.graph import saved_tensors_hooks, saved_tensors_hooks_around

from ._buckets import Bucket, divided
from ._parts import Part
from ._policies import MixedPrecisionPolicy


class SavedWhole(NamedTuple):
    """A view of a whole parameter that is gathered again when it is needed."""

    number: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class ForgettingHooks(saved_tensors_hooks):
    """Hooks that do not keep whole parameters."""


class ParamGroup:
    """The parameters of some modules, which are whole while these compute.

    Args:
        parts: The parameters.
        mesh: The processes.
        policy: The dtypes.
        reshard_after_forward: Whether only parts are kept between forward and backward pass.
    """

    def __init__(
        self, parts: Sequence[Part], mesh: Any, policy: MixedPrecisionPolicy,
        reshard_after_forward: bool,
    ) -> None:
        self.parts = list(parts)
        self.policy = policy
        self.mesh = mesh
        self.group = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim == 2 else None
        self.reshard_after_forward = reshard_after_forward
        self.reshard_after_backward = True
        self.reduces = True
        self.reduces_copies = True
        self.divide_factor: float | None = None
        self.buckets: list[Bucket] = divided(self.parts, self.group, policy.param_dtype)
        self.parts = [part for bucket in self.buckets for part in bucket.parts]
        self.wholes: list[Any] | None = None
        self._going: list[tuple[Any, Any]] | None = None
        self._kept: list[Any] = [None] * len(self.parts)    # gradients that were not exchanged
        self._partial: list[Any] = [None] * len(self.parts)     # and those not of all copies
        self.reduces_unused = False
        self.after_backward: list[Callable[[], None]] = []

    # ---- whole and in parts ------------------------------------------------------------------
    @property
    def trains(self) -> bool:
        """Whether some parameter needs a gradient."""
        return any(part.sharded.requires_grad for part in self.parts)

    def start(self) -> None:
        """Begin to gather the rows, while the program goes on."""
        if self.wholes is None and self._going is None:
            self._gather(True)

    def _gather(self, async_op: bool) -> None:
        for part in self.parts:
            part.adopt()
        for bucket in self.buckets:
            bucket.check_dtype(self.policy.param_dtype)
        with flambeau.no_grad():
            self._going = [bucket.gather(async_op) for bucket in self.buckets]

    def unshard(self) -> list[Any]:
        """The values of the whole parameters."""
        if self.wholes is None:
            if self._going is None:
                self._gather(False)
            assert self._going is not None
            going, self._going, wholes = self._going, None, []
            with flambeau.no_grad():
                for bucket, (work, rows) in zip(self.buckets, going, strict=True):
                    if work is not None:
                        work.wait()
                    wholes += bucket.wholes(rows)
            self.wholes = wholes
        return self.wholes

    def register(self) -> None:
        """Let the modules have the whole parameters."""
        wholes = self.unshard()
        trained = [part.sharded for part in self.parts if part.sharded.requires_grad]
        made = iter(Gathered.apply(self, *trained) if trained else ())
        for part, whole in zip(self.parts, wholes, strict=True):
            tensor = next(made) if part.sharded.requires_grad else whole.view_as(whole)
            tensor._is_param = True
            part.register(tensor)

    def reshard(self) -> None:
        """Let the modules have the parts, and release the whole parameters."""
        if self._going is not None:
            self.unshard()
        if self.wholes is not None:
            for part in self.parts:
                part.register(part.sharded)
            self.wholes = None

    def reset(self) -> None:
        """Have parts, and no gradients that wait."""
        self.reshard()
        self._kept = [None] * len(self.parts)
        self._partial = [None] * len(self.parts)

    # ---- what the backward pass needs --------------------------------------------------------
    def saving(self) -> Any:
        """A block in which whole parameters are not kept for the backward pass.

        Hooks of a program come first: those of a checkpoint keep nothing anyway.
        """
        if not all(isinstance(each, ForgettingHooks) for each in saved_tensors_hooks_around()):
            return nullcontext()
        numbers = {whole.untyped_storage().data_ptr(): i
                   for i, whole in enumerate(self.unshard()) if whole.numel()}

        def pack(tensor: Any) -> Any:
            number = numbers.get(tensor.untyped_storage().data_ptr())
            if number is None or tensor.numel() == 0:
                return tensor
            offset = tensor.storage_offset() - self.unshard()[number].storage_offset()
            return SavedWhole(number, tuple(tensor.shape), tensor.stride(), offset)

        def unpack(saved: Any) -> Any:
            if not isinstance(saved, SavedWhole):
                return saved
            whole = self.unshard()[saved.number]
            return whole.as_strided(
                saved.shape, saved.stride, whole.storage_offset() + saved.offset)

        return ForgettingHooks(pack, unpack)

    # ---- gradients ---------------------------------------------------------------------------
    def reduce(self, grads: Sequence[Any]) -> list[Any]:
        """This process's rows of the averages of all processes' gradients.

        Args:
            grads: The gradients of all parameters; None where there is none, in all processes.

        Returns:
            The rows of each, None where they are kept to be exchanged later.
        """
        dtype = self.policy.reduce_dtype
        given = [self._with_kept(i, grad, dtype) for i, grad in enumerate(grads)]
        if self.reduces_unused:
            given = [self._or_zeros(i, grad, dtype) for i, grad in enumerate(given)]
        if not self.reduces:
            self._kept = given
            return [None] * len(given)
        self._kept = [None] * len(given)
        found: list[Any] = []
        for bucket in self.buckets:
            first = len(found)
            own = given[first : first + len(bucket.parts)]
            found += self._reduced(first, bucket, own, dtype or bucket.dtype)
        return found

    def _with_kept(self, i: int, grad: Any, dtype: Any) -> Any:
        """A gradient and what was kept of earlier ones."""
        kept = self._kept[i]
        if grad is not None and dtype is not None:
            grad = grad.to(dtype)
        if kept is None or grad is None:
            return grad if kept is None else kept
        return kept + grad

    def _or_zeros(self, i: int, grad: Any, dtype: Any) -> Any:
        """A gradient, or zeros for a parameter that had no part in the loss."""
        part = self.parts[i]
        if grad is not None or not part.sharded.requires_grad:
            return grad
        return flambeau.zeros(part.shape, dtype=dtype or part.spec.dtype)

    def _reduced(self, first: int, bucket: Bucket, grads: Sequence[Any], dtype: Any) -> list[Any]:
        """This process's rows of a bucket; None for parameters without gradients."""
        found: list[Any] = [None] * len(grads)
        used = [i for i, grad in enumerate(grads) if grad is not None]
        if not used:
            return found
        total = self.group.size() * (1 if self.copies is None else self.copies.size())
        factor = self.divide_factor or total
        before = factor if dtype is flambeau.float16 else 1     # sums would overflow
        parts = [bucket.parts[i] for i in used]
        mine, flats = bucket.reduce(parts, [grads[i] for i in used], dtype, before)
        if self.copies is not None and not self._joined(first, used, mine, flats):
            return found
        if before == 1:
            mine.div_(factor)
        for i, part, flat in zip(used, parts, flats, strict=True):
            found[i] = part.local_gradient(flat)
        return found

    def _joined(self, first: int, used: Sequence[int], mine: Any, flats: Sequence[Any]) -> bool:
        """Add the rows of all copies, or keep them for a later pass and return False."""
        for i, flat in zip(used, flats, strict=True):
            kept = self._partial[first + i]
            if kept is not None:
                flat.add_(kept)
            self._partial[first + i] = None if self.reduces_copies else flat
        if self.reduces_copies and mine.numel():
            distributed.all_reduce(mine, group=self.copies)
        return self.reduces_copies


class Gathered(Function):
    """Whole parameters from the parts."""

    @staticmethod
    def forward(ctx: Any, group: ParamGroup, *parts: Any) -> Any:
        """Give the whole parameters that need gradients."""
        ctx.group = group
        ctx.trained = [part.sharded.requires_grad for part in group.parts]
        ctx.set_materialize_grads(False)
        pairs = zip(ctx.trained, group.unshard(), strict=True)
        return tuple(whole.view_as(whole) for trains, whole in pairs if trains)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Add all processes' gradients, and keep this one's rows."""
        group, given = ctx.group, iter(grads)
        every = [next(given) if trains else None for trains in ctx.trained]
        if group.reshard_after_backward:
            group.reshard()
        for call in group.after_backward:
            call()
        found = group.reduce(every)
        kept = [each for each, trains in zip(found, ctx.trained, strict=True) if trains]
        return None, *kept
