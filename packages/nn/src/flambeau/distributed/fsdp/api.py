"""What `FullyShardedDataParallel` is told, and the kinds of state dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(Enum):
    """What is divided among processes.

    ``FULL_SHARD`` divides parameters, gradients and optimizer states; ``SHARD_GRAD_OP`` keeps the
    whole parameters between forward and backward pass; ``NO_SHARD`` divides nothing. With
    ``HYBRID_SHARD`` the processes of a machine divide, and machines have copies.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """Accepted for compatibility: parameters are gathered when they are needed."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """In which dtypes a module computes and processes exchange.

    Attributes:
        param_dtype: That of the whole parameters; the parts keep their own.
        reduce_dtype: That in which gradients are added; ``param_dtype`` by default.
        buffer_dtype: That of buffers.
        keep_low_precision_grads: Accepted for compatibility.
        cast_forward_inputs: Whether inputs are cast to ``param_dtype``.
        cast_root_forward_inputs: The same of the outermost module.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = ()


@dataclass
class CPUOffload:
    """Accepted for compatibility: parts stay on their device.

    Attributes:
        offload_params: Accepted for compatibility.
    """

    offload_params: bool = False


class StateDictType(Enum):
    """What is in a state dict: whole tensors, plain parts, or parts as `DTensor`."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """How state dicts of modules are made; a base class.

    Attributes:
        offload_to_cpu: Whether tensors are copied to the CPU's memory.
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How state dicts with whole tensors are made.

    Attributes:
        rank0_only: Whether only the first process has them; that of others is empty.
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """How state dicts with plain parts are made."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How state dicts with `DTensor` are made."""

    _use_dtensor: bool = True


@dataclass
class OptimStateDictConfig:
    """How state dicts of optimizers are made; a base class.

    Attributes:
        offload_to_cpu: Whether tensors are copied to the CPU's memory.
    """

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How state dicts with whole tensors are made.

    Attributes:
        rank0_only: Whether only the first process has them; that of others is empty.
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How state dicts with plain parts are made."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How state dicts with `DTensor` are made."""

    _use_dtensor: bool = True


@dataclass
class StateDictSettings:
    """What `FullyShardedDataParallel.state_dict_type` sets."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


#: The configurations of each kind of state dict.
CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
