"""``FullyShardedDataParallel``, beside the same network in one process."""
from __future__ import annotations

import functools
from typing import Any

import pytest
from test_fully_shard import Block, Net, batch, net
from world_processes import run

import flambeau
from flambeau import distributed as dist
from flambeau import nn
from flambeau.distributed import fsdp
from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
from flambeau.distributed.fsdp import ShardingStrategy, StateDictType, wrap
from flambeau.distributed.tensor import DTensor, init_device_mesh

ROWS = 2
POLICY = wrap.ModuleWrapPolicy({Block})


def step_of(network: Any, x: Any) -> None:
    network(x).square().mean().backward()


def differing(alone: Any, shared: Any) -> list[str]:
    with FSDP.summon_full_params(shared):
        found = dict(shared.named_parameters())
        return [name for name, p in alone.named_parameters()
                if not flambeau.allclose(p, found[name], 1e-9, 1e-12)]


def trained(rank: int, size: int, strategy: str) -> Any:
    mesh = init_device_mesh("cpu", (2, 2)) if size == 4 else None
    alone = net()
    shared = FSDP(net(), auto_wrap_policy=POLICY, device_mesh=mesh, use_orig_params=True,
                  sharding_strategy=ShardingStrategy[strategy])
    steppers = [flambeau.optim.AdamW(each.parameters(), lr=0.05) for each in (alone, shared)]
    assert len(FSDP.fsdp_modules(shared)) == 3 and shared.check_is_root()
    assert FSDP.fsdp_modules(shared, root_only=True) == [shared]
    assert isinstance(shared.module, Net) and shared.last is shared.module.last
    for step in range(3):
        x = batch(step, size)
        step_of(alone, x)
        mine = x[rank * ROWS:(rank + 1) * ROWS]
        if step == 1:                                   # two passes, exchanged once
            step_of(alone, x)
            with shared.no_sync():
                step_of(shared, mine)
        step_of(shared, mine)
        norms = [nn.utils.clip_grad_norm_(alone.parameters(), 0.3), shared.clip_grad_norm_(0.3)]
        assert flambeau.allclose(*norms, 1e-9)
        for stepper in steppers:
            stepper.step()
            stepper.zero_grad()
    assert not shared.blocks[0].check_is_root()
    return differing(alone, shared)


@pytest.mark.parametrize(("size", "strategy"), [
    (3, "FULL_SHARD"),
    *[pytest.param(*each, marks=pytest.mark.slow) for each in (
        (2, "SHARD_GRAD_OP"), (2, "NO_SHARD"), (2, "HYBRID_SHARD"), (4, "HYBRID_SHARD"))]])
def test_training_is_that_of_one_process(tmp_path, size, strategy):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(size, tmp_path, trained, size, strategy) == [[]] * size


def stepped(network: Any) -> Any:
    optimizer = flambeau.optim.AdamW(network.parameters(), lr=0.05)
    step_of(network, batch(0, 1))
    optimizer.step()
    return optimizer


def states(rank: int) -> Any:
    alone, shared = net(), FSDP(net(), auto_wrap_policy=POLICY)
    first, second = stepped(alone), stepped(shared)
    names = list(alone.state_dict())
    whole = first.state[alone.first.weight]["exp_avg"].clone()
    wrong: list[str] = []
    for kind in StateDictType:
        other = FSDP(net().double(), auto_wrap_policy=POLICY)
        other.apply(lambda module: [p.data.zero_() for p in module.parameters(recurse=False)])
        third = flambeau.optim.AdamW(other.parameters(), lr=1.0)
        with FSDP.state_dict_type(shared, kind), FSDP.state_dict_type(other, kind):
            state = shared.state_dict()
            optimizer = FSDP.optim_state_dict(shared, second)
            other.load_state_dict(state)
            third.load_state_dict(FSDP.optim_state_dict_to_load(other, third, optimizer))
        if list(state) != names:
            wrong.append(f"names of {kind}: {list(state)}")
        moments = optimizer["state"]["first.weight"]["exp_avg"]
        if kind is StateDictType.FULL_STATE_DICT:
            same = flambeau.allclose(moments, whole) and not isinstance(moments, DTensor)
        elif kind is StateDictType.LOCAL_STATE_DICT:
            same = moments.shape == ((4, 5) if rank == 0 else (3, 5))
        else:
            same = isinstance(moments, DTensor) and flambeau.allclose(moments.full_tensor(), whole)
        if not same:
            wrong.append(f"moments of {kind}")
        step_of(other, batch(1, 1))
        third.step()
        other.zero_grad()
        if kind is StateDictType.FULL_STATE_DICT:
            alone.zero_grad()
            step_of(alone, batch(1, 1))
            first.step()
        wrong += [f"{kind} {name}" for name in differing(alone, other)]
    return wrong


def test_state_dicts_of_three_kinds(tmp_path):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(2, tmp_path, states) == [[]] * 2


def first_only(rank: int) -> Any:
    shared = FSDP(net(), auto_wrap_policy=POLICY)
    optimizer = stepped(shared)
    config = fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FSDP.state_dict_type(shared, StateDictType.FULL_STATE_DICT, config):
        assert FSDP.get_state_dict_type(shared).state_dict_config is config
        state = shared.state_dict()
    whole = FSDP.full_optim_state_dict(shared, optimizer)
    sharded = FSDP.sharded_optim_state_dict(shared, optimizer)
    assert isinstance(sharded["state"]["last.bias"]["exp_avg"], DTensor)
    every = FSDP.full_optim_state_dict(shared, optimizer, rank0_only=False)
    again = FSDP.shard_full_optim_state_dict(every, shared, optim=optimizer)
    optimizer.load_state_dict(again)
    with pytest.raises(RuntimeError, match="Expected state_dict_config of type"):
        FSDP.set_state_dict_type(shared, StateDictType.LOCAL_STATE_DICT, config)
    with pytest.raises(NotImplementedError, match="rank0_only"), \
            FSDP.summon_full_params(shared, rank0_only=True):
        pass
    with FSDP.summon_full_params(shared, rank0_only=True, writeback=False, with_grads=True):
        shapes = tuple(shared.last.weight.shape), tuple(shared.last.weight.to_local().shape) \
            if isinstance(shared.last.weight, DTensor) else shared.last.weight.grad is not None
    return len(state), len(whole), shapes


def test_only_the_first_process_has_it(tmp_path):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    first, second = run(2, tmp_path, first_only)
    assert first == (len(net().state_dict()), 2, ((1, 7), True))
    assert second == (0, 0, ((1, 7), (0, 7)))


def made(rank: int) -> Any:
    """Other ways to make one."""
    flambeau.manual_seed(rank)
    ignored = nn.Linear(2, 2)
    inner = nn.Sequential(nn.Linear(2, 2), ignored, nn.BatchNorm1d(2))
    shared = FSDP(inner, sync_module_states=True, ignored_modules=[ignored],
                  process_group=dist.new_group([0, 1]),
                  mixed_precision=fsdp.MixedPrecision(flambeau.bfloat16, flambeau.float32,
                                                      flambeau.bfloat16))
    assert type(ignored.weight) is nn.Parameter and inner[2].running_mean.dtype is flambeau.bfloat16
    ignored.to(flambeau.bfloat16)
    out = shared(flambeau.ones(2, 2))
    out.sum().backward()
    with flambeau.device("meta"):
        empty = nn.Linear(2, 2)
    lazy = FSDP(empty)
    lazy(flambeau.ones(1, 2))
    with wrap.enable_wrap(wrapper_cls=FSDP):
        wrapped = wrap.wrap(nn.Linear(2, 2))
    with pytest.raises(NotImplementedError, match="reduce_dtype"):
        lazy.register_comm_hook(None, None)
    with pytest.raises(ValueError, match="only one of them"):
        FSDP(nn.Linear(1, 1), process_group=dist.GroupMember.WORLD,
             device_mesh=init_device_mesh("cpu", (2,)))
    with pytest.raises(ValueError, match="2 dimensions"):
        FSDP(nn.Linear(1, 1), sharding_strategy=ShardingStrategy.HYBRID_SHARD,
             device_mesh=init_device_mesh("cpu", (2,)))
    whole = shared.state_dict()["0.weight"].tolist()
    return out.dtype, whole, inner[0].weight.grad.dtype, isinstance(wrapped, FSDP)


def test_other_ways_to_make_one(tmp_path):
    first, second = run(2, tmp_path, made)
    assert first == second and first[0] is flambeau.bfloat16
    assert first[2] is flambeau.float32 and first[3]


class Wrapper(nn.Module):
    def __init__(self, inner: Any, note: str = "") -> None:
        super().__init__()
        self.inner, self.note = inner, note


def wrapped_names(policy: Any) -> list[str]:
    network = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(4, 4), nn.ReLU()),
                            nn.MultiheadAttention(4, 1))
    wrap.wrap_below(network, policy, Wrapper, set(), set(), {})
    return [type(each.inner).__name__ + each.note for each in network.modules()
            if isinstance(each, Wrapper)]


def test_policies():
    size = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=20)
    assert wrapped_names(size) == ["Linear"]           # attention is a leaf, and stays
    assert wrapped_names(wrap.ModuleWrapPolicy({nn.Linear})) == ["Linear"] * 2 + [
        "NonDynamicallyQuantizableLinear"]
    layers = functools.partial(wrap.transformer_auto_wrap_policy,
                               transformer_layer_cls={nn.Sequential})
    assert wrapped_names(layers) == ["Sequential"]
    chosen = functools.partial(wrap.lambda_auto_wrap_policy,
                               lambda_fn=lambda module: isinstance(module, nn.ReLU))
    assert wrapped_names(chosen) == ["ReLU"]
    either = functools.partial(wrap._or_policy, policies=[chosen, layers])
    assert wrapped_names(either) == ["Sequential", "ReLU"]
    assert len(wrapped_names(wrap.always_wrap_policy)) == 6
    custom = wrap.CustomPolicy(lambda module: {"note": "!"} if isinstance(module, nn.ReLU)
                               else False)
    assert wrapped_names(custom) == ["ReLU!"]
    with pytest.raises(ValueError, match="False/True"):
        wrapped_names(wrap.CustomPolicy(lambda module: "yes"))


def scaled(rank: int) -> Any:
    from flambeau.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    told = []
    for value in (1.0, float("inf")):
        layer = nn.Linear(2, 2, bias=False)
        optimizer = flambeau.optim.SGD(layer.parameters(), lr=1.0)
        scaler = ShardedGradScaler("cpu", init_scale=4.0)
        before = layer.weight.detach().clone()
        x = flambeau.full((1, 2), value if rank == 1 else 1.0)
        scaler.scale(layer(x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        told.append((not flambeau.equal(layer.weight, before), scaler.get_scale()))
    shared = fsdp.fully_shard(nn.Linear(2, 2))
    optimizer = flambeau.optim.SGD(shared.parameters(), lr=1.0)
    scaler = ShardedGradScaler("cpu", init_scale=4.0)
    scaler.scale(shared(flambeau.ones(1, 2)).sum()).backward()
    scaler.unscale_(optimizer)
    told.append(shared.weight.grad.full_tensor().tolist())
    return told


def test_a_scale_that_all_processes_agree_in(tmp_path):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(2, tmp_path, scaled) == [[(True, 4.0), (False, 2.0), [[1.0, 1.0]] * 2]] * 2
