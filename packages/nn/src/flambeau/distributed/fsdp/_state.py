"""What modules do before and after they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.utils._pytree import tree_leaves, tree_map_only

from ._group import ParamGroup
from ._policies import MixedPrecisionPolicy


class State:
    """Some modules whose parameters are whole while they compute.

    Args:
        modules: The modules.
        group: Their parameters; None where they have none.
        policy: The dtypes.
        automatic: Whether the outermost one keeps its whole parameters after the forward pass.
    """

    def __init__(
        self, modules: list[Any], group: ParamGroup | None, policy: MixedPrecisionPolicy,
        automatic: bool,
    ) -> None:
        self.modules = modules
        self.group = group
        self.policy = policy
        self.automatic = automatic
        self.root: State | None = None
        self.forward_prefetch: list[State] = []
        self.backward_prefetch: list[State] = []
        self.in_backward = False
        self._waiting: set[int] = set()     # modules that have not run in this pass, by identity
        if group is not None:
            group.after_backward.append(self._ended)

    def _ended(self) -> None:
        self.in_backward = False

    def below(self) -> Iterator[State]:
        """This state and those of submodules."""
        seen: set[int] = set()
        for module in self.modules:
            for each in module.modules():
                state = state_of(each)
                if state is not None and id(state) not in seen:
                    seen.add(id(state))
                    yield state

    def _begin(self) -> None:
        """The first one that runs is the root."""
        for state in self.below():
            state.root = self
        if self.automatic and self.group is not None:
            self.group.reshard_after_forward = False

    # ---- forward -----------------------------------------------------------------------------
    def run(self, module: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a module with its parameters whole."""
        if self.root is None:
            self._begin()
        dtype = self.policy.param_dtype if self.policy.cast_forward_inputs else None
        args, kwargs = cast(args, dtype), cast(kwargs, dtype)
        group = self.group
        if group is None:
            return cast(call(*args, **kwargs), self.policy.output_dtype)
        if not self._waiting:
            self._waiting = set(map(id, self.modules))
            group.register()
        self._waiting.discard(id(module))
        for state in self.forward_prefetch:
            state.prefetch()
        drops = group.reshard_after_forward and group.trains and flambeau.is_grad_enabled()
        try:
            with group.saving() if drops and not self.in_backward else nullcontext():
                outputs = call(*args, **kwargs)
        except BaseException:
            self._waiting.clear()
            group.reshard()
            raise
        if not self._waiting and not self.in_backward and group.reshard_after_forward:
            group.reshard()
        self._watch(outputs)
        if self.root is self:
            self._complete()
        return cast(outputs, self.policy.output_dtype)

    def _complete(self) -> None:
        """End the pass of modules of which only some have run."""
        for state in self.below():
            if state._waiting and state.group is not None:
                state._waiting.clear()
                if state.group.reshard_after_forward:
                    state.group.reshard()

    def _watch(self, outputs: Any) -> None:
        """Have the parameters whole when gradients of the outputs come."""
        if flambeau.is_grad_enabled() and self.group is not None and self.group.trains:
            for each in tree_leaves(outputs):
                if isinstance(each, Tensor) and each.requires_grad:
                    each.register_hook(self._before_backward)

    # ---- backward ----------------------------------------------------------------------------
    def _before_backward(self, grad: Any) -> None:
        if self.in_backward:
            return
        self.in_backward = True
        assert self.group is not None
        with flambeau.enable_grad():            # layers that compute again are recorded again
            self.group.register()
        for state in self.backward_prefetch:
            state.prefetch()

    def prefetch(self) -> None:
        """Begin to gather the rows of the parameters."""
        if self.group is not None:
            self.group.start()

    def reset(self) -> None:
        """Forget a pass that an error has ended."""
        for state in self.below():
            state._waiting.clear()
            state.in_backward = False
            if state.group is not None:
                state.group.reset()


_STATE = "_fsdp_state"


def state_of(module: Any) -> State | None:
    """The state of a module; None where `fully_shard` was not called with it."""
    found: State | None = module.__dict__.get(_STATE)
    return found


def set_state(module: Any, state: State) -> None:
    """Let a module have a state."""
    module.__dict__[_STATE] = state


def cast(values: Any, dtype: Any) -> Any:
    """Floating-point tensors in a structure, in another dtype."""
    if dtype is None:
        return values
    return tree_map_only(
        Tensor, lambda x: x.to(dtype) if x.is_floating_point() and x.dtype != dtype else x, values)
