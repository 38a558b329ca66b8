"""``script``, ``freeze`` and ``save`` as PyTorch's programs use them."""

import pytest
from graphs import ops_of

import flambeau
from flambeau import jit
from flambeau.core import functional

X = flambeau.ones(4, 3)


def test_frozen_weights_are_constants(tmp_path):
    w = flambeau.full((3, 3), 2.0)
    program = jit.trace(lambda x: x @ w.t().exp(), X)
    frozen = jit.optimize_for_inference(program)
    wanted = program(X)
    w.zero_()
    assert flambeau.equal(frozen(X), wanted)
    assert not flambeau.equal(program(X), wanted)
    assert ops_of(frozen.graph) == ["matmul"]
    assert frozen.state_dict() == {}
    frozen.save(tmp_path / "p")
    assert flambeau.equal(jit.load(tmp_path / "p")(X[:2]), wanted[:2])


def test_running_statistics_that_are_read_are_frozen():
    mean, variance = flambeau.tensor([1.0, 2.0, 3.0]), flambeau.ones(3)
    program = jit.trace(lambda x: functional.batch_norm(x, mean, variance), X)
    frozen, wanted = jit.freeze(program), program(X)
    mean.zero_()
    assert flambeau.equal(frozen(X), wanted)
    assert not flambeau.equal(program(X), wanted)
    with pytest.raises(jit.ProgramError, match="writes in place"):
        jit.freeze(jit.trace(lambda x: functional.batch_norm(x, mean, variance, training=True), X))


def test_what_cannot_be_frozen():
    count = flambeau.zeros(3)
    with pytest.raises(jit.ProgramError, match="takes what trace"):
        jit.freeze(lambda x: x)
    with pytest.raises(jit.ProgramError, match="writes in place"):
        jit.freeze(jit.trace(lambda x: count.add_(x.sum(0)), X))


def decides(x):
    if x.sum() > 0:
        return x
    return -x


def test_what_script_gives_is_saved_after_a_call_or_with_an_example(tmp_path):
    scripted = jit.script(decides)
    with pytest.raises(jit.ProgramError, match="not called yet"):
        jit.save(scripted, tmp_path / "p")
    assert flambeau.equal(scripted(-X), X)
    jit.save(scripted, tmp_path / "p")
    loaded = jit.load(tmp_path / "p")
    assert flambeau.equal(loaded(-X[:2]), X[:2]) and flambeau.equal(loaded(X), X)
    assert flambeau.equal(jit.freeze(scripted)(-X), X)
    jit.save(jit.script(decides), tmp_path / "q", example_inputs=(X,))
    assert flambeau.equal(jit.load(tmp_path / "q")(-X), X)
    with pytest.raises(jit.ProgramError, match="give an example"):
        jit.save(decides, tmp_path / "p")
    with pytest.raises(jit.TraceError, match=r"bool\(\) reads a value.*jit.script"):
        jit.save(decides, tmp_path / "p", example_inputs=(X,))


def test_script_with_an_example_records_again():
    program = jit.script(lambda x: x[:2] * 2 if x.shape[0] > 5 else x, example_inputs=[(X,)])
    assert isinstance(program, jit.Program)
    assert program(flambeau.ones(9, 3)).tolist() == [[2.0] * 3] * 2
    assert program(X).tolist() == X.tolist()
