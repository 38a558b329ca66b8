"""Each line of the guide's table for users of TorchScript, in Python and in the runtime."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flambeau as fl
from flambeau import jit, nn
from flambeau.jit import bridge

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "packages" / "jit" / "tests"))
from runtime import RuntimeProgram, open_library  # noqa: E402

LIBRARY = open_library()
LINES: dict[str, Callable[..., None]] = {}
Pair = namedtuple("Pair", "first second")


def line(start: str) -> Any:
    """Register a test for the line whose first cell begins so."""
    def register(function: Callable[..., None]) -> Callable[..., None]:
        LINES[start] = function
        return function

    return register


def table() -> list[str]:
    """The first cells of the table."""
    text = (ROOT / "docs" / "guide" / "deploy.md").read_text()
    rows = text[text.index("## For users of TorchScript"):].split("|---|---|\n")[1].splitlines()
    return [row.split(" | ")[0].removeprefix("| ") for row in rows if row.startswith("| ")]


def in_runtime(program: Any, path: Path) -> RuntimeProgram:
    if LIBRARY is None:
        pytest.skip("needs libflambeau_runtime")
    program.save(path / "a.program")
    return RuntimeProgram(LIBRARY, path / "a.program")


def branch(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x


def layer() -> Any:
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(), nn.ReLU()).eval()


@line("`torch.jit.trace")
def trace(path: Path) -> None:
    program = jit.trace(lambda x: x.relu().sum(), fl.randn(3))
    assert program(fl.ones(5)) == 5
    with pytest.raises(jit.TraceError, match="test_torchscript_table.py:"):
        jit.trace(branch, fl.ones(3))


@line("`torch.jit.script")
def script(path: Path) -> None:
    scripted = jit.script(branch)
    assert scripted(fl.ones(3)).tolist() == [2, 2, 2]
    runtime = in_runtime(scripted.program(), path)
    for x in (fl.ones(3), -fl.ones(5)):
        assert bridge.same_bits(runtime(x)[0], branch(x))

    def sizes(x: Any) -> Any:
        return x[:2] if x.shape[0] > 2 else x + 1

    program = jit.script(sizes, example_inputs=[(fl.ones(3),)])
    assert program(fl.ones(3)).tolist() == [1, 1] and program(fl.ones(1)).tolist() == [2]


@line("`program.save")
def save(path: Path) -> None:
    model, x = layer(), fl.randn(2, 3)
    jit.trace(model, x).save(path / "a.program")
    assert bridge.same_bits(jit.load(path / "a.program")(x).detach(), model(x).detach())


@line("`torch.jit.freeze")
def freeze(path: Path) -> None:
    weight = fl.tensor([2.0, 3.0])
    frozen = jit.freeze(jit.trace(lambda x: x * weight.exp(), fl.ones(2)))
    assert [node.op for node in frozen.graph.nodes] in (["mul"], ["fused"])
    weight.zero_()
    assert in_runtime(frozen, path)(fl.ones(2))[0].tolist() == fl.tensor([2.0, 3]).exp().tolist()


@line("`torch.jit.optimize_for_inference")
def optimize(path: Path) -> None:
    model, x = layer(), fl.randn(2, 3)
    program = jit.optimize_for_inference(jit.trace(model, x))
    assert not any(program.named_parameters())
    assert bridge.same_bits(program(x).detach(), model(x).detach())


@line("`torch::jit::load`")
def load_in_c(path: Path) -> None:
    model, x = layer(), fl.randn(2, 3)
    (found,) = in_runtime(jit.trace(model, x), path)(x)
    assert bridge.same_bits(found, model(x).detach())


@line("`optimize_for_mobile`")
def mobile(path: Path) -> None:
    program = jit.trace(layer(), fl.randn(2, 3), dynamic=False)
    jit.aot(program, path / "net.o")
    assert "net_run(" in (path / "net.h").read_text()


@line("`TORCH_LIBRARY`")
def custom(path: Path) -> None:
    operator = fl.core.register_op("table_axpy(Operand x, Operand y, *, Scalar a=1)", "a * x + y")
    program, x = jit.trace(lambda x: operator(x, x, a=3), fl.randn(3)), fl.randn(3)
    (found,) = in_runtime(program, path)(x)
    assert bridge.same_bits(found, operator(x, x, a=3))


@line("dynamic shapes")
def dynamic(path: Path) -> None:
    program = jit.trace(lambda x: x[1:].mean(0), fl.randn(4, 3), dynamic={0: {0: "N"}})
    runtime = in_runtime(program, path)
    assert runtime.info("input")[0].symbols[0] == b"N"
    x = fl.randn(9, 3)
    assert bridge.same_bits(runtime(x)[0], program(x))


@line("state mutation")
def state(path: Path) -> None:
    count = fl.zeros(1)
    one = in_runtime(jit.trace(lambda x: count.add_(x).clone(), fl.ones(1), dynamic=False), path)
    other = RuntimeProgram(LIBRARY, path / "a.program")
    assert [one(fl.ones(1))[0].item() for _ in range(3)] == [1, 2, 3]
    assert other(fl.ones(1))[0].item() == 1


@line("results in dicts")
def structure(path: Path) -> None:
    program = jit.trace(lambda x: {"a": x + 1, "b": (x, Pair(x * 2, x * 3))}, fl.ones(2))
    result = program(fl.ones(2))
    assert result["a"].tolist() == [2, 2] and result["b"][1].second.tolist() == [3, 3]
    names = [info.name for info in in_runtime(program, path).info("output")]
    assert names == [b"a", b"b.0", b"b.1.first", b"b.1.second"]


@line("`torch.export.export`")
def export(path: Path) -> None:
    model, x = layer(), fl.randn(2, 3)
    assert bridge.same_bits(fl.export.export(model, (x,)).module()(x).detach(), model(x).detach())


@line("dropout")
def drawn(path: Path) -> None:
    program = jit.trace(lambda x: nn.functional.dropout(x, 0.5) + fl.rand(4), fl.ones(4))
    runtime = in_runtime(program, path)
    fl.manual_seed(3)
    runtime.check(LIBRARY.flambeau_session_seed(runtime.session, 3))
    results = [(program(fl.ones(4)), runtime(fl.ones(4))[0]) for _ in range(2)]
    assert all(bridge.same_bits(*pair) for pair in results)
    assert not bridge.same_bits(results[0][0], results[1][0])


@line("`model.graph`")
def shown(path: Path) -> None:
    assert "matmul" in str(jit.trace(lambda x: x @ x, fl.ones(2, 2)).graph)


@line("`@torch.jit.export`")
def methods(path: Path) -> None:
    class Model(nn.Module):
        def encode(self, x: Any) -> Any:
            return x * 2

    assert jit.trace(Model().encode, fl.ones(2))(fl.ones(2)).tolist() == [2, 2]


@line("`backward()`")
def gradients(path: Path) -> None:
    weight = fl.tensor([1.0, 2], requires_grad=True)

    def step(x: Any) -> Any:
        loss = (weight * x).square().sum()
        loss.backward()
        return loss.detach()

    runtime = in_runtime(jit.trace(step, fl.ones(2), dynamic=False), path)
    assert runtime.info("output")[1].name.startswith(b"grad.")
    assert runtime(fl.tensor([3.0, 4]))[1].tolist() == [18, 64]


@pytest.mark.parametrize("cell", table())
def test_line(cell: str, tmp_path: Path) -> None:
    (found,) = (test for start, test in LINES.items() if cell.startswith(start))
    found(tmp_path)


def test_every_test_has_a_line() -> None:
    assert len(table()) == len(LINES)
