"""What modules can do that `fully_shard` was called with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from ._group import ParamGroup
from ._state import State, state_of

__all__ = ["FSDPModule", "UnshardHandle"]


class UnshardHandle:
    """Parameters that are being gathered."""

    def __init__(self, group: ParamGroup | None) -> None:
        self._group = group

    def wait(self) -> None:
        """Wait until they are whole, and let the module have them."""
        if self._group is not None:
            self._group.register()
            self._group = None


class FSDPModule:
    """A module that `fully_shard` was called with."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A module of the class without parts, as containers make of a slice."""
        kind: Any = cls.__mro__[2]
        made: Any = kind.__new__(kind)
        made.__init__(*args, **kwargs)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and the hooks, with the parameters whole."""
        plain: Any = super()
        return self._get_fsdp_state().run(self, plain.__call__, args, kwargs)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for "
                             "serialization.")

    def _get_fsdp_state(self) -> State:
        state = state_of(self)
        assert state is not None
        return state

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """Convert the parts."""
        self.reshard()
        plain: Any = super()
        result = plain._apply(*args, **kwargs)
        group = self._get_fsdp_state().group
        for part in group.parts if group is not None else ():
            part.adopt()
        return result

    def _groups(self, recurse: bool) -> Iterator[ParamGroup]:
        state = self._get_fsdp_state()
        for each in state.below() if recurse else [state]:
            if each.group is not None:
                yield each.group

    def reshard(self) -> None:
        """Let this module have its parts, without those below it."""
        for group in self._groups(False):
            group.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the whole parameters of this module, without those below it.

        Args:
            async_op: Return at once, with a handle to wait for.
        """
        handle = UnshardHandle(self._get_fsdp_state().group)
        if async_op:
            self._get_fsdp_state().prefetch()
            return handle
        handle.wait()
        return None

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *,
                                   recurse: bool = True) -> None:
        """Say whether gradients are exchanged; those that are not are added to later ones.

        Args:
            requires_gradient_sync: Whether they are.
            recurse: Whether it is said of modules below, too.
        """
        for group in self._groups(recurse):
            group.reduces = group.reduces_copies = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Say whether gradients are exchanged among copies, in a mesh of two dimensions.

        Args:
            requires_all_reduce: Whether they are.
            recurse: Whether it is said of modules below, too.
        """
        for group in self._groups(recurse):
            group.reduces_copies = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say whether only parts are kept after the forward pass.

        Args:
            reshard_after_forward: Whether they are.
            recurse: Whether it is said of modules below, too.

        Raises:
            ValueError: It is no bool.
        """
        if not isinstance(reshard_after_forward, bool):
            raise ValueError("reshard_after_forward should be a bool, got "
                             f"{type(reshard_after_forward)}")
        state = self._get_fsdp_state()
        for each in state.below() if recurse else [state]:
            each.automatic = False
            if each.group is not None:
                each.group.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *,
                                   recurse: bool = True) -> None:
        """Say whether only parts are kept after the backward pass.

        Args:
            reshard_after_backward: Whether they are.
            recurse: Whether it is said of modules below, too.
        """
        for group in self._groups(recurse):
            group.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: Iterable[FSDPModule]) -> None:
        """Gather parameters of other modules while this one computes.

        Args:
            modules: The modules.
        """
        self._get_fsdp_state().forward_prefetch = [each._get_fsdp_state() for each in modules]

    def set_modules_to_backward_prefetch(self, modules: Iterable[FSDPModule]) -> None:
        """Gather parameters of other modules in this one's backward pass.

        Args:
            modules: The modules.
        """
        self._get_fsdp_state().backward_prefetch = [each._get_fsdp_state() for each in modules]

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by another number than that of the processes.

        Args:
            factor: The number.
        """
        for group in self._groups(False):
            group.divide_factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted for compatibility: no exchange goes on after a backward pass."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Accepted for compatibility: gradients are added, then divided."""

    def set_reduce_scatter_unused_params(self, reduce_scatter_unused_params: bool, *,
                                         recurse: bool = True) -> None:
        """Say whether parameters without a part in the loss have zeros for gradients.

        That is needed where processes use different parameters.

        Args:
            reduce_scatter_unused_params: Whether they have.
            recurse: Whether it is said of modules below, too.
        """
        for group in self._groups(recurse):
            group.reduces_unused = reduce_scatter_unused_params

    def reset_iter_state(self) -> None:
        """Forget a pass that an error has ended, and gradients that were kept."""
        self._get_fsdp_state().reset()
