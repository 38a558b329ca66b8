"""Processes in rows and columns: who is where, and whom a group along a dimension has."""
from __future__ import annotations

import pytest
from world_processes import run

import flambeau
from flambeau import distributed as dist
from flambeau.distributed import DeviceMesh, init_device_mesh

SIZE = 4


def told(call):
    try:
        return call()
    except (KeyError, RuntimeError, ValueError) as error:
        return type(error).__name__


def rows_and_columns(rank: int) -> list[object]:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    sums = []
    for group in (mesh.get_group("dp"), mesh["tp"].get_group(), mesh.get_group(1)):
        x = flambeau.tensor([1 << rank])
        dist.all_reduce(x, group=group)
        sums.append(x.item())
    turned = mesh["tp", "dp"]
    other = DeviceMesh("cpu", [[0, 3]])
    wrong = [told(lambda: mesh["pp"]), told(mesh.get_local_rank), told(lambda: other["dp"]),
             told(lambda: init_device_mesh("cpu", (5,))), told(lambda: other.get_group(1).size())]
    return [mesh.get_coordinate(), mesh.get_local_rank("tp"), mesh["tp"].mesh.tolist(), sums,
            turned.mesh.tolist(), turned.get_local_rank(0), other.get_coordinate(), wrong,
            mesh == init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")), mesh == other]


def test_lines_of_a_mesh_are_groups(tmp_path):
    found = run(SIZE, tmp_path, rows_and_columns)
    for rank, each in enumerate(found):
        row, column = divmod(rank, 2)
        mine = 2 if rank in (0, 3) else "RuntimeError"
        assert each == [
            (row, column), column, [2 * row, 2 * row + 1],
            [(1 << column) + (1 << column + 2), 3 << 2 * row, 3 << 2 * row],
            [[0, 2], [1, 3]], column, {0: (0, 0), 3: (0, 1)}.get(rank),
            ["KeyError", "RuntimeError", "RuntimeError", "RuntimeError", mine], True, False]


def test_a_mesh_of_one_begins_the_world():
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
    assert repr(mesh) == "DeviceMesh((a=1, b=1), 'cpu')"
    assert repr(DeviceMesh("cpu", [0])) == "DeviceMesh((1), 'cpu')"
    assert (mesh.size(), mesh.ndim, mesh.shape, len(mesh.get_all_groups())) == (1, 2, (1, 1), 2)
    assert mesh["a"].get_group().size() == 1
    with pytest.raises(ValueError, match="twice"):
        DeviceMesh("cpu", [0, 0])
    with pytest.raises(ValueError, match="2 names for 1 dimensions"):
        DeviceMesh("cpu", [0], mesh_dim_names=("a", "b"))
    with pytest.raises(RuntimeError, match="twice"):
        init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "a"))
    dist.destroy_process_group()
