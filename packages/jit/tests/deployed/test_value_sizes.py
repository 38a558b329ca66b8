"""Saved programs whose results have sizes that values decide, in Python and in the runtime."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import pytest
from runtime import RuntimeFailed, RuntimeProgram, open_library

import flambeau as fl
from flambeau import jit
from flambeau.core.vision.boxes import nms
from flambeau.core.vision.points import roi_align
from flambeau.jit import bridge

LIBRARY = open_library()


def best(x: Any) -> Any:
    chosen = x[x > 0]
    size = fl.full((), chosen.shape[0], dtype=fl.int64)
    return chosen.topk(fl.minimum(size, fl.tensor(4)))


def boxes(x: Any) -> Any:
    corners = x[:, :2].abs() * 20
    return nms(fl.cat([corners, corners + 3 + x[:, 2:4].abs() * 9], 1), x[:, 4], 0.3)


FUNCTIONS = {
    "mask": lambda x: x[x > 0] * 2,
    "nonzero": lambda x: (x > 0).nonzero(),
    "rows": lambda x: x[x[:, 0] > 0].sum(1).relu(),
    "first": lambda x: x[x > 0][:3],
    "zeros": lambda x: x[x > 0].new_zeros(x[x > 0].numel(), 2),
    "joined": lambda x: fl.cat([x[x > 0], x[x < -1] * 2, x[0]]).view(1, -1),
    "all pairs": lambda x: (x[x > 0][:, None] * x[x < 0]).flatten(),
    "layer": lambda x: x[x[:, 0] > 0] @ x.t() + 1,
    "unique": lambda x: x.round().unique(),
    "least of two": best, "boxes": boxes,
}


def images(dtype: Any = fl.float32) -> list[Any]:
    draws = [fl.randn(7, 6) * 3 for _ in range(3)]
    every = [*draws, -fl.ones(7, 6), fl.ones(7, 6) * 2,
             fl.where(draws[0] > 1, draws[0], float("nan"))]
    return [x.to(dtype) for x in every]


def assert_same(found: Any, wanted: Any) -> None:
    found, wanted = (list(each) if isinstance(each, list | tuple) else [each]
                     for each in (found, wanted))
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert bridge.same_bits(one, other)


@pytest.mark.parametrize("dtype", [fl.float32, fl.float64], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs(name: str, dtype: Any, tmp_path: Any) -> None:
    function, path = FUNCTIONS[name], tmp_path / "a.program"
    program = jit.trace(function, fl.randn(7, 6).to(dtype), value_sizes=True)
    program.save(path)
    loaded = jit.load(path)
    for x in images(dtype):
        assert_same(loaded(x), function(x))
    if LIBRARY is not None:
        runtime = RuntimeProgram(LIBRARY, path)
        for x in images(dtype):
            assert_same(runtime(x), loaded(x))


def test_sizes_of_inputs_that_are_named(tmp_path: Any) -> None:
    def windows(x: Any) -> Any:
        below, beside = -x.shape[1] % 4, (4 - x.shape[2] % 4) % 4
        x = fl.constant_pad_nd(x, (0, beside, 0, below))
        c, h, w = x.shape
        return x.view(c, h // 4, 4, w // 4, 4).permute(1, 3, 2, 4, 0).reshape(-1, 16, c).exp()

    path = tmp_path / "a.program"
    jit.trace(windows, fl.randn(3, 18, 30), dynamic={0: {1: "h", 2: "w"}},
              value_sizes=True).save(path)
    loaded = jit.load(path)
    runtime = None if LIBRARY is None else RuntimeProgram(LIBRARY, path)
    for size in ((18, 30), (5, 70), (64, 64), (33, 7)):
        x = fl.randn(3, *size)
        assert_same(loaded(x), windows(x))
        if runtime is not None:
            assert_same(runtime(x), windows(x))


def test_machine_code_says_that_sizes_are_fixed(tmp_path: Any) -> None:
    program = jit.trace(FUNCTIONS["mask"], fl.randn(7, 6), value_sizes=True)
    with pytest.raises(jit.ProgramError, match="test_value_sizes.py.*masked_select.*runtime"):
        jit.aot(program, tmp_path / "a.o")


@pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")
@pytest.mark.parametrize("dtype", [fl.float32, fl.float64], ids=str)
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("bins", [(2, 3), (1, 1), (7, 7)])
def test_regions_with_points_by_value(tmp_path: Any, bins: Any, aligned: bool, dtype: Any) -> None:
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")

    def function(x: Any, regions: Any) -> Any:
        return roi_align(x, regions, 0.5, *bins, 0, aligned)

    fl.manual_seed(1)
    corners = fl.rand(9, 2) * 30 - 5
    regions = fl.cat([fl.arange(9.0)[:, None] % 2, corners, corners + fl.rand(9, 2) * 40 - 4], 1)
    regions[3, 3:] = regions[3, 1:3]                    # without an area
    regions[4, 1:] = fl.tensor([-90.0, -90, -70, -60])  # outside of the image
    path, x = tmp_path / "a.program", fl.randn(2, 3, 11, 14).to(dtype)
    jit.trace(function, (x, regions.to(dtype)), dynamic={1: {0: "K"}}, value_sizes=True).save(path)
    runtime = RuntimeProgram(LIBRARY, path)
    for given in (regions, regions[:1], regions[[8, 3, 0]]):
        wanted = function(x, given.to(dtype))
        assert_same(jit.load(path)(x, given.to(dtype)), wanted)
        [found] = runtime(x, given.to(dtype).contiguous())
        assert found.shape == wanted.shape and found.dtype == dtype
        assert (found - wanted).abs().max() < (2e-5 if dtype == fl.float32 else 1e-12)
    for wrong in (fl.tensor([[2.0, 0, 0, 4, 4]]), fl.tensor([[0.0, 0, 0, 1e30, 4]]),
                  fl.tensor([[0.0, 0, 0, float("nan"), 4]])):
        with pytest.raises(RuntimeFailed, match="roi_align"):
            runtime(x, wrong.to(dtype))


def test_other_paths_are_said() -> None:
    with pytest.warns(UserWarning, match="for 0 elements"):
        jit.trace(lambda x: x[x > 0] if x[x > 0].numel() else x, fl.randn(7, 6), value_sizes=True)


def damaged(path: Any, change: Any) -> bytes:
    """The file with another graph."""
    target = path.with_name("b.program")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".json") and b'"nodes"' in content:
                graph = json.loads(content)
                change(graph)
                content = json.dumps(graph).encode()
            new.writestr(name, content)
    return bytes(target.read_bytes())


def no_result_has_it(graph: Any) -> None:
    graph.get("graph", graph)["symbols"]["v9"] = [3, 4]


def used_before(graph: Any) -> None:
    nodes = graph.get("graph", graph)["nodes"]
    nodes.insert(0, nodes.pop())


@pytest.mark.parametrize("change", [no_result_has_it, used_before])
def test_damaged_files(change: Any, tmp_path: Any) -> None:
    path = tmp_path / "a.program"
    jit.trace(FUNCTIONS["zeros"], fl.randn(7, 6), value_sizes=True).save(path)
    content = damaged(path, change)
    (tmp_path / "b.program").write_bytes(content)
    with pytest.raises(jit.ProgramError):
        jit.load(tmp_path / "b.program")
    if LIBRARY is not None:
        with pytest.raises(RuntimeFailed):
            RuntimeProgram(LIBRARY, content)(fl.randn(7, 6))
