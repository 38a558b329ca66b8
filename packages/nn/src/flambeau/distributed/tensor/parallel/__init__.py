"""Layers whose parameters processes share: tensor parallelism."""

from .api import parallelize_module
from .loss import loss_parallel
from .preparing import PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput
from .style import ColwiseParallel, ParallelStyle, RowwiseParallel, SequenceParallel

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]
