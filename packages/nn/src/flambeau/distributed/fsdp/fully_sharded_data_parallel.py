"""``FullyShardedDataParallel``: a wrapper of modules whose parameters are divided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import nn
from flambeau.distributed.collectives import broadcast_coalesced

from ._fully_shard import divide
from ._meshes import mesh_of
from ._policies import MixedPrecisionPolicy
from ._state import State, state_of
from ._states import PREFIX, OptimStateKeyType, States
from ._summoned import Summoned, summon
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import wrap_below

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]

_KEEPS = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2,
          ShardingStrategy.NO_SHARD)


class FullyShardedDataParallel(States, nn.Module):  # type: ignore[misc]
    """A module of whose parameters, gradients and optimizer states each process has a part.

    The older interface of `fully_shard`, of the same mechanism: parameters keep their names and
    are `DTensor`, whether ``use_orig_params`` is given or not; there are no flat ones.

    Args:
        module: The module.
        process_group: The processes; all by default.
        sharding_strategy: What is divided; everything by default.
        cpu_offload: Accepted for compatibility.
        auto_wrap_policy: Which submodules are wrapped, too; see ``fsdp.wrap``.
        backward_prefetch: Accepted for compatibility.
        mixed_precision: The dtypes to compute and to exchange in.
        ignored_modules: Submodules that stay as they are.
        param_init_fn: Makes the parameters of a submodule on the device ``meta``; its
            ``reset_parameters`` by default.
        device_id: Where the module goes.
        sync_module_states: Whether the first process's parameters and buffers are copied to all.
        forward_prefetch: Accepted for compatibility.
        limit_all_gathers: Accepted for compatibility.
        use_orig_params: Accepted for compatibility.
        ignored_states: Parameters or submodules that stay as they are.
        device_mesh: The processes, instead of a group; for hybrid strategies of two dimensions.

    Raises:
        ValueError: Processes are given twice, or do not fit the strategy.

    Example:
        >>> import flambeau
        >>> from flambeau import distributed, nn
        >>> from flambeau.distributed.fsdp import FullyShardedDataParallel
        >>> distributed.init_process_group("gloo", world_size=1, rank=0)
        >>> net = FullyShardedDataParallel(nn.Linear(2, 1))
        >>> net(flambeau.ones(3, 2)).shape, list(net.state_dict())
        (flambeau.Size([3, 1]), ['weight', 'bias'])
        >>> distributed.destroy_process_group()
    """

    _members_at_once = True

    def __init__(
        self,
        module: Any,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Any] | None = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: Any = None,
    ) -> None:
        super().__init__()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = mesh_of(self.sharding_strategy, process_group, device_mesh)
        self.mixed_precision = mixed_precision or MixedPrecision()
        left_out, kept = _ignored(module, ignored_modules, ignored_states)
        _initialize(module, param_init_fn)
        if device_id is not None:
            module.to(flambeau.device("cuda", device_id) if isinstance(device_id, int)
                      else device_id)
        if sync_module_states:
            _copy_first(module, mesh)
        if auto_wrap_policy is not None:
            wrap_below(module, auto_wrap_policy, FullyShardedDataParallel, left_out, kept, {
                "process_group": process_group, "sharding_strategy": sharding_strategy,
                "mixed_precision": mixed_precision, "device_mesh": device_mesh,
                "ignored_states": kept})
        self._fsdp_wrapped_module = module
        self._divide(mesh, kept)

    def _divide(self, mesh: Any, kept: set[Any]) -> None:
        given = self.mixed_precision
        policy = MixedPrecisionPolicy(
            given.param_dtype, given.reduce_dtype, None, given.cast_forward_inputs)
        for name, buffer in self._fsdp_wrapped_module.named_buffers():
            if given.buffer_dtype is not None and buffer.is_floating_point():
                owner, _, own = name.rpartition(".")
                home = self._fsdp_wrapped_module.get_submodule(owner)
                home._buffers[own] = buffer.to(given.buffer_dtype)
        reshards = self.sharding_strategy not in _KEEPS
        divide([self], mesh, policy, reshards, reshards, kept)
        self._begin_states()

    # ---- training ----------------------------------------------------------------------------
    @property
    def module(self) -> Any:
        """The wrapped module."""
        inner = self._fsdp_wrapped_module
        return getattr(inner, "_checkpoint_wrapped_module", inner)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_fsdp_wrapped_module")
        if inner is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(inner, name)

    def __getitem__(self, key: int) -> Any:
        return self.module[key]

    def _state(self) -> State:
        state = state_of(self)
        assert state is not None
        return state

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives, with its parameters whole."""
        state = self._state()
        given = self.mixed_precision
        if state.root is None and given.param_dtype is not None:
            cast = given.cast_root_forward_inputs or given.cast_forward_inputs
            state.policy = MixedPrecisionPolicy(given.param_dtype, given.reduce_dtype, None, cast)
        return state.run(self, self._fsdp_wrapped_module, args, kwargs)

    def check_is_root(self) -> bool:
        """Whether this is the outermost wrapper that has run."""
        state = self._state()
        return state.root is state or state.root is None

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[Any]:
        """The wrappers in a module.

        Args:
            module: The module.
            root_only: Leave out those inside others.
        """
        every = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        if not root_only:
            return every
        inner = {id(below) for each in every for below in each.modules() if below is not each}
        return [each for each in every if id(each) not in inner]

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keep gradients in each process in the block; the next pass exchanges the sums."""
        groups = [state.group for state in self._state().below() if state.group is not None]
        former = [(group.reduces, group.reduces_copies) for group in groups]
        for group in groups:
            group.reduces = group.reduces_copies = False
        try:
            yield
        finally:
            for group, (reduces, copies) in zip(groups, former, strict=True):
                group.reduces, group.reduces_copies = reduces, copies

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale the gradients so that their norm, of all parts as one vector, is at most this.

        Args:
            max_norm: The norm.
            norm_type: The order of the norm.

        Returns:
            The norm before.
        """
        grads = [p.grad for p in self.parameters() if p.grad is not None]
        shared = [grad for grad in grads if hasattr(grad, "full_tensor")]
        plain = [grad for grad in grads if not hasattr(grad, "full_tensor")]
        norms = []
        if shared:
            total: Any = nn.utils.get_total_norm(shared, norm_type)
            norms.append(total.full_tensor())
        if plain:
            norms.append(nn.utils.get_total_norm(plain, norm_type))
        if not norms:
            return flambeau.zeros(())
        norm = flambeau.linalg.vector_norm(flambeau.stack(norms), norm_type)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor)
        return norm

    def apply(self, fn: Any) -> Any:
        """Call a function with each module, with their parameters whole, and return this.

        Args:
            fn: The function, which may write to parameters.
        """
        with self.summon_full_params(self):
            return super().apply(fn)

    # ---- whole parameters --------------------------------------------------------------------
    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Any, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
        offload_to_cpu: bool = False, with_grads: bool = False,
    ) -> Iterator[None]:
        """Let modules have their whole parameters in the block; all processes enter it.

        Args:
            module: The wrapper, or a module with wrappers in it.
            recurse: Whether those of wrappers inside are whole, too.
            writeback: Whether the parts take what is written to them.
            rank0_only: Whether only the first process has them.
            offload_to_cpu: Accepted for compatibility.
            with_grads: Whether they have whole gradients.

        Raises:
            NotImplementedError: ``writeback`` together with ``rank0_only``.
        """
        if writeback and rank0_only:
            raise NotImplementedError("summon_full_params(): writeback=True and rank0_only=True: "
                                      "processes would have different parameters; give "
                                      "writeback=False")
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        chosen = wrappers if recurse else [each for each in wrappers if each is module]
        groups = [each._state().group for each in chosen]
        kept = Summoned(writeback, rank0_only, with_grads)
        with summon([group for group in groups if group is not None], kept):
            yield

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by name; in `summon_full_params` without the wrappers' names."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield (name.replace(PREFIX, "") if Summoned.depth else name), p

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Not made: gradients are added in ``reduce_dtype``.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("FullyShardedDataParallel.register_comm_hook() is not made; "
                                  "MixedPrecision(reduce_dtype=...) chooses the dtype of sums")


def _ignored(
    module: Any, modules: Iterable[Any] | None, states: Iterable[Any] | None
) -> tuple[set[Any], set[Any]]:
    """Submodules and parameters that stay as they are."""
    given = [*(modules or ()), *(states or ())]
    chosen = [each for each in given if isinstance(each, nn.Module)]
    left_out = {below for each in chosen for below in each.modules()}
    kept = {p for each in chosen for p in each.parameters()}
    return left_out, kept | {each for each in given if isinstance(each, flambeau.Tensor)}


def _initialize(module: Any, param_init_fn: Any) -> None:
    """Make the parameters that have no values yet."""
    for each in module.modules():
        own = [*each.parameters(recurse=False), *each.buffers(recurse=False)]
        if not any(t.is_meta for t in own):
            continue
        if param_init_fn is not None:
            param_init_fn(each)
        elif hasattr(each, "reset_parameters"):
            each.to_empty(device="cpu", recurse=False)
            each.reset_parameters()
        else:
            raise ValueError(f"FullyShardedDataParallel: {type(each).__name__} is on the device "
                             "meta and has no reset_parameters(): give param_init_fn")


def _copy_first(module: Any, mesh: Any) -> None:
    tensors = [*module.parameters(), *module.buffers()]
    plain = [t.detach() for t in tensors if not hasattr(t, "full_tensor")]
    for dim in range(mesh.ndim):
        if plain and mesh.size(dim) > 1:
            broadcast_coalesced(plain, mesh.get_group(dim), 0)

