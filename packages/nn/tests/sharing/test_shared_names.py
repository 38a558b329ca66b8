"""PyTorch's names of what processes share, under the alias, in every form of import."""
from __future__ import annotations

import subprocess
import sys

import pytest

NAMES = """
torch.distributed.fsdp:FullyShardedDataParallel fully_shard MixedPrecision FSDPModule
torch.distributed.fsdp.wrap:size_based_auto_wrap_policy ModuleWrapPolicy wrap enable_wrap
torch.distributed.fsdp.fully_sharded_data_parallel:FullStateDictConfig StateDictType
torch.distributed.fsdp.api:ShardingStrategy
torch.distributed.fsdp.sharded_grad_scaler:ShardedGradScaler
torch.distributed.fsdp._fully_shard:fully_shard FSDPModule MixedPrecisionPolicy
torch.distributed._composable.fsdp:fully_shard MixedPrecisionPolicy
torch.distributed._composable.fsdp.fully_shard:FSDPModule
torch.distributed._tensor:DTensor Shard Replicate distribute_tensor
torch.distributed._tensor.placement_types:Shard
torch.distributed.tensor:DTensor Shard
torch.distributed.tensor.device_mesh:DeviceMesh
torch.distributed.tensor.placement_types:Shard Placement
torch.distributed.tensor.parallel:parallelize_module loss_parallel
torch.distributed.tensor.parallel.style:ColwiseParallel
torch.distributed.tensor.parallel.api:parallelize_module
torch.distributed.tensor.experimental:local_map implicit_replication
torch.distributed.algorithms.join:Join Joinable JoinHook
torch.distributed.algorithms:Join
torch.distributed.checkpoint:save load FileSystemReader FileSystemWriter async_save
torch.distributed.checkpoint.state_dict:get_model_state_dict StateDictOptions set_state_dict
torch.distributed.checkpoint.stateful:Stateful
torch.distributed.checkpoint.filesystem:FileSystemReader
torch.distributed.checkpoint.state_dict_saver:async_save
torch.distributed.checkpoint.state_dict_loader:load
torch.distributed.checkpoint.default_planner:DefaultSavePlanner DefaultLoadPlanner
torch.distributed.checkpoint.metadata:Metadata TensorStorageMetadata
torch.distributed.checkpoint.format_utils:dcp_to_torch_save
torch.distributed.checkpoint.api:CheckpointException
torch.nn.parallel.scatter_gather:scatter_kwargs scatter gather
torch.nn.parallel:scatter gather replicate parallel_apply
torch.distributed.nn.functional:all_to_all gather scatter
torch.distributed.optim:ZeroRedundancyOptimizer
torch.distributed.device_mesh:init_device_mesh
"""
PROGRAM = """
import importlib
import torch
for line in NAMES.strip().splitlines():
    module, names = line.split(":")
    parts = torch
    for part in module.split(".")[1:]:
        parts = getattr(parts, part, None) or importlib.import_module(module)
    exec(f"import {module}")
    for name in names.split():
        exec(f"from {module} import {name}")
        found = getattr(importlib.import_module(module), name)
        if "laceholder" in f"{type(found)} {getattr(found, '__module__', '')}":
            print(module, name)
"""


def test_names_under_the_alias(tmp_path):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    program = tmp_path / "program.py"
    program.write_text(f"NAMES = {NAMES!r}\n{PROGRAM}")
    run = subprocess.run([sys.executable, "-m", "flambeau.as_torch", str(program)], check=False,
                         capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (run.returncode, run.stdout) == (0, ""), run.stdout + run.stderr
