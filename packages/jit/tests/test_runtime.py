"""Saved programs in the runtime without Python: the same bits, and codes where there are none."""

from __future__ import annotations

import threading
import zipfile
from typing import Any

import pytest
from runtime import RuntimeFailed, RuntimeProgram, open_library

import flambeau as fl
from flambeau import jit
from flambeau.jit import bridge

LIBRARY = open_library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs libflambeau_runtime")

BAD_PROGRAM, UNSUPPORTED, WRONG_INPUT = 3, 4, 5


def saved(tmp_path: Any, program: Any) -> RuntimeProgram:
    path = tmp_path / "a.program"
    program.save(path)
    return RuntimeProgram(LIBRARY, path)


def assert_same(results: list[Any], expected: list[Any]) -> None:
    assert len(results) == len(expected)
    for one, other in zip(results, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert bridge.same_bits(one, other.detach())


def test_products_of_sizes(tmp_path: Any) -> None:
    program = jit.trace(
        lambda x: ((x + 1).reshape(x.shape[0] * x.shape[1], 4).exp().view(-1), x.sum() /
                   (x.shape[0] * x.shape[1]), x.new_ones(x.shape[0] ** 2)),
        fl.ones(3, 2, 4), dynamic={0: {0: "N", 1: "T"}})
    runtime = saved(tmp_path, program)
    assert [info.symbols[0] for info in runtime.info("output")] == [b"4*N*T", None, b"N*N"]
    for n, t in ((1, 1), (2, 7), (7, 2), (5, 31)):
        x = fl.randn(n, t, 4)
        assert_same(runtime(x), list(program(x)))


def test_sizes_that_vary(tmp_path: Any) -> None:
    program = jit.trace(lambda x: (x.reshape(-1), x.sum(0) / x.shape[0]), fl.ones(3, 2),
                        dynamic={0: {0: "N"}})
    runtime = saved(tmp_path, program)
    assert [info.symbols[0] for info in runtime.info("output")] == [b"2*N", None]
    for n in (2, 5, 31):
        x = fl.randn(n, 2)
        assert_same(runtime(x), list(program(x)))


def test_state_stays_in_the_session(tmp_path: Any) -> None:
    count = fl.zeros(2, 3)

    def step(x: Any) -> Any:
        count.add_(x)
        count[1].mul_(2)
        return count.t()

    runtime = saved(tmp_path, jit.trace(step, fl.ones(3)))
    other = RuntimeProgram(LIBRARY, runtime.content)
    x = fl.tensor([1.0, 2, 3])
    begin = count.clone()
    expected = []
    for _ in range(2):
        begin += x
        begin[1] *= 2
        expected.append(begin.t().contiguous().clone())
    assert_same(runtime(x), expected[:1])
    assert_same(runtime(x), expected[1:])
    assert_same(other(x), expected[:1])


def test_an_input_that_is_written_to(tmp_path: Any) -> None:
    runtime = saved(tmp_path, jit.trace(lambda x, y: x.add_(y), (fl.ones(3), fl.ones(3))))
    assert [info.is_written for info in runtime.info("input")] == [1, 0]
    x = fl.tensor([1.0, 2, 3])
    runtime(x, fl.ones(3))
    assert x.tolist() == [2, 3, 4]


def test_random_numbers_are_those_of_the_seed(tmp_path: Any) -> None:
    program = jit.trace(lambda x: x + fl.rand(4) * fl.randn(4), fl.ones(4))
    runtime = saved(tmp_path, program)
    fl.manual_seed(7)
    runtime.check(LIBRARY.flambeau_session_seed(runtime.session, 7))
    for _ in range(2):
        assert_same(runtime(fl.ones(4)), [program(fl.ones(4))])
    assert runtime.random() == bridge.random_state_now()


@pytest.mark.parametrize("function", [
    lambda x: fl.cat([x, x * 2], 1).softmax(-1),
    lambda x: fl.stack(x.unbind(0)).sort(dim=1).values,
    lambda x: x.to(fl.float16) @ x.t().to(fl.float16),
    lambda x: x.to(fl.complex64) * (1 + 2j),
    lambda x: x.masked_fill(x > 0, float("-inf")),
    lambda x: x[[2, 0]],
    lambda x: fl.where(x > 0, x, -x).cumsum(1).flip(0),
    lambda x: (x * 10).to(fl.int64) // 3,
    lambda x: x.expand(2, 3, 3).permute(2, 0, 1),
    lambda x: fl.nn.functional.layer_norm(x, (3,)),
], ids=range(10))
def test_operators(tmp_path: Any, function: Any) -> None:
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    program = jit.trace(function, fl.randn(3, 3))
    runtime = saved(tmp_path, program)
    x = fl.randn(3, 3)
    assert_same(runtime(x), [program(x)])


def test_what_was_recorded_for_another_input(tmp_path: Any) -> None:
    runtime = saved(tmp_path, jit.trace(lambda x: x + 1, fl.ones(3), dynamic=False))
    for x in (fl.ones(4), fl.ones(3, 1), fl.ones(3, dtype=fl.float64)):
        with pytest.raises(RuntimeFailed, match=r"input 0: must be float32\[3\], got") as error:
            runtime(x)
        assert error.value.status == WRONG_INPUT
    with pytest.raises(RuntimeFailed, match="takes 1 inputs and gives 1 outputs"):
        runtime(fl.ones(3), fl.ones(3))


def test_errors_name_the_line(tmp_path: Any) -> None:
    ones = fl.ones(2, dtype=fl.int64)
    program = jit.trace(lambda x, y: x // y, (ones, ones))
    runtime = saved(tmp_path, program)
    with pytest.raises(RuntimeFailed, match=r"is 0 at index \[1\].*test_runtime.py:"):
        runtime(fl.tensor([1, 2]), fl.tensor([1, 0]))


def test_threads_share_a_program(tmp_path: Any) -> None:
    weight = fl.randn(64, 64)
    program = jit.trace(lambda x: (x @ weight).relu().sum(1), fl.ones(8, 64))
    path = tmp_path / "a.program"
    program.save(path)
    inputs = [fl.randn(8, 64) for _ in range(6)]
    expected = [program(x) for x in inputs]
    shared, wrong = RuntimeProgram(LIBRARY, path), []

    def work(number: int) -> None:
        own = RuntimeProgram(LIBRARY, path)
        for _ in range(20):
            results = [own(inputs[number])[0],
                       shared(inputs[number], into=[fl.empty(8)])[0]]
            if not all(bridge.same_bits(each, expected[number]) for each in results):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_files_that_are_cut_off_or_changed(tmp_path: Any) -> None:
    jit.trace(lambda x: x + fl.ones(3), fl.ones(3)).save(tmp_path / "a.program")
    content = (tmp_path / "a.program").read_bytes()
    for end in range(0, len(content), 7):
        with pytest.raises(RuntimeFailed) as error:
            RuntimeProgram(LIBRARY, content[:end] or b" ")
        assert error.value.status == BAD_PROGRAM


def test_operators_that_are_not_there(tmp_path: Any) -> None:
    jit.trace(lambda x: x.exp(), fl.ones(3)).save(tmp_path / "a.program")
    with zipfile.ZipFile(tmp_path / "a.program") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["graph.json"] = entries["graph.json"].replace(b'"exp"', b'"no_such"')
    with zipfile.ZipFile(tmp_path / "b.program", "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(RuntimeFailed, match="calls 'no_such'") as error:
        RuntimeProgram(LIBRARY, tmp_path / "b.program")
    assert error.value.status == UNSUPPORTED
