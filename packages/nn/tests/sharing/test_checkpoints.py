"""Checkpoints that some processes save, and as many or others load."""
from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from world_processes import run

import flambeau
from flambeau import distributed as dist
from flambeau import nn
from flambeau.distributed import checkpoint
from flambeau.distributed.checkpoint import (
    CheckpointException,
    DefaultLoadPlanner,
    FileSystemReader,
    FileSystemWriter,
)
from flambeau.distributed.checkpoint._metadata_file import read, written
from flambeau.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from flambeau.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from flambeau.distributed.fsdp import FullyShardedDataParallel as FSDP
from flambeau.distributed.fsdp import fully_shard
from flambeau.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)


def network(seed: int) -> Any:
    flambeau.manual_seed(seed)
    norm = nn.BatchNorm1d(3).eval()                 # for its buffers
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3), norm).double()


def step_of(net: Any, optimizer: Any, step: int) -> None:
    flambeau.manual_seed(step)
    net(flambeau.randn(4, 5, dtype=flambeau.float64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def divided(kind: str, seed: int) -> tuple[Any, Any]:
    net = network(seed)
    if kind == "fsdp2":
        for layer in (net[0], net):
            fully_shard(layer)
    elif kind == "fsdp1":
        net = FSDP(net)
    elif kind == "ddp":
        net = nn.parallel.DistributedDataParallel(net)
    return net, flambeau.optim.AdamW(net.parameters(), lr=0.05)


def saved(rank: int, folder: str, kind: str) -> None:
    net, optimizer = divided(kind, 0)
    step_of(net, optimizer, 1)
    model, state = get_state_dict(net, optimizer)
    checkpoint.save({"model": model, "optim": state, "steps": 1, "notes": ["a", {"b": 2}]},
                    checkpoint_id=folder)


def loaded(rank: int, folder: str, kind: str) -> list[str]:
    net, optimizer = divided(kind, 5)
    model, state = get_state_dict(net, optimizer)
    into = {"model": model, "optim": state, "steps": 0, "notes": ["", {"b": 0}]}
    checkpoint.load(into, checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=into["model"], optim_state_dict=into["optim"])
    wrong = [] if (into["steps"], into["notes"]) == (1, ["a", {"b": 2}]) else [str(into["notes"])]
    alone = network(0)
    stepper = flambeau.optim.AdamW(alone.parameters(), lr=0.05)
    step_of(alone, stepper, 1)
    step_of(alone, stepper, 2)
    step_of(net, optimizer, 2)
    whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    for name, value in alone.state_dict().items():
        if not flambeau.allclose(whole[name], value, 1e-9, 1e-12):
            wrong.append(name)
    return wrong


@pytest.mark.parametrize(("first", "then"), [
    ("fsdp2", "fsdp1"), pytest.param("ddp", "fsdp2", marks=pytest.mark.slow)])
def test_saved_by_three_and_loaded_by_two_and_one(tmp_path, first, then):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    folder = str(tmp_path / "saved")
    run(3, made(tmp_path / "three"), saved, folder, first)
    assert sorted(os.listdir(folder))[0] == ".metadata" and len(os.listdir(folder)) == 4
    assert run(2, made(tmp_path / "two"), loaded, folder, then) == [[]] * 2
    assert loaded(0, folder, "alone") == []


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


WAYS = [Shard(0), Shard(1), Replicate()]


def shared_otherwise(rank: int, folder: str) -> list[str]:
    """Saved in each way, loaded in each other, along one or two dimensions of meshes."""
    wrong = []
    meshes = [init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2))]
    x = flambeau.arange(35.0).view(7, 5)
    for i, mesh in enumerate(meshes):
        ways = [[w] for w in WAYS] if mesh.ndim == 1 else [[a, b] for a in WAYS for b in WAYS]
        state = {str(way): distribute_tensor(x, mesh, way) for way in ways}
        state["scalar"] = flambeau.tensor(3)
        state["empty"] = flambeau.zeros(0, 3)
        checkpoint.save(state, checkpoint_id=f"{folder}/{i}")
        for other in meshes:
            for placements in [[w] * other.ndim for w in WAYS]:
                into = {name: distribute_tensor(flambeau.zeros(7, 5), other, placements)
                        for name in map(str, ways)}
                into |= {"scalar": flambeau.tensor(0), "empty": flambeau.zeros(0, 3)}
                checkpoint.load(into, checkpoint_id=f"{folder}/{i}")
                wrong += [f"{name} as {placements}" for name in map(str, ways)
                          if not flambeau.equal(into[name].full_tensor(), x)]
                if into["scalar"].item() != 3:
                    wrong.append("scalar")
    with pytest.raises(ValueError, match="Partial"):
        checkpoint.save({"x": DTensor.from_local(x, meshes[0], [Partial()])},
                        checkpoint_id=f"{folder}/partial")
    return wrong


@pytest.mark.slow
def test_tensors_are_loaded_in_other_ways(tmp_path):
    assert run(4, tmp_path, shared_otherwise, str(tmp_path)) == [[]] * 4


def later(rank: int, folder: str) -> list[Any]:
    mesh = init_device_mesh("cpu", (2,))
    x = distribute_tensor(flambeau.arange(6.0), mesh, [Shard(0)])
    state = {"x": x, "list": [flambeau.ones(2)], "n": 1}
    futures = [checkpoint.async_save(state, checkpoint_id=f"{folder}/{i}") for i in range(2)]
    x.mul_(0)
    state["list"][0].zero_()
    dist.all_reduce(flambeau.ones(2))               # goes on beside the threads
    for future in futures:
        future.result(60)
    checkpoint.load(state, checkpoint_id=f"{folder}/1")
    try:
        checkpoint.async_save(
            state, storage_writer=FileSystemWriter(f"{folder}/1", overwrite=False)).result(60)
    except CheckpointException as error:
        told = str(error)
    return [x.full_tensor().tolist(), state["list"][0].tolist(), told]


def test_saving_goes_on_beside_the_program(tmp_path):
    for x, ones, told in run(2, tmp_path, later, str(tmp_path)):
        assert x == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] and ones == [1.0, 1.0]
        assert "ranks [0, 1] failed" in told and "already exists" in told


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def state_dict(self) -> dict[str, Any]:
        return {"n": self.n}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.n = state["n"]


def test_one_process(tmp_path):
    counter = Counter()
    counter.n = 4
    state = {"counter": counter, "x": flambeau.ones(3), "flags": [True, [1.5, None]],
             "deep": [{"y": flambeau.arange(2)}]}
    with pytest.raises(ValueError, match="checkpoint_id"):
        checkpoint.save(state)
    with pytest.raises(ValueError, match="checkpoint_id"):
        checkpoint.load(state)
    checkpoint.save(state, storage_writer=FileSystemWriter(tmp_path / "a", False, False))
    assert len(list((tmp_path / "a").glob("*.distcp"))) == 4
    counter.n = 0
    into = {"counter": counter, "x": flambeau.zeros(3), "flags": None,
            "deep": [{"y": flambeau.zeros(2, dtype=flambeau.int64)}]}
    checkpoint.load(into, storage_reader=FileSystemReader(tmp_path / "a"))
    assert counter.n == 4 and into["x"].tolist() == [1.0] * 3
    assert into["flags"] == [True, [1.5, None]] and into["deep"][0]["y"].tolist() == [0, 1]
    with pytest.raises(CheckpointException, match="Missing key.*other"):
        checkpoint.load({"other": 1}, checkpoint_id=tmp_path / "a")
    into = {"other": 1, "x": flambeau.zeros(3)}
    checkpoint.load(into, checkpoint_id=tmp_path / "a",
                    planner=DefaultLoadPlanner(allow_partial_load=True))
    assert into["other"] == 1 and into["x"].sum() == 3
    with pytest.raises(CheckpointException, match=r"Size mismatch between saved \(3,\)"):
        checkpoint.load({"x": flambeau.zeros(4)}, checkpoint_id=tmp_path / "a")
    with pytest.raises(CheckpointException, match="FileNotFoundError"):
        checkpoint.load({}, checkpoint_id=tmp_path / "missing")


def test_single_files(tmp_path):
    state = {"x": flambeau.arange(4), "deep": {"a": [flambeau.ones(1), 2], "n": "text"}}
    checkpoint.save(state, checkpoint_id=tmp_path / "many")
    dcp_to_torch_save(tmp_path / "many", tmp_path / "one.pt")
    found = flambeau.load(tmp_path / "one.pt")
    assert found["x"].tolist() == [0, 1, 2, 3] and found["deep"]["a"][1] == 2
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    into = {"x": flambeau.zeros(4, dtype=flambeau.int64)}
    checkpoint.load(into, checkpoint_id=tmp_path / "again")
    assert into["x"].tolist() == [0, 1, 2, 3]


class Harmful:
    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


def test_nothing_in_files_is_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint.save({"x": flambeau.ones(2)}, checkpoint_id=tmp_path)
    metadata = FileSystemReader(tmp_path).read_metadata()
    assert read(written(metadata)) == metadata
    for harm in (Harmful(), {"x": Harmful()}, 3):
        (tmp_path / ".metadata").write_bytes(pickle.dumps(harm))
        with pytest.raises(CheckpointException):
            checkpoint.load({"x": flambeau.ones(2)}, checkpoint_id=tmp_path)
    next(iter(metadata.storage_data.values())).relative_path = "../outside"
    (tmp_path / ".metadata").write_bytes(written(metadata))
    with pytest.raises(CheckpointException, match="not in the folder"):
        checkpoint.load({"x": flambeau.ones(2)}, checkpoint_id=tmp_path)
    file = io.BytesIO()
    pickle.dump(Harmful(), file)
    info = next(iter(metadata.storage_data.values()))
    info.relative_path, info.offset, info.length = "part", 0, len(file.getvalue())
    (tmp_path / "part").write_bytes(file.getvalue())
    (tmp_path / ".metadata").write_bytes(written(metadata))
    with pytest.raises(CheckpointException):
        checkpoint.load({"x": flambeau.ones(2)}, checkpoint_id=tmp_path)
    assert not (tmp_path / "harm").exists()


def whole_states(rank: int) -> Any:
    net, optimizer = divided("fsdp2", 0)
    step_of(net, optimizer, 1)
    first_only = StateDictOptions(full_state_dict=True, cpu_offload=True)
    model = get_model_state_dict(net, options=first_only)
    assert len(model) == (0 if rank else 9)
    other, stepper = divided("fsdp1", 3)
    result = set_model_state_dict(other, model, options=StateDictOptions(
        full_state_dict=True, broadcast_from_rank0=True))
    assert not result.missing_keys and not result.unexpected_keys
    flat = get_optimizer_state_dict(net, optimizer, options=StateDictOptions(
        flatten_optimizer_state_dict=True))
    assert flat["param_groups.0.weight.lr"] == 0.05
    set_optimizer_state_dict(other, stepper, flat)
    with pytest.raises(NotImplementedError, match="broadcast_from_rank0"):
        set_optimizer_state_dict(other, stepper, flat,
                                 options=StateDictOptions(broadcast_from_rank0=True))
    net[0].bias.requires_grad_(False)
    some = get_model_state_dict(net, submodules=[net[0]],
                                options=StateDictOptions(ignore_frozen_params=True))
    assert list(some) == ["0.weight"]
    net[0].bias.requires_grad_(True)
    for pair in ((net, optimizer), (other, stepper)):
        step_of(*pair, 2)
    options = StateDictOptions(full_state_dict=True)
    a, b = (get_model_state_dict(each, options=options) for each in (net, other))
    return [name for name in a if not flambeau.allclose(a[name], b[name], 1e-9, 1e-12)]


def test_states_with_whole_tensors(tmp_path):
    pytest.importorskip("flambeau.optim", reason="needs flambeau-optim")
    assert run(2, tmp_path, whole_states) == [[]] * 2


def exchanged(rank: int, folder: str) -> Any:
    """PyTorch loads what is saved here, and the other way round."""
    import torch
    from torch.distributed import checkpoint as theirs
    from torch.distributed.device_mesh import init_device_mesh as their_mesh
    from torch.distributed.tensor import Replicate as TheirReplicate
    from torch.distributed.tensor import Shard as TheirShard
    from torch.distributed.tensor import distribute_tensor as their_tensor

    torch.distributed.init_process_group("gloo", f"file://{folder}/other", rank=rank,
                                         world_size=2)
    numbers = np.arange(35, dtype=np.float32).reshape(7, 5)
    mesh, other = init_device_mesh("cpu", (2,)), their_mesh("cpu", (2,))

    def ours(way: Any, values: Any) -> Any:
        return {"a": {"x": distribute_tensor(flambeau.from_numpy(values.copy()), mesh, [way]),
                      "b": flambeau.zeros(2, dtype=flambeau.bfloat16)}, "n": {"k": [1, "two"]}}

    def torchs(way: Any, values: Any) -> Any:
        return {"a": {"x": their_tensor(torch.from_numpy(values.copy()), other, [way]),
                      "b": torch.zeros(2, dtype=torch.bfloat16)}, "n": {"k": [1, "two"]}}

    told = []
    for here, there in ((Shard(0), TheirShard(1)), (Replicate(), TheirShard(0)),
                        (Shard(1), TheirReplicate())):
        folder_of = f"{folder}/{here}{there}"
        checkpoint.save(ours(here, numbers), checkpoint_id=f"{folder_of}/a")
        into = torchs(there, numbers * 0)
        theirs.load(into, checkpoint_id=f"{folder_of}/a")
        told += [into["a"]["x"].full_tensor().tolist(), into["n"]]
        theirs.save(torchs(there, numbers), checkpoint_id=f"{folder_of}/b")
        into = ours(here, numbers * 0)
        checkpoint.load(into, checkpoint_id=f"{folder_of}/b")
        told += [into["a"]["x"].full_tensor().tolist(), into["n"]]
    torch.distributed.destroy_process_group()
    return all(each in (numbers.tolist(), {"k": [1, "two"]}) for each in told)


@pytest.mark.oracle
def test_pytorch_loads_them_and_saves_such(tmp_path):
    pytest.importorskip("torch")
    assert run(2, tmp_path, exchanged, str(tmp_path)) == [True] * 2
